#!/usr/bin/env bash
# What the compiler says to somebody whose interview class is not whole yet: one plain sentence for each name that is
# missing, and no page of templates.
#
#   interview_test.sh COURSE BUILD       the course's folder, and a folder where it is built
set -euo pipefail
course=$1
build=$2
# shellcheck source=tools/tests/expect.sh
. "$course/tools/tests/expect.sh"

# the build's own command for an adapter, which finds the header in the scratch folder first
compile() { # LESSON
  local command
  command=$(ninja -C "$build" -t commands "lesson_${1%%_*}" | grep -F "/adapter.cpp.o -c" | tail -n 1)
  (cd "$build" && eval "$command -fsyntax-only -iquote $(printf %q "$scratch")")
}

differs() { ! cmp -s "$@"; }

for lesson in 05_interview_self_attention 12_interview_multi_head; do
  right=$(echo "$course/solutions/$lesson"/*.hpp)
  header=$scratch/$(basename "$right")
  class=$(sed -n 's/^class \([A-Za-z]*\) .*/\1/p' "$right")
  # wrong TEXT... -- SED_EDIT   the solution with that edit does not compile, and the compiler says so in these words
  wrong() {
    local texts=()
    while [ "$1" != "--" ]; do texts+=("$1") && shift; done
    sed -E "$2" "$right" >"$header"
    holds "$2 changes $right" differs "$right" "$header"
    expect 1 "${texts[@]}" "!type_traits" -- compile "$lesson"
    holds "no page of templates" [ "$(wc -l <"$output")" -le 60 ] # nine names, with clang++ six lines each
  }

  cp "$right" "$header"
  expect 0 "!warning" -- compile "$lesson"
  cp "$course/lessons/$lesson/$(basename "$right")" "$header"
  expect 0 "!warning" -- compile "$lesson"

  wrong "$class needs a public field:  Linear query_proj;" "!key_proj;" -- 's/query_proj/q_proj/g'
  wrong "the header has no class attn::$class" -- "s/$class/${class}V2/g"
  wrong "$class: give dropout_p a default:" -- 's/dropout_p = 0.1/dropout_p/'
  wrong "poisoned" -- 's/masking\.hpp/strict.hpp/'     # attn/strict.hpp refuses the helpers
  if [ "$lesson" = 05_interview_self_attention ]; then # the same code serves both
    wrong "$class needs a public field:  Linear output_proj;" "needs a public field:  Dropout dropout;" \
      -- 's/output_proj/out/g; s/^  Dropout dropout;/  Dropout drop;/; s/([^.])\bdropout\(/\1drop(/g'
    wrong "$class needs a public field:  Linear key_proj;" -- 's/^  Linear key_proj;/ private: Linear key_proj; public:/'
    wrong "$class needs a public field:  Linear query_proj;" "needs a public constructor" -- 's/^ public:$//'
    wrong "the header has no class attn::$class" -- 's/namespace attn \{/using namespace attn; namespace mine {/'
    wrong "$class::forward must also take X alone" -- 's/const Mask& mask = \{\}/const Mask\& mask/'
    wrong "$class needs a public function:  arma::cube forward(" -- 's/arma::cube forward/arma::cube Forward/'
    wrong "$class needs a public function:  const arma::cube& attention_weights() const;" -- 's/attention_weights\(\)/weights()/'
  fi
  sed 's/^class /struct /; s/^ public:/public:/' "$right" >"$header" # a struct will do
  expect 0 -- compile "$lesson"
done

finish
