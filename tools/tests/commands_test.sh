#!/usr/bin/env bash
# The commands that say one thing and end, without a terminal: what they say, and their exit codes. On the built copy of
# the course; ./learn update on a small clone of its own.
#
#   commands_test.sh COURSE LEARN COPY       the course's folder, the tool to drive, and the copy
set -euo pipefail
course=$1
tool=$2
copy=$3
# shellcheck source=tools/tests/expect.sh
. "$course/tools/tests/expect.sh"

"$course/tools/tests/restore_copy.sh" "$course" "$copy"
cd "$copy"
lesson=lessons/01_self_attention_v1/self_attention_v1.cpp
rm -f build/dev/lesson_01-* build/dev/speed-* # of a tool that was killed
stub=tests/01_self_attention_v1/stub/self_attention_v1.cpp
right=solutions/01_self_attention_v1/self_attention_v1.cpp
total=$(grep -c "^TEST(" tests/01_self_attention_v1/checks.cpp)
learn() { "$tool" --root "$copy" "$@"; }
out_of() { "$@" 2>/dev/null; } # standard output alone

is_json() { # of what was printed last
  if command -v python3 >/dev/null; then
    python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$output"
  else
    [ "$(head -c 1 "$output")$(tail -n 1 "$output")" = "{}" ]
  fi
}
no_escapes() { ! grep -q $'\x1b' "$output"; }
only_ascii() { ! LC_ALL=C grep -q '[^ -~]' "$output"; }
name_of_backup() { sed -n '/backups restore 20/{s#.*restore ##p;q}' "$output"; }

# ------------------------------------------------------------------------------------------ what is asked wrongly
expect 2 "no-such-command" "--help" "!Did you mean" -- learn no-such-command
expect 2 "Did you mean: ./learn check 01" -- learn 01 chek
expect 2 "not expected: one two" "./learn list --help" -- learn list one two
expect 2 "Did you mean: ./learn hint 01 --level 2" "./learn hint --help" -- learn hint 01 --levl 2
expect 2 "When is the interview?" "./learn plan --until Thursday" -- learn plan
expect 2 "there is no lesson \"99\"" "00 to " -- learn check 99
for command in hint reset solution demo interview; do
  expect 2 "there is no lesson \"99\"" -- learn "$command" 99
done
expect 2 "has no task 01.9" -- learn hint 01.9
for level in 0 4; do expect 2 "--level" -- learn hint 01 --level $level; done
expect 2 "--minutes" -- learn interview 01 --minutes 0
expect 2 "has no demonstration" -- learn demo 01
expect 2 "has no demonstration" -- learn demo 01 --reference
expect 1 "TODO(03.1) is not written yet" "./learn demo 03 --reference" -- learn demo 03
expect 0 "-inf, safe softmax" "!TODO" -- learn demo 03 --reference
expect 2 "needs a terminal" "lessons/05_interview_self_attention/interview.md" -- learn interview 05
expect 2 "none was made yet" -- learn backups restore 2026
holds "without a terminal no interview leaves a blank page" [ ! -e .learn/interview ]

# ------------------------------------------------------------------------------------------------ the first look
expect 0 "now  00 " "     01 " -- learn
expect 0 "> now  00   70 min  Warm-up" -- learn watch
expect 0 '"lesson": "00_warm_up"' '"state": "untouched"' '"current": true' -- learn list --json
holds "list --json is JSON" is_json
expect 0 "attention-by-hand 0." -- learn version
expect 0 "./learn alone starts" "Lessons" "Interviews" -- learn --help
holds "interview is among the interviews" [ "$(sed -n '/^Interviews/I,/^$/s/^  \([a-z]*\) .*/\1/p' "$output" | tr '\n' ' ')" = "interview review plan stats " ]
expect 0 "OpenBLAS" -- learn doctor
without_input() { learn "$@" <&-; } # not from /dev/null: closed
expect 0 "OpenBLAS" "!does not answer" -- without_input doctor
into_a_full_disk() { learn "$@" >/dev/full; }
expect 2 "The output could not be written." -- into_a_full_disk list
holds "without a terminal doctor's words are not coloured" no_escapes
lessons=$(find lessons -mindepth 1 -maxdepth 1 -type d | wc -l)
expect 0 "0 of $lessons lessons passed" "0 times judged" "0 days in a row" -- learn stats
expect 0 "There are no backups." -- learn backups
expect 0 "  1 h 15 min  ./learn 01 (self_attention_v1)" "./learn review --lesson 01 --questions 5" "Left out for lack of time: " \
  -- learn plan --until tomorrow --hours 2
