#!/usr/bin/env bash
# The demonstration of lesson 10, as authors build it (with the reference).
#
#   demo_10_test.sh COURSE PROGRAM
set -euo pipefail
course=$1
demo=$2
# shellcheck source=tools/tests/expect.sh
. "$course/tools/tests/expect.sh"

export LC_ALL=C.UTF-8 # for shades; in a locale without UTF-8 all is ASCII
picture=$scratch/map.svg

# examples of its own, one in English and one in Chinese
expect 0 "the=1 cat=2 saw=3 the=1 other=4 cat=2" "喜=6" "mean of the 2 heads" "the  " "我  " "./learn demo 10 --trained" -- "$demo"

expect 0 "??=1" "!喜" "!█" -- env LC_ALL=C "$demo" "喜欢 玩"

# sentences of one's own: unknown words, a long one, an empty one
expect 0 "sentence 1: 我=1 爱=0 (unknown)" -- "$demo" "我 爱" --words "我 玩"
expect 0 "(cut: 2 more tokens do not fit into --max-length 3)" -- "$demo" "a b c d e" --max-length 3
expect 0 "sentence 2:" "empty sentence" -- "$demo" "it is" ""

# padding on the left moves the words, and changes no map
expect 0 "the=1 cat=2 saw=3" "喜=" -- "$demo" --left
"$demo" >"$scratch/right"
"$demo" --left >"$scratch/left"
expect 0 -- cmp "$scratch/right" "$scratch/left"
expect 0 "(seed 7)" "8 wide, 4 heads" -- "$demo" "it is" --seed 7 --dim 8 --heads 4
expect 2 "--seed: it is -1, expected an integer of at least 0" -- "$demo" "it is" --seed -1
expect 2 "--seed: it is 18446744073709551616, expected an integer" -- "$demo" "it is" --seed 18446744073709551616
expect 0 "(seed 18446744073709551615)" -- "$demo" "it is" --seed 18446744073709551615
expect 2 "--picture-of" "!00000000" -- "$demo" "it is" --picture-of -1

# weights made by hand: a word attends to itself and its equals, or to the word numbered before it
expect 0 "not learned" "head 0: the same word" "a    50▒   <1    50▒" "b     1    99█    1 " "b    50█   <1    50█" -- \
  "$demo" "a b a"
expect 0 "爱    33░   33░   33░" -- "$demo" "我 爱 玩" --words "我 玩" # an unknown word has none before it
expect 0 "Made by hand" -- sh -c "\"$demo\" 'a b a' --by-hand --svg $scratch/hand.svg >/dev/null && cat $scratch/hand.svg"

# the picture: a new file, well-formed, and never over another
expect 0 "wrote $picture: sentence 2" -- "$demo" "it is" "<我> & \"it's\"" --svg "$picture" --picture-of 2
expect 2 "exists already" "!wrote" -- "$demo" --svg "$picture"
elements() { # PICTURE   what an XML parser finds
  python3 -c 'import sys, xml.etree.ElementTree as tree
for element in tree.parse(sys.argv[1]).getroot().iter(): print(element.tag, element.text)' "$1"
}
expect 0 "svg" "<我>" -- elements "$picture"
for sentence in "" "我 很长的游戏" "a sentence of words"; do
  "$demo" "$sentence" --svg "$scratch/$sentence.svg" >/dev/null
  expect 0 "svg" -- elements "$scratch/$sentence.svg"
done
expect 2 "cannot be written" -- "$demo" --svg "$scratch/no/such/folder/map.svg"
limited() { (ulimit -f 1 && exec "$demo" --svg "$scratch/large.svg" >/dev/null); } # 1024 bytes
expect 2 "large.svg cannot be written: File too large" -- limited
holds "nothing is left of it" [ ! -e "$scratch/large.svg" ]
if [ -c /dev/full ]; then
  expect 2 "could not be written to its end" -- bash -c "\"$demo\" >/dev/full"
fi

# bad input: a sentence that says so, and exit code 2
expect 2 "text is not UTF-8 at byte 2" -- "$demo" "$(printf 'it\xff')"
expect 2 "multiple of num_heads = 3" -- "$demo" --heads 3
expect 2 "--max-length" -- "$demo" --max-length 0
expect 2 "--max-length" -- "$demo" --max-length -1
expect 2 "--picture-of is 3, expected 1 to 2" -- "$demo" --picture-of 3
expect 2 "not expected" -- "$demo" --no-such-option
expect 0 "--max-length" "--svg" -- "$demo" --help

finish
