#!/usr/bin/env bash
# What a learner goes through with lesson 01, on the built copy of the course: stub, mistakes, compile errors, crashes,
# right answers in several styles; through the tool, ctest and a workflow preset.
#
#   learner_test.sh COURSE LEARN COPY       the course's folder, the tool to drive, and the copy
set -euo pipefail
course=$1
tool=$2
copy=$3
# shellcheck source=tools/tests/expect.sh
. "$course/tools/tests/expect.sh"

"$course/tools/tests/restore_copy.sh" "$course" "$copy"
cd "$copy"
lesson=lessons/01_self_attention_v1/self_attention_v1.cpp
cp "$lesson" "$scratch/stub.cpp"
right=solutions/01_self_attention_v1/self_attention_v1.cpp
total=$(grep -c "^TEST(" tests/01_self_attention_v1/checks.cpp)
lessons=$(find lessons -mindepth 1 -maxdepth 1 -type d | wc -l)
learn() { "$tool" --root "$copy" "$@"; }

# the stub: not one check passes, and the failure says what is not written and where
expect 1 "01 self_attention_v1 · to do: 01.1" "!✗" "TODO(01.1) is not written yet: $lesson:" "TODO(01.2)" "TODO(01.3)" "0 of $total checks passed" "./learn hint 01" -- learn check 01
expect 0 "01.2 forward" "--level 2" -- learn hint 01
expect 0 "check" "hint" "verify" "!gate" -- learn --help
expect 0 "for every b:" "!01.1" -- learn hint 01.2 --level 3
expect 0 "# 01 · Self-attention" "!<!--" -- learn read 01
expect 0 "# 26 · " "!<!--" "!by_rule = layer_norm_by_hand.d_X" -- learn read 26 # a comment of two lines

# a right answer, through every door
cp "$right" "$lesson"
expect 0 "✓ 01.2: " "checks passed" "!01.1" -- learn check 01.2
expect 2 "has no task 01.9" -- learn check 01.9
expect 0 "$total of $total checks passed" "Next: 02 · Fused QKV" -- learn check 01
expect 0 "passed  01 " -- learn list
expect 0 "100% tests passed" -- ctest --preset lesson-01
expect 0 "100% tests passed" -- cmake --workflow --preset lesson-01
for style in tools/tests/answers/01_*.cpp; do
  cp "$style" "$lesson"
  expect 0 "$total of $total checks passed" -- learn check 01
done

# ctest judges the file as it is now, not as it was when it was last built
cp "$scratch/stub.cpp" "$lesson"
expect 8 "TODO(01.1) is not written yet: $lesson:" -- ctest --preset lesson-01

# a file that comes back with an older time (cp -p, mv, tar, an undo) is judged as what it is
long_ago() { cp "$1" "$2" && touch -d '2020-01-01' "$2"; }
for doors in "learn check 01" "ctest --preset lesson-01"; do
  read -ra door <<<"$doors"
  cp "$right" "$lesson"
  expect 0 -- "${door[@]}"
  long_ago "$scratch/stub.cpp" "$lesson"
  if [ "$doors" = "learn check 01" ]; then
    expect 1 "0 of $total checks passed" -- "${door[@]}"
  else
    expect 8 "TODO(01.1) is not written yet" -- "${door[@]}"
  fi
  long_ago "$right" "$lesson"
  expect 0 -- "${door[@]}"
done
interview=05_interview_self_attention # a class of the learner's own, in a header
header=lessons/$interview/self_attention_interview.hpp
cp "solutions/$interview/self_attention_interview.hpp" "$header"
expect 0 "checks passed" -- learn check 05
long_ago "tests/$interview/stub/self_attention_interview.hpp" "$header"
expect 1 "TODO(05.1)" -- learn check 05
long_ago "solutions/$interview/self_attention_interview.hpp" "$header"
expect 0 "checks passed" -- learn check 05
long_ago "tests/$interview/stub/self_attention_interview.hpp" "$header"

# the stricter try: attn/strict.hpp refuses the helpers, and an answer without them passes
sed 's/masking\.hpp/strict.hpp/' "solutions/$interview/self_attention_interview.hpp" >"$header"
expect 2 "attn/strict.hpp does not give masked_fill" -- learn check 05
sed 's/"attn\/shape\.hpp"/&\n#include "attn\/strict.hpp"/' "solutions/$interview/self_attention_interview.hpp" >"$header"
expect 2 "attn/strict.hpp does not give masked_fill" -- learn check 05 # with attn/masking.hpp, too
cp tools/tests/answers/05_strict.hpp "$header"
expect 0 "checks passed" -- learn check 05
cp "tests/$interview/stub/self_attention_interview.hpp" "$header"

