#!/usr/bin/env bash
# ./learn train --text, as authors build it (with the reference): a text is learned, kept, gone on with bit for bit, and written on
# by ./learn generate and by PyTorch; and what is refused.
#
#   train_text_program_test.sh COURSE TRAIN TRAIN_FAST GENERATE
set -euo pipefail
course=$1
train=$2
fast=$3
generate=$4
# shellcheck source=tools/tests/expect.sh
. "$course/tools/tests/expect.sh"

export LC_ALL=C.UTF-8
export OPENBLAS_NUM_THREADS=1
cd "$scratch" # models/trained is made here
verse='Röslein sprach: Ich steche dich, daß du ewig denkst an mich. 野薔薇 don'"'"'t;'
for i in $(seq 90); do printf '%s\n%s Zeile %d\n' "$verse" "$i." "$((i * i))"; done >"rose red.txt"
small=(--width 16 --layers 1 --heads 2 --context 16 --batch 4)
bits() { sed -n "s/^  $1  *\([0-9.]*\).*/\1/p" "$output"; }
less() { awk "BEGIN { exit !($1 < $2) }"; }
stop_at_a_step() { # COMMAND...   Ctrl-C when a step is reported first; how it ended is in $ended, what it printed in stopped.txt
  ended=0
  : >stopped.txt
  "$@" >stopped.txt 2>&1 </dev/null &
  local program=$!
  until grep -q '^step ' stopped.txt || ! kill -0 $program 2>/dev/null; do sleep 0.02; done
  kill -INT $program 2>/dev/null || true
  wait $program || ended=$?
}

# what is on the screen, and what is in the folder
expect 0 "A model like Llama" "Its text: rose red.txt" " different ones" "Each character is a token. There are " "for any other" "The loss before the first step is 5." "= 5.5" \
  "after step 20 it writes:" "step 100 of 100: loss " "100 steps in " "loss:" "what it writes:" "bits per character" \
  "the held-out tenth" "a trigram model" "Saved in models/trained/rose-red" \
  "./learn generate --model models/trained/rose-red" -- "$train" --text "rose red.txt" "${small[@]}" --steps 100
holds "it has learned something" less "$(bits 'this model')" "$(bits guessing)"
holds "a trigram knows more than frequencies" less "$(bits 'a trigram model')" "$(bits frequencies)"
folder=models/trained/rose-red
for file in config.json tokenizer.json model.safetensors training.safetensors; do
  holds "$file is saved" [ -s "$folder/$file" ]
done
holds "and nothing else" [ "$(find "$folder" -type f | wc -l)" = 4 ]

# nothing is lost
cp -r "$folder" kept
expect 2 "holds a finished training, on " "--save" "!A model like" -- "$train" --text "rose red.txt" --save "$folder"
expect 2 "the training is finished" "--resume $folder --steps N" "!A model like" -- "$train" --resume
expect 0 "$folder holds a finished training, which stays: this one is kept in $folder-2" "Saved in $folder-2" \
  -- "$train" --text "rose red.txt" "${small[@]}" --steps 2
expect 2 "holds other files" -- "$train" --steps 1 --save "$course/docs"
expect 2 "not finished" -- sh -c "'$train' --steps 100000 --save cut >cut.txt 2>&1 &
  until grep -q 'ln 11' cut.txt; do sleep 0.1; done; sleep 0.3; kill -TERM \$!; wait \$!;
  tail -n 1 cut.txt; exec '$train' --save cut"
holds "SIGTERM saves, too" grep -q "To go on: ./learn train --resume cut" cut.txt
holds "all files are as they were" diff -r "$folder" kept

