#!/usr/bin/env bash
# A compiler launcher for the copy of the course: takes an object file from the build of the course, ATTN_BUILT, where it would
# be the same. So the tests that play a learner wait for what a learner's files need, and not for the course's own libraries.
#
# It is the same when the command is the same but for the folders, no path of the copy is compiled into it, and its source is
# one that no test changes. CMake calls this in place of the compiler, with the compiler and its arguments.
set -u
built=${ATTN_BUILT:-}
output=
source=
for ((i = 1; i <= $#; ++i)); do
  next=$((i + 1))
  [ "${!i}" != -o ] || output=${!next}
  [ "${!i}" != -c ] || source=${!next}
done
copy=${PWD%/build/dev}

reusable() {
  [ -n "$built" ] && [ -f "$built/$output" ] || return 1
  case "$output" in
    *CMakeFiles/checks_* | *CMakeFiles/lesson_* | *CMakeFiles/interview_* | *CMakeFiles/demo_*) return 1 ;;
  esac
  case "$source" in "$copy"/lessons/* | "$copy"/.learn/* | "$copy"/tests/*) return 1 ;; esac
  case " $* " in *"=\"$copy"* | *"=\\\"$copy"*) return 1 ;; esac
  # compile_commands.json has the command for each object; the folders of the copy are read as the course's
  local command="$*"
  command=${command//"$PWD"/"$built"}
  command=${command//"$copy"/"${built%/build/dev}"}
  command=$(sed -E 's/ -MD -MT [^ ]+ -MF [^ ]+//' <<<"$command")
  grep -qF -- "\"command\": \"$command\"" "$built/compile_commands.json"
}

if reusable "$@"; then
  cp "$built/$output" "$output" # with the time of now: Ninja compiles again what is older than its sources
else
  exec "$@"
fi