narrow() { ! grep -qE '.{61}' "$output"; }
holds "a plan fits 60 columns" narrow
expect 2 "it is 1,5, expected from 0.25 to 400, such as 1.5" -- learn plan --until tomorrow --hours 1,5
expect 2 "is over; name a day from today on" -- learn plan --until 2020-01-01
expect 2 "is not a day; write one like Thursday, tomorrow or 2026-12-03" -- learn plan --until someday
expect 0 "hours left" -- learn list
expect 0 "Hints for 00 warm_up, level 1 of 3" "00.1" -- learn hint
expect 0 "01 · Self-attention: " "write  $lesson" "00 warm_up stays open: ./learn 00 goes back to it." -- learn next
expect 0 "now  01 " -- learn list
expect 0 "01.1" "!01.2" "./learn hint 01.1 --level 2" -- learn hint 01.1
expect 0 "level 3 of 3" "!More" -- learn hint --level 3
expect 0 "// $right" "SelfAttentionV1::forward" -- learn solution
holds "without a terminal nothing is coloured" no_escapes

# ------------------------------------------------------------------- check: JSON first, though it has to build first
cp "$stub" "$lesson" && touch "$lesson"
expect 1 '"verdict": "failed"' '"passed": 0' "\"total\": $total" '"state": "not_written"' -- out_of learn check 01 --json
holds "check --json is JSON, though it has to build first" is_json
expect 1 "01 self_attention_v1 · to do: 01.1" "!✗" "0 of $total checks passed" -- learn check 01
sed 's# / std::sqrt(static_cast<double>(dim))##' "$right" >"$lesson"
expect 1 "✗ 01 self_attention_v1 · " -- learn check 01
holds "without a terminal a failure is not coloured" no_escapes
expect 1 "FAILED 01 self_attention_v1 · " "!✗" -- learn check 01 --plain
expect 1 "✗ 01 self_attention_v1 · " -- env NO_COLOR=1 "$tool" --root "$copy" check 01
expect 1 "FAILED 01 self_attention_v1 - " -- env LC_ALL=C "$tool" --root "$copy" check 01
holds "with LC_ALL=C all is ASCII" only_ascii
for command in "list" "hint 01" "stats" "solution 01 --diff" "--help" "review" "review --all" "plan --until Friday"; do
  read -ra words <<<"$command"
  expect 0 -- env LC_ALL=C "$tool" --root "$copy" "${words[@]}"
  holds "with LC_ALL=C all of $command is ASCII" only_ascii
done
learn list >"$scratch/wide"
COLUMNS=30 learn list >"$scratch/narrow"
holds "COLUMNS does not matter where there is no terminal" cmp -s "$scratch/wide" "$scratch/narrow"

cp "$right" "$lesson"
expect 0 "$total of $total checks passed" "Next: 02 · Fused QKV" -- learn check 01
expect 0 '"verdict": "passed"' "\"passed\": $total" -- out_of learn check --json
holds "check --json is JSON" is_json
expect 0 "1 of $lessons lessons passed" "1 day in a row" "mistake     1 time, lesson 01: the scores are not" -- learn stats
expect 0 '"state": "passed"' -- learn list --json