# stopped and gone on with: the same numbers, and the same files
for kind in "--text|rose red.txt|--tokens|bpe|--vocab|300|--architecture|gpt2" "--task|copy"; do
  IFS='|' read -ra what <<<"$kind"
  [ "${what[0]}" = --task ] && sizes=(--steps 20) || sizes=(--steps 400 "${small[@]}")
  rm -rf whole part
  expect 0 "Saved in whole" -- "$train" "${what[@]}" "${sizes[@]}" --save whole
  for begun in "${what[*]}" resumed; do
    if [ "$begun" = resumed ]; then
      stop_at_a_step "$train" --resume part
    else
      stop_at_a_step "$train" "${what[@]}" "${sizes[@]}" --save part
    fi
    holds "${what[1]}: Ctrl-C ends it with 130, not $ended" [ $ended = 130 ]
    holds "it says how to go on" grep -q "To go on: ./learn train --resume part" stopped.txt
  done
  "$train" --resume part >resumed.txt 2>&1 </dev/null || true
  for file in whole/*; do holds "${what[1]}: $file is the same" cmp -s "$file" "part/${file#whole/}"; done
done
interrupted "ln 2" "$train" --text "rose red.txt" "${small[@]}" --steps 100000 --save long
interrupted "It goes on after step " "$train" --resume long
holds "what was done is counted, too" grep -q " steps in " "$output"

# what can no longer be gone on with
printf '!' >>"rose red.txt"
expect 2 "has changed since the training began" -- "$train" --resume long
truncate -s -1 "rose red.txt"
expect 2 "was begun without --fast" -- "$fast" --fast --resume long
truncate -s -8 long/training.safetensors
cp long/training.safetensors damaged
expect 2 "long/training.safetensors: " "!terminate" -- "$train" --resume long
expect 2 "left as it is" -- "$train" --save long
holds "it is left as it is" cmp -s damaged long/training.safetensors
expect 2 "has no training.safetensors" -- "$train" --resume nowhere

# more steps for a training that is finished
expect 2 "--steps 2 is the number of all its steps, and 2 are made" -- "$train" --resume $folder-2 --steps 2
expect 0 "goes on after step 2 of 5" "the learning rate is that of a training of 5 steps" "step 5 of 5" "Saved in $folder-2" \
  -- "$train" --resume $folder-2 --steps 5
rm -rf $folder-2

# files that may not become large, as on a full disk: the same command may be run again
limited() { bash -c "ulimit -f $1; exec \"\$@\"" "$@"; } # KILOBYTES COMMAND...
expect 2 "could not be saved after step 1: " "File too large. Nothing of it is saved yet." "guessing gets" "!still there" \
  -- limited 16 "$train" --steps 2 --save full
expect 2 "could not be saved after step 1: " "Nothing of it is saved yet." "bits per character" \
  -- limited 100 "$train" --text "rose red.txt" "${small[@]}" --steps 2 --save full
holds "nothing half written is left" [ -z "$(find full -name '*.being-written-*')" ]
expect 0 "Saved in full" -- "$train" --text "rose red.txt" "${small[@]}" --steps 2 --save full
expect 2 "could not be saved after step 3: " "What was saved before, after step 2, is still there." \
  -- limited 100 "$train" --resume full --steps 4
expect 2 "map.svg cannot be written: File too large" \
  -- bash -o pipefail -c "(ulimit -f 1; exec '$train' --steps 1 --save small_files --svg map.svg) 2>&1 | cat"
holds "nor a half picture" [ ! -e map.svg ]
expect 2 "could not be written to its end" -- limited 1 bash -c "'$generate' It --max-tokens 600 --seed 1 >long.txt"

# ./learn generate, and PyTorch: from the files alone
expect 0 "Röslein" -- "$generate" --model models/trained/rose-red "Röslein 野" --max-tokens 40 --temperature 0
kinds=("--architecture llama --kv-heads 1" "--architecture gpt2" "--architecture llama --tokens bpe --vocab 300"
  "--architecture gpt2 --tokens bpe --vocab 280")
tokens=10
one_each() { sed 's/�\+/�/g; s/ *$//'; } # of a character that is cut, one or several
for kind in "${kinds[@]}"; do
  # shellcheck disable=SC2086
  expect 0 "Saved in ${kind#--}" -- "$train" --text "rose red.txt" "${small[@]}" $kind --steps 60 --save "${kind#--}"
  bits 'this model' >>own_bits
  expect 0 "new tokens" -- "$generate" --model "${kind#--}" "Ich don" --max-tokens $tokens --temperature 0
  sed '/prompt tokens/,$d' "$output" | tr '\n' ' ' | one_each | sed 's/$/\n/' >>own_text
done
if /usr/bin/python3 -c 'import torch' 2>/dev/null; then
  expect 0 -- /usr/bin/python3 "$course/tools/tests/train_torch.py" "rose red.txt" "Ich don" $tokens "${kinds[@]#--}"
  sed -n 's/^bits //p' "$output" >torch_bits
  holds "PyTorch has the same bits per character" [ "$(paste own_bits torch_bits |
    awk '{ d = $1 - $2 } d < 0.0011 && d > -0.0011' | wc -l)" = ${#kinds[@]} ]
  holds "PyTorch writes the same" diff <(sed -n 's/^text //p' "$output" | one_each) own_text
fi

# the fast kernels
expect 0 "step 10 of 10" "Saved in quick" -- "$fast" --fast --text "rose red.txt" "${small[@]}" --steps 10 --save quick
bits=$(bits 'this model')
expect 0 "Saved in slow" -- "$train" --text "rose red.txt" "${small[@]}" --steps 10 --save slow
holds "they learn the same" awk "BEGIN { d = $(bits 'this model') - $bits; exit !(d < 0.002 && d > -0.002) }"
"$fast" --fast --text "rose red.txt" "${small[@]}" --steps 500 --save quick_whole >/dev/null
stop_at_a_step "$fast" --fast --text "rose red.txt" "${small[@]}" --steps 500 --save quick_part
holds "it says that it is --fast" grep -q "To go on: ./learn train --fast --resume quick_part" stopped.txt
expect 2 "was begun with --fast" -- "$train" --resume quick_part
"$fast" --fast --resume quick_part >/dev/null 2>&1 || true
holds "they go on bit for bit" cmp -s quick_whole/training.safetensors quick_part/training.safetensors

# values that mean nothing
for option in --text=nowhere --text=. --width=0 --width=many --layers=0 --heads=0 --context=1 --batch=0 --rate=-1 --vocab=9 \
  --tokens=words --architecture=rnn --kv-heads=3 --heads=3; do
  expect 2 "${option%%=*}" "!A model like" -- "$train" --text "rose red.txt" "$option"
done
expect 2 "too short" "--context" "!A model like" -- "$train" --text "rose red.txt" --context 4000

finish