# ... in every lesson: what is compiled from the learner's files depends on their text, also in interviews and demonstrations
for folder in lessons/*/; do
  folder=${folder%/}
  number=$(basename "$folder" | cut -c 1-2)
  objects=$(ninja -C build/dev -t commands "lesson_$number" "interview_$number" |
    sed -n 's/.* -o \(CMakeFiles\/\(lesson\|interview\)_[^ ]*\.o\) .*/\1/p')
  holds "lesson $number has objects of its own" [ "$(echo "$objects" | grep -c .)" -ge 2 ]
  for object in $objects; do
    what=${object#CMakeFiles/}
    expect 0 "texts/${what%%.dir*}" -- ninja -C build/dev -t query "$object"
  done
done
for demo in programs/demo/*.cpp; do
  number=$(basename "$demo" | cut -c 1-2)
  objects=$(ninja -C build/dev -t commands "demo_$number" | sed -n 's/.* -o \(CMakeFiles\/demo_[^ ]*lessons[^ ]*\.o\) .*/\1/p')
  holds "demo $number has objects of its own" [ -n "$objects" ]
  for object in $objects; do expect 0 "texts/lesson_$number" -- ninja -C build/dev -t query "$object"; done
done

# a mistake: its name, the place, the file, the hint
sed 's# / std::sqrt(static_cast<double>(dim))##' "$right" >"$lesson"
expect 1 "✗ 01 self_attention_v1 · SelfAttentionV1.GivesTheTwoByTwoWorkedByHand" \
  "shape   2 x 2 x 1 (L x E x B)   ok   (4 of 4 differ)" "got     1.462*   0.5379*  want   1.34  0.6605" "!value" \
  "likely  the scores are not divided by √D" "where   forward, from $lesson:" "hint    ./learn hint 01" "4 more checks fail for this reason" "!also failing" \
  -- learn check 01
expect 1 "✗ 01 self_attention_v1" "01.2: " "!also failing" -- learn check 01.2
expect 0 "✓ 01.1: " -- learn check 01.1
expect 8 "likely  the scores are not divided by √D" "where   forward, from $lesson:" -- ctest --preset lesson-01
in_order() { grep -oE '^ *([0-9]+: )? *(likely|where|hint|shape|got) ' "$output" | grep -oE '[a-z]+' | head -5 | tr '\n' ' '; }
holds "ctest begins with the diagnosis, too" [ "$(in_order)" = "likely where hint shape got " ]
expect 0 "> passed, fails now  01 " "2 of $lessons lessons passed, 1 fails now" -- learn list # 01 is the current one

# what the README's picture shows is what it prints; docs/figures/record_terminal and draw.py renew the picture
docs/figures/record_terminal "$copy" "$tool" >"$scratch/terminal.ansi"
expect 0 "likely  the scores are not divided by √D" "01 self_attention_v1: 23 of 23 checks passed" -- cat "$scratch/terminal.ansi"
if grep -q '^VERSION_ID="12"' /etc/os-release; then # elsewhere Armadillo draws other random inputs
  expect 0 -- diff "$scratch/terminal.ansi" docs/figures/terminal.ansi
fi

# judged SED_EDIT EXIT_CODE TEXT...   what is said of the right answer with this edit
judged() {
  sed "$1" "$right" >"$lesson"
  expect "${@:2}" -- learn check 01
}

# does not compile: the compiler's own words, and nothing of the build system's
judged 's#return context;#return contxt;#' 2 "error: " "contxt" "does not compile yet" "!ninja" "!FAILED" "![1/"
judged "/^arma::cube attention_scores_einsum/,\$c}" 2 "attention_scores_einsum" "does not compile yet" "!ninja"
judged "\$aint main() { return 0; }" 2 "your file has a main()" "remove yours"

# what else a learner's code may do
with_statement() { printf '%s' "s#^  const arma::cube Q = query_proj(X);.*#$1  const arma::cube Q = query_proj(X);#"; }
try() { judged "$(with_statement "$1")" 1 "${@:2}"; }
try 'volatile int* nowhere = nullptr; *nowhere = 1;' "crashed: segmentation fault" "also failing" "of $total checks passed" "where   $lesson"
try 'throw 42;' "threw   something that is not a std::exception"
try 'for (int i = 0; i < 300000; ++i) std::cout << "much ado about nothing\\n";' "much ado about nothing" "bytes in all"
try 'std::exit(0);' "ended itself here, with exit code 0" "of $total checks passed"
try 'arma::cube huge(100000, 125000, 1, arma::fill::zeros);' "more memory than a check may use"
judged 's#return context;#return {};#' 1 "got 0 x 0 x 0, want 4 x 3 x 2 (L x E x B)" "what you returned is empty"
judged 's#return context;#return context * arma::datum::nan;#' 1 "are NaN, not a number"
early() { printf '%s' "s#^namespace attn {#static const int early = [] { $1; return 1; }();\nnamespace attn {#"; }
judged "$(early 'std::abort()')" 1 "crashed before its first check"
judged "$(early 'std::cout << "early" << std::endl')" 0 "$total of $total checks passed" "speed   forward"
sed "$(with_statement 'for (volatile bool on = true; on;) {}')" "$right" >"$lesson"
ninja -C build/dev lesson_01 >/dev/null # how long that takes is not the question
before=$SECONDS
expect 1 "stopped after 2 s of computing" "of $total checks passed" "!: 0 of $total" -- timeout 300 "$tool" --root "$copy" check 01
holds "a loop is stopped within a minute" [ $((SECONDS - before)) -le 60 ]

finish
