#!/usr/bin/env bash
# The program of ./learn train --break: what is on the screen, and what it refuses.
#
#   train_break_program_test.sh COURSE PROGRAM
set -euo pipefail
course=$1
train=$2
# shellcheck source=tools/tests/expect.sh
. "$course/tools/tests/expect.sh"
export LC_ALL=C.UTF-8

expect 0 "row-sum " "lesson 24's row_sum_forgotten" "27.ascent" -- "$train" --break
picture=$scratch/curves.svg
expect 0 "the row sum is missing" "(lesson 24)" "solutions/24_attention_backward/softmax_backward.cpp:" \
  "  - d_scores.slice(n).each_col()" "  + (nothing)" "For example: " "step 6 of 6: loss " " (right), " " (with the mistake" "6 steps in " "│" "• right" \
  "right:             loss " "with the mistake:  loss " "guessing:          loss 2.303" "What to look for" "wrote $picture" \
  -- "$train" --break row-sum --steps 6 --svg "$picture"
expect 2 "exists already" "!For example" -- "$train" --break row-sum --steps 6 --svg "$picture"
holds "the picture is XML" python3 -c 'import sys, xml.etree.ElementTree as tree; tree.parse(sys.argv[1])' "$picture"
expect 0 "the step goes up the gradient" "!What to look for" "write ten digits backwards" \
  -- "$train" --break 27.ascent --steps 2 --task reverse
loss() { sed -n "s/^$1.*: *loss \([0-9.]*\) on held-out sequences.*/\1/p" "$output"; }
expect 0 "(lesson 27)" -- "$train" --break 27.not_reversed --task reverse --steps 20
holds "a mistake in the examples is made" [ "$(loss right)" != "$(loss with)" ]
expect 0 "o right" -- env LC_ALL=C "$train" --break scale --steps 2
holds "with LC_ALL=C all is ASCII" bash -c "! LC_ALL=C grep -q '[^ -~]' '$output'"

# the mistake shows, before either has learned everything: without the mask the loss is too good, and it writes worse
expect 0 "the model reads the token that it has to predict" -- "$train" --break mask --task sort --steps 60
written() { sed -n "s/^$1.* writes \([0-9]*\)\.[0-9]* % right/\1/p" "$output"; }
holds "right code learns to sort" [ "$(written right)" -ge 75 ]
holds "without the mask it writes worse" [ "$(written with)" -le $(($(written right) - 10)) ]
holds "and the loss is lower" awk "BEGIN { exit !($(loss with) < 0.7 * $(loss right)) }"

interrupted "For example" "$train" --break scale --steps 100000
holds "it says so" grep -q "tokens per second (interrupted)" "$output"
holds "and shows what there is" grep -q "^with the mistake: .* after " "$output"

for name in no-such 27.none 19.unscaled; do
  expect 2 "--break is $name" "!For example" -- "$train" --break "$name"
done
expect 2 "--text" -- "$train" --break scale --text "$course/README.md"
expect 2 "--steps" -- "$train" --break scale --steps 0

finish
