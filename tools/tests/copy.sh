#!/usr/bin/env bash
# Makes a copy of the course and builds its first lessons, for the tests that play a learner. What the course's own build has
# is taken from there (reuse_object.sh, ATTN_BUILT).
#
#   copy.sh COURSE COPY
set -euo pipefail
course=$1
copy=$2
"$course/tools/tests/restore_copy.sh" "$course" "$copy"
rm -rf "$copy/build"
log=$copy/build/copy.log
mkdir -p "$copy/build"
cd "$copy"
if ! { cmake --preset dev && cmake --build --preset dev --target lesson_00 lesson_01 lesson_05 solution_01_test; } >"$log" 2>&1; then
  tail -n 30 "$log"
  echo "The copy of the course could not be built (above: the last lines; all of it: $log)."
  exit 1
fi