touch "$lesson" # two at once, and both have to build
learn check 01 >"$scratch/one" 2>&1 &
one=$!
expect 0 "$total of $total checks passed" -- learn check 01
holds "of two checks at once the other one ends well too" wait "$one"
holds "and says the same" grep -qF "$total of $total checks passed" "$scratch/one"
touch build/dev/lesson_01-999998.log # of another tool
touch -d '2 hours ago' build/dev/lesson_01-999999.{log,json}
expect 0 "$total of $total checks passed" -- learn check 01
holds "what a killed tool left is removed" [ "$(find build/dev -maxdepth 1 -name 'lesson_01-*')" = build/dev/lesson_01-999998.log ]
rm build/dev/lesson_01-999998.log
holds "nothing of a check is left behind" [ -z "$(find build/dev -maxdepth 1 -name 'lesson_01-*' -o -name 'speed-*')" ]

odd=.learn/backup/2026-11-21_15-04-05_reset_01
mkdir -p "$odd" "$odd"$'\x1b[31m'
touch "$odd/"$'a\x1b[2Jb'
expect 0 "a?[2Jb" -- learn backups
holds "a name without a terminal's letters" no_escapes
rm -rf .learn/backup

# ------------------------------------------------------------------------------- answers that are no files, or too long
within() { timeout 300 "$tool" --root "$copy" "$@"; } # nothing waits for the other end of a pipe
for kind in "mkfifo" "mkdir" "ln -s /dev/zero"; do
  rm -rf "$lesson"
  $kind "$lesson"
  expect 2 "$lesson is a folder, a pipe or a device" -- within check 01
  expect 2 "$lesson is a folder, a pipe or a device" -- within solution 01 --diff
  expect 2 "it is a folder, a pipe or a device" -- within reset 01
  for command in "list" "hint 01" "stats" "next"; do
    read -ra words <<<"$command"
    expect 0 -- within "${words[@]}"
  done
done
rm -rf "$lesson"
head -c 1000000 /dev/zero | tr '\0' x >"$lesson"
expect 2 "$lesson has 1000000 bytes, and an answer may have" -- within check 01
expect 2 "$lesson has 1000000 bytes, and an answer may have" -- within solution 01 --diff
expect 0 "is as it was at the beginning" -- within reset 01
holds "what was too long is kept" [ "$(cat .learn/backup/*_reset_01/"$lesson" | wc -c)" = 1000000 ]
rm -rf .learn/backup .learn/lock
mkfifo .learn/lock
expect 0 "Hints for 01" -- within hint 01 --level 2
rm .learn/lock

