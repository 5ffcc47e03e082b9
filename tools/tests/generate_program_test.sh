#!/usr/bin/env bash
# The program of ./learn generate, as authors build it (with the reference): texts, maps, and what it refuses.
#
#   generate_program_test.sh COURSE PROGRAM
set -euo pipefail
course=$1
generate=$2
# shellcheck source=tools/tests/expect.sh
. "$course/tools/tests/expect.sh"

export LC_ALL=C.UTF-8
export OPENBLAS_NUM_THREADS=1
small=$course/models/small
text_of() { "$generate" --max-tokens 20 "$@" </dev/null | sed '$d'; } # without the line about its speed
no_escapes() { ! grep -q $'\x1b' "$output"; }
only_ascii() { ! LC_ALL=C grep -q '[^ -~]' "$output"; }

# a text: the prompt, what follows it, and how fast that was
expect 0 "Elizabeth" "prompt token" "12 new tokens" "--seed " -- "$generate" --max-tokens 12 --seed 1
holds "without a terminal nothing is coloured" no_escapes
expect 0 "It is" "1 new token; " -- "$generate" "It is" --max-tokens 1
expect 0 "It is a" -- "$generate" It is a --max-tokens 1
expect 0 "Café" -- "$generate" "Café" --max-tokens 5
if command -v iconv >/dev/null; then
  "$generate" "喜" --temperature 5 --max-tokens 60 --seed 1 >"$scratch/text"
  expect 0 -- iconv -f UTF-8 -t UTF-8 -o /dev/null "$scratch/text"
fi
expect 0 -- env LC_ALL=C "$generate" "Café" --temperature 5 --max-tokens 60
holds "with LC_ALL=C all is ASCII" only_ascii

# the same seed, the same text
text_of --seed 5 >"$scratch/one"
holds "a seed gives the same text" cmp -s "$scratch/one" <(text_of --seed 5)
text_of --seed 6 >"$scratch/two"
expect 1 -- cmp -s "$scratch/one" "$scratch/two"
text_of --temperature 0 --seed 1 >"$scratch/greedy"
holds "at temperature 0 the seed does not matter" cmp -s "$scratch/greedy" <(text_of --temperature 0 --seed 2)
holds "of one token there is no choice" cmp -s "$scratch/greedy" <(text_of --top-k 1 --seed 3)
holds "nor of the smallest nucleus" cmp -s "$scratch/greedy" <(text_of --top-p 0.000001 --seed 4)

