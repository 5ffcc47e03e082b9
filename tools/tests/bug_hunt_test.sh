#!/usr/bin/env bash
# The six files of lesson 13 run, give the right shapes, and are wrong in their values; and no failing check says what
# the bug is. (Judges the files as they are given: like `stub.13_bug_hunt`, not for somebody who has mended some.)
#
#   bug_hunt_test.sh COURSE PROGRAM      the course's folder, and its lesson_13
set -euo pipefail
course=$1
program=$2
# shellcheck source=tools/tests/expect.sh
. "$course/tools/tests/expect.sh"
report=$scratch/report.json

# Not one check passes. Each fails by its own judgement: nothing was thrown, nothing crashed, no shape was wrong.
expect 1 "0 of " "!threw" "!crashed" "!ended" "!shape   got" "!likely" -- "$program" --report="$report"
expect 0 '"state": "failed"' '!"state": "passed"' '!"state": "ended"' '!"state": "stopped"' '!"state": "not_written"' \
  "value   " "!threw" "!crashed" "!shape   got" "!what you returned is empty" "!likely" -- cat "$report"

# Every failing check says which value is wrong, and is about one of the six files.
for file in "$course"/lessons/13_bug_hunt/*.cpp; do expect 0 "lessons/13_bug_hunt/$(basename "$file")" -- cat "$report"; done
checks=$(grep -c '"name": ' "$report")
expect 0 "$checks" -- grep -c '"text": .*\\n  value   ' "$report"

# What stands in the catalogue for the six bugs is never said to the learner, and neither are the hints of level 3.
says() { sed -n '/"says": /h; /"named": false/{x;s/^ *"says": "\(.*\)",$/\1/p;x}' "$course/tests/13_bug_hunt/mistakes.json"; }
[ "$(says | wc -l)" -ge 6 ] || { echo "FAILED: the six bugs are not in the catalogue"; exit 1; }
while IFS= read -r sentence; do expect 0 "!$sentence" -- cat "$report"; done < <(says)
finish