# ------------------------------------------------------------------------------------------- a build that was damaged
cp "$right" "$lesson"
damaged() { # WHAT COMMAND...   lesson 01 is judged all the same, and nothing but what was damaged is built again
  local what=$1
  shift
  "$@"
  expect 0 "$total of $total checks passed" -- within check 01
  holds "$what leaves the compiled checks as they were" [ build/dev/CMakeFiles/checks_01.dir/tests/*/*.o -ot "$scratch/start" ]
}
touch "$scratch/start"
damaged "a cache that is gone" rm build/dev/CMakeCache.txt
damaged "a damaged cache" eval 'echo "no cache ((" >build/dev/CMakeCache.txt'
damaged "a cut cache" truncate -s 2000 build/dev/CMakeCache.txt
damaged "a damaged build.ninja" eval 'echo "no rules" >build/dev/build.ninja'
damaged "a folder with the program's name" eval 'rm build/dev/lesson_01 && mkdir build/dev/lesson_01'
damaged "a folder that should be the lock" eval 'rm -f build/dev/learn.lock && mkdir build/dev/learn.lock'
damaged "a pipe that should be the lock" eval 'rm -rf build/dev/learn.lock && mkfifo build/dev/learn.lock'
mv CMakeLists.txt "$scratch/"
echo 'no CMake (' >CMakeLists.txt
expect 2 "This starts it again: rm -rf build/dev" "!begin with the first error" -- within check 01
mv "$scratch/CMakeLists.txt" .
touch CMakeLists.txt
expect 0 "$total of $total checks passed" -- within check 01

(learn list || true) | head -n 1 >"$scratch/first"
holds "a closed pipe does no harm" grep -q "00 .*Warm-up" "$scratch/first"
expect 0 "passed  01 " -- learn list

mv lessons "$scratch/lessons" # all of the lessons that are here
mkdir lessons
cp -rp "$scratch/lessons/01_self_attention_v1" lessons/
expect 0 "✓ 01 self_attention_v1: $total of $total checks" "1 of 1 lesson passed" -- learn check all
expect 0 '"lessons": [' '"verdict": "passed"' -- out_of learn check all --json
holds "check all --json is JSON" is_json
cp -rp "$scratch/lessons/00_warm_up" lessons/
expect 1 "  00 warm_up: not started" "✓ 01 self_attention_v1" "1 of 2 lessons passed" -- learn check all
sed 's#return context;#std::cout << "caf\\xe9 noir\\n"; return {};#' "$right" >"$lesson" # Latin-1
expect 1 '"verdict": "failed"' 'noir' -- out_of learn check 01 --json
holds "check --json is JSON whatever bytes a program prints" is_json
echo 'int cafe = ;' >>"$lesson"
expect 2 '"verdict": "not_compiled"' -- out_of learn check all --json
holds "check all --json is JSON though a lesson does not compile" is_json
expect 2 "does not compile yet" -- learn check 01
cp -rpn "$scratch/lessons/." lessons/

# ------------------------------------------------------------------------------------- reset, backups, solution
echo "mine" >"$lesson"
echo "notes" >lessons/01_self_attention_v1/notes.cpp
expect 0 "yours: self_attention_v1.cpp" "the reference" "mine" "!notes" -- learn solution 01 --diff
expect 0 "// $right" -- learn solution 01
expect 0 "is as it was at the beginning" "What you had written is kept" -- learn reset 01
holds "the stub is back" cmp -s "$stub" "$lesson"
first=$(name_of_backup)
expect 0 "nothing to do" -- learn reset 01
expect 0 "$first" "before reset, 20" "$lesson" -- learn backups
expect 0 "restored $first" -- learn backups restore "$first"
holds "what was written is back" grep -qx "mine" "$lesson"
second=$(name_of_backup)
expect 2 "several backups begin with \"20\"" "$first" "$second" -- learn backups restore 20
holds "nothing was replaced" grep -qx "mine" "$lesson"
expect 0 "restored ${second%?}" -- learn backups restore "${second%?}"
holds "the beginning of a name will do" cmp -s "$stub" "$lesson"

# --------------------------------------------------------------------------------- where nothing can be remembered
rm -rf .learn
touch .learn
expect 0 "now    00 " -- learn list
expect 0 "Your progress cannot be kept" "01 · Self-attention: " -- learn next
cp "$right" "$lesson"
expect 0 "Your progress cannot be kept" "$total of $total checks passed" -- learn check 01
expect 2 ".learn" -- learn reset 01
holds "without a copy nothing is replaced" cmp -s "$right" "$lesson"
rm .learn
mkdir .learn
printf '{"version": 2, "less' >.learn/state.json
expect 0 "cannot be understood: it is cut off" "now    00 " -- learn list
expect 0 "state.json.damaged-" -- ls .learn
rm -r .learn

# ----------------------------------------------------------------------------------------------- ulimit -f
echo "mine" >"$lesson"
expect 2 -- bash -c "ulimit -f 0; '$tool' --root '$copy' reset 01 >/dev/null 2>&1"
holds "without room for a copy nothing is replaced" grep -qx "mine" "$lesson"
holds "and nothing is left of it" [ -z "$(ls .learn/backup)" ]
cp "$stub" "$lesson"

# ------------------------------------------------------------------------------------------------------- update
mkdir -p "$scratch/no-git" "$scratch/clone/.git"
expect 2 "it is not installed" -- env PATH="$scratch/no-git" "$tool" --root "$scratch/clone" update
if ! command -v git >/dev/null; then # the course does not need it otherwise
  echo "git is not installed: what it does in an update is not tested."
  finish
  exit
fi

export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
upstream=$scratch/upstream
mine=$scratch/mine
mkdir -p "$upstream/tests"
for stubs in "$course"/tests/*/stub; do # as in the course: a lesson begins with its stubs
  name=${stubs%/stub} && name=${name##*/}
  mkdir -p "$upstream/lessons/$name" "$upstream/tests/$name"
  cp -r "$stubs" "$upstream/tests/$name/"
  cp "$course/lessons/$name"/*.md "$stubs"/* "$upstream/lessons/$name/"
done
echo "/.learn/" >"$upstream/.gitignore"
git -C "$upstream" init --quiet --initial-branch=main
commit() { git -C "$upstream" add -A && git -C "$upstream" commit --quiet -m "$1"; }
publish() { commit "$1" && git -C "$upstream" push --quiet "$scratch/remote.git" main; }
commit "the course"
git clone --quiet --bare "$upstream" "$scratch/remote.git"
git clone --quiet "$scratch/remote.git" "$mine"
update() { "$tool" --root "$mine" update; }

expect 0 "Already up to date" "!What you wrote" -- update

echo "// mine" >>"$mine/$lesson"
echo "notes" >"$mine/lessons/01_self_attention_v1/notes.cpp"
rm "$mine/lessons/02_fused_qkv"/*.cpp
cp "$mine/$lesson" "$scratch/written"
echo "a new chapter" >>"$upstream/lessons/01_self_attention_v1/README.md"
echo "// a new stub" | tee -a "$upstream/$stub" >>"$upstream/$lesson"
publish "news"
expect 0 "What you wrote is untouched; a copy is kept as 20" "$lesson has a new starting point: compare yours with $stub" -- update
holds "the chapter is new" grep -q "a new chapter" "$mine/lessons/01_self_attention_v1/README.md"
holds "what was written stands" cmp -s "$scratch/written" "$mine/$lesson"
holds "and is kept" cmp -s "$scratch/written" "$(echo "$mine"/.learn/backup/*_update_all)/$lesson"
expect 0 "Already up to date" "!new starting point" -- update

rm "$mine/lessons/01_self_attention_v1/notes.cpp" # so that git leaves nothing of the folder
git -C "$upstream" mv lessons/01_self_attention_v1 lessons/01_another_name
git -C "$upstream" mv tests/01_self_attention_v1 tests/01_another_name
publish "another name"
expect 0 "$lesson is no longer part of the course: yours is still there" -- update
holds "what was written stands, though the lesson is gone" cmp -s "$scratch/written" "$mine/$lesson"
expect 0 "01_another_name" "!01_self_attention_v1" -- "$tool" --root "$mine" list --json
expect 0 "Already up to date" -- update

own=lessons/00_warm_up/linear.cpp
echo "// written" >>"$mine/$own"
cp "$mine/$own" "$scratch/written"
mkdir "$scratch/bin"
# shellcheck disable=SC2016 # for the script
printf '#!/bin/sh\n[ "$1" != merge ] || kill -INT $PPID\nexec %s "$@"\n' "$(command -v git)" >"$scratch/bin/git"
chmod +x "$scratch/bin/git"
PATH=$scratch/bin:$PATH expect 0 "What you wrote is untouched" -- update
holds "what was written stands, though Ctrl-C was pressed meanwhile" cmp -s "$scratch/written" "$mine/$own"

# an editor that saves while git merges: both texts are kept
# shellcheck disable=SC2016 # for the script
printf '#!/bin/sh\n[ "$1" != merge ] || echo saved meanwhile >"%s"\nexec %s "$@"\n' "$mine/$own" "$(command -v git)" >"$scratch/bin/git"
PATH=$scratch/bin:$PATH expect 0 "What you wrote is untouched" -- update
holds "the answer is as it was before the update" cmp -s "$scratch/written" "$mine/$own"
holds "and what was saved meanwhile is kept" grep -qrx "saved meanwhile" "$mine/.learn/backup"

# what else is as it was: a mode, a link, what is staged, what git is told to leave alone
linked=lessons/00_warm_up/softmax.cpp
staged=lessons/06_heads/heads.cpp
skipped=lessons/09_cross_attention/cross_attention.cpp
mv "$mine/$linked" "$scratch/kept elsewhere.cpp"
echo "// linked" >>"$scratch/kept elsewhere.cpp"
ln -s "$scratch/kept elsewhere.cpp" "$mine/$linked"
chmod 700 "$mine/$own"
echo "// staged" >>"$mine/$staged"
git -C "$mine" add "$staged"
echo "// not staged" >>"$mine/$staged"
git -C "$mine" update-index --skip-worktree "$skipped"
echo "// skipped" >>"$mine/$skipped"
cp "$mine/$staged" "$scratch/staged"
git -C "$mine" diff --cached >"$scratch/index"
echo "news" | tee -a "$upstream/lessons/00_warm_up/README.md" >>"$upstream/lessons/06_heads/README.md"
publish "news"
expect 0 "What you wrote is untouched" -- update
holds "the chapter is new, though an answer is skipped" grep -q "^news$" "$mine/lessons/06_heads/README.md"
holds "a mode stays" [ "$(stat -c %a "$mine/$own")" = 700 ]
holds "a link stays" [ "$(readlink "$mine/$linked")" = "$scratch/kept elsewhere.cpp" ]
holds "and what it leads to" grep -q "^// linked$" "$scratch/kept elsewhere.cpp"
holds "what was staged stays staged" cmp -s "$scratch/index" <(git -C "$mine" diff --cached)
holds "and what was written after that" cmp -s "$scratch/staged" "$mine/$staged"
holds "what was skipped stays skipped" [ "$(git -C "$mine" ls-files -v "$skipped" | head -c 1)" = S ]
holds "and written" grep -q "^// skipped$" "$mine/$skipped"
mv "$mine/lessons/00_warm_up" "$scratch/my warm-up"
ln -s "$scratch/my warm-up" "$mine/lessons/00_warm_up"
expect 2 "lessons/00_warm_up is a symbolic link, which git would replace" -- update
holds "a link to a folder stays" [ -L "$mine/lessons/00_warm_up" ]
rm "$mine/lessons/00_warm_up"
mv "$scratch/my warm-up" "$mine/lessons/00_warm_up"
git -C "$mine" rev-parse HEAD >"$mine/.git/MERGE_HEAD"
expect 2 "a merge is not finished: git status says how to end it" -- update
holds "a merge stays what it was" [ -e "$mine/.git/MERGE_HEAD" ]
rm "$mine/.git/MERGE_HEAD"
git -C "$mine" update-index --no-skip-worktree "$skipped"
git -C "$mine" checkout --quiet HEAD -- "$skipped" "$staged" "$linked"

echo "// committed" >>"$mine/$own"
git -C "$mine" commit --quiet -am "what I wrote"
echo "// not committed" >>"$mine/$own"
cp "$mine/$own" "$scratch/written"
echo "more" >>"$upstream/lessons/00_warm_up/README.md"
publish "more"
expect 2 "fast-forward" "git could not bring the course up to date (its reason is above); nothing of yours was changed" -- update
holds "what was written stands, though git refused" cmp -s "$scratch/written" "$mine/$own"

mv "$scratch/remote.git" "$scratch/elsewhere.git"
expect 2 "git could not bring the course up to date" -- update
holds "what was written stands, though git found nothing" cmp -s "$scratch/written" "$mine/$own"
rm -rf "$mine/.git"
expect 2 "is not a clone of a git repository" -- update
holds "what was written stands, though there is no git" cmp -s "$scratch/written" "$mine/$own"

finish