# Ctrl-C: what was written stays, and the last line comes
cp -r "$small" "$scratch/endless"
sed -i 's/"eos_token_id"/"no_such_field"/' "$scratch"/endless/*config.json
interrupted "^It is" "$generate" --model "$scratch/endless" "It is" --max-tokens 1000000 --temperature 1 --top-p 1
holds "and what was written stays" grep -q "^It is" "$output"
holds "and it says how fast that was" grep -q "new tokens at .* (interrupted)" "$output"

# in a long prompt, too: at once
words() { yes "the cat" | head -n $(($1 / 2)) | tr '\n' ' '; }
for how in "" --reference; do
  start=$SECONDS
  # shellcheck disable=SC2086 # no word when it is empty
  interrupted "^the cat the cat" "$generate" "$(words 6000)" --max-tokens 5 $how
  holds "Ctrl-C ends a long prompt in a second, not $((SECONDS - start))" [ $((SECONDS - start)) -le 4 ]
  holds "and it says so" grep -q "(interrupted)" "$output"
done

# memory is counted before the prompt goes through the model; in parts, it takes less
limited() { (ulimit -v 4000000 && "$generate" "$@"); }
expect 2 "models/small takes " "GB of memory" "take a shorter prompt of fewer than" "--reference takes a long prompt in parts" \
  -- limited "$(words 20000)"
expect 2 "GB of memory" "a smaller --max-tokens" "!take a smaller model" -- limited --max-tokens 1000000
little() { (ulimit -v 430000 && "$generate" "$@"); }
# shellcheck disable=SC2016 # the inner shell expands it
expect 2 "MB of memory" -- bash -c 'ulimit -v 150000 && "$0" "It is"' "$generate"
expect 0 "1 new token;" -- little --reference "$(words 1500)" --max-tokens 1

# the attention map of a layer and head
picture=$scratch/map.svg
expect 0 "layer 1, head 2" "is      " "   - " "!new token" -- "$generate" "She is what she is" --attention 1.2
holds "without a terminal a map is not coloured" no_escapes
expect 0 "layer 1, head 2" "new token" -- "$generate" "She is what she is" --attention=1.2 --max-tokens 3
expect 0 "of all heads the sharpest" -- "$generate" "She is what she is" --attention
expect 0 "She" "what" -- "$generate" --attention "She is what she is"
expect 0 "sister" "novels of Jane Austen" "What to look for" -- "$generate" --trained
expect 0 "wrote $picture: layer 0, a panel for each head" -- "$generate" "She is" --attention 0.1 --svg "$picture"
expect 2 "exists already" "!layer 0" -- "$generate" "She is" --attention 0.1 --svg "$picture"
expect 2 "cannot be written" -- "$generate" "She is" --attention 0.1 --svg "$scratch/no/such/folder/map.svg"
if command -v python3 >/dev/null; then
  expect 0 "svg" "head 3" -- python3 -c 'import sys, xml.etree.ElementTree as tree
for element in tree.parse(sys.argv[1]).getroot().iter(): print(element.tag, element.text)' "$picture"
fi

# values that mean nothing
expect 2 "layer is 99, expected 0 to 3" -- "$generate" "She is" --attention 99.0
expect 2 "head is 9, expected 0 to 3" -- "$generate" "She is" --attention 0.9
expect 2 "expected layer.head, such as 2.1" -- "$generate" "She is" --attention two
expect 2 "--svg requires --attention" -- "$generate" "She is" --svg "$scratch/other.svg"
for option in --temperature=-1 --temperature=nan --temperature=inf --temperature=warm --top-p=0 --top-p=1.5 --top-k=-1 \
  --top-k=many --max-tokens=0 --max-tokens=-3 --seed=-1 --seed=now --no-such-option; do
  expect 2 "${option%%=*}" "!prompt token" "!00000000" -- "$generate" "$option"
done
long=$(printf 'x%.0s' $(seq 5000))
expect 2 "it is ?[31m, expected an integer" -- "$generate" --top-k $'\x1b[31m'
holds "an option is shown without control characters" no_escapes
expect 2 "--top-k: it is xxx" "xxx, expected an integer of at least 0" "!$long" -- "$generate" --top-k "$long"
expect 2 "--top-k: it is -1, expected an integer of at least 0" -- "$generate" --top-k -1
expect 2 "the prompt is empty" -- "$generate" ""
expect 2 "UTF-8" -- "$generate" "$(printf 'it\xff')"

# GPT-2 has only so many positions: 40 in this one
cp -r "$course/tests/23_real_weights/models/gpt2" "$scratch/gpt2"
sed -i 's/"eos_token_id"/"no_such_field"/' "$scratch/gpt2/config.json"
expect 0 "5 prompt tokens" "36 new tokens" "(the model has 40 positions)" -- "$generate" --model "$scratch/gpt2" "a b c"
expect 2 "expected at most 40" "!new token" -- "$generate" --model "$scratch/gpt2" "$(seq 100)"

# folders that are no model
changed() { # FILE SED-SCRIPT   a model with another file
  rm -rf "$scratch/other" && mkdir "$scratch/other"
  ln -s "$small"/* "$scratch/other/"
  rm "$scratch/other/$1"
  [ -z "$2" ] || sed "$2" "$small/$1" >"$scratch/other/$1"
}
other() { "$generate" --model "$scratch/other" "It is"; }
expect 2 "no/such/folder" -- "$generate" --model "$scratch/no/such/folder"
changed config.json 's/"mistral"/"bert"/'
expect 2 "bert" "!prompt token" -- other
changed config.json ""
expect 2 "config.json" -- other
changed tokenizer.json ""
expect 2 "tokenizer.json" -- other
changed model.safetensors ""
expect 2 "model.safetensors" -- other
echo '{"weight_map": {"model.norm.weight": "model-00002-of-00002.safetensors"}}' \
  >"$scratch/other/model.safetensors.index.json"
expect 2 "model-00002-of-00002.safetensors" -- other
changed config.json 's/"num_hidden_layers": *[0-9]*/"num_hidden_layers": 100000000/'
expect 2 "num_hidden_layers is 100000000, expected at most 1000" -- other
changed tokenizer.json 's/"s": *[0-9]*,//'
expect 2 "the tokenizer of $scratch/other cannot take the prompt: token " "is not in the vocabulary" -- \
  "$generate" --model "$scratch/other" "zszszs"
changed tokenizer.json 's/"added_tokens":\[\]/"added_tokens":[{"id":5000,"content":"~~"}]/'
expect 2 "the prompt has the token 5000, expected below 2048" -- "$generate" --model "$scratch/other" "It is ~~"
changed config.json 's/"num_hidden_layers": *[0-9]*/"num_hidden_layers": 5/'
expect 2 "model.layers.4." -- other
expect 0 "--temperature" "--model" -- "$generate" --help

finish
