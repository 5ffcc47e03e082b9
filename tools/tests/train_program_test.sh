#!/usr/bin/env bash
# The program of ./learn train, as authors build it (with the reference): every task is learned, the same seed gives the same
# numbers, and what it refuses.
#
#   train_program_test.sh COURSE TRAIN TRAIN_FAST
set -euo pipefail
course=$1
train=$2
fast=$3
# shellcheck source=tools/tests/expect.sh
. "$course/tools/tests/expect.sh"

export LC_ALL=C.UTF-8
export OPENBLAS_NUM_THREADS=1
cd "$scratch" # models/trained is made here
no_escapes() { ! grep -q $'\x1b' "$output"; }
only_ascii() { ! LC_ALL=C grep -q '[^ -~]' "$output"; }

# every task is learned, one of them with the reference's steps; the first two long before their steps are over
right() { sed -n 's/^held-out sequences: \([0-9]*\)\.[0-9]* % of the tokens are right.*/\1/p' "$output"; }
share() { sed -n 's/.*answer is: with \([0-9]*\)\..*/\1/p' "$output"; }
learns() { # LEAST-SHARE COMMAND...   of its attention, the head that is shown has so many percent where the answer is
  local least=$1
  shift
  expect 0 "looks most at where the answer is" -- "$@"
  holds "$*: it is learned" [ "$(right)" -ge 99 ]
  holds "$*: the head looks where the answer is" [ "$(share)" -ge "$least" ]
}
learns 50 "$train" --task copy --steps 100
learns 50 "$fast" --fast --task reverse --steps 100
learns 0 "$fast" --fast --task sort
learns 50 "$fast" --fast --task induction

# what is on the screen, without a terminal
expect 0 "write ten digits backwards" "For example: " " | " "The loss before the first step is 2." "ln 11 = 2.40" \
  "step 10 of 10: loss " "10 steps in " "tokens per second" "loss:" "guessing gets 10.0 %" "[" "What to look for" \
  -- "$train" --steps 10
holds "without a terminal nothing is coloured, and no line is written again" no_escapes
holds "a line for each tenth" [ "$(grep -c '^step ' "$output")" = 10 ]
expect 0 "step 1 of 1: loss " "1 step in " -- env LC_ALL=C "$train" --steps 1
holds "with LC_ALL=C all is ASCII" only_ascii
expect 0 "The loss before the first step" -- "$fast" --fast --steps 25 --seed 5 --task induction --save 25
holds "a line for each tenth of 25" [ "$(grep -c '^step ' "$output")" = 10 ]

# the same seed, the same numbers
text_of() { rm -rf models && "$train" --steps 5 "$@" </dev/null | sed '/tokens per second/d'; }
text_of --seed 3 >"$scratch/one"
holds "a seed gives the same text" cmp -s "$scratch/one" <(text_of --seed 3)
text_of --seed 4 >"$scratch/two"
expect 1 -- cmp -s "$scratch/one" "$scratch/two"

# Ctrl-C: what there is, is shown, and saved
rm -r models
interrupted "ln 11" "$train" --steps 100000
holds "it says so" grep -q "tokens per second (interrupted)" "$output"
holds "and shows what there is" grep -q "What to look for" "$output"
holds "and how to go on" grep -q "To go on: ./learn train --resume models/trained/reverse" "$output"
expect 2 "holds a training that is not finished" "--resume" "!For example" -- "$train" --steps 1
rm -r models/trained/reverse

# the picture
picture=$scratch/map.svg
expect 0 "wrote $picture: layer " -- "$train" --steps 1 --svg "$picture"
expect 2 "exists already" "!For example" -- "$train" --steps 1 --svg "$picture"
expect 2 "cannot be written" -- "$train" --steps 1 --svg "$scratch/no/such/folder/map.svg"
expect 2 "cannot be written: File name too long" "!For example" -- "$train" --steps 1 --svg "$scratch/$(printf %0300d 1)"
if command -v python3 >/dev/null; then
  expect 0 "svg" "head 1" -- python3 -c 'import sys, xml.etree.ElementTree as tree
for element in tree.parse(sys.argv[1]).getroot().iter(): print(element.tag, element.text)' "$picture"
fi

# values that mean nothing
for option in --task=add --task= --steps=0 --steps=-1 --steps=many --steps=1000001 --seed=-1 --seed=now --no-such-option; do
  expect 2 "${option%%=*}" "!For example" -- "$train" "$option"
done
expect 0 "--task" "--steps" "--seed" "--svg" "--reference" -- "$train" --help

finish
