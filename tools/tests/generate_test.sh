#!/usr/bin/env bash
# ./learn generate on the built copy of the course: with the learner's parts where they pass, and the reference's elsewhere.
#
#   generate_test.sh COURSE LEARN COPY       the course's folder, the tool to drive, and the copy
set -euo pipefail
course=$1
tool=$2
copy=$3
# shellcheck source=tools/tests/expect.sh
. "$course/tools/tests/expect.sh"

"$course/tools/tests/restore_copy.sh" "$course" "$copy"
cd "$copy"
export OPENBLAS_NUM_THREADS=1
rm -f build/dev/own_lessons_generate.txt
lesson=lessons/21_decoder_attention
learn() { "$tool" --root "$copy" "$@"; }
write() { learn generate "It is" --seed 7 --max-tokens 15; }
text() { sed -n '/^It is/,/ prompt token/p' "$output" | sed '$d'; }
own_parts() { paste -sd, build/dev/own_lessons_generate.txt; }

# nothing is written yet: the text is the reference's
expect 0 "0 of 10 parts are yours; ./learn 00 is next. ./learn generate --help lists them all" "It is" "15 new tokens" -- write
text >"$scratch/reference"
holds "a text came out" [ -s "$scratch/reference" ]
holds "no lesson was judged for it" [ ! -e .learn/state.json ]

# lesson 21 as it should be: it takes part, and the text stays
cp solutions/21_decoder_attention/*.cpp "$lesson/"
sed -i 's#^arma::cube DecoderAttention::extend(.*#&\n  arma::get_cerr_stream() << "[mine]";#' "$lesson/decoder_attention.cpp"
expect 0 "1 of 10 parts are yours: 21; ./learn 00 is next." "[mine]" -- write
cp solutions/21_decoder_attention/*.cpp "$lesson/"
expect 0 "1 of 10 parts are yours: 21; ./learn 00 is next." "![mine]" -- write
text >"$scratch/own"
holds "the text is the same" cmp -s "$scratch/reference" "$scratch/own"
holds "its files are linked" [ "$(own_parts)" = 21 ]
judged() { grep -A 12 '"21_decoder_attention": {' .learn/state.json | sed -n 's/.*"checks": \([0-9]*\).*/\1/p'; }
before=$(judged)
expect 0 "1 of 10 parts are yours: 21;" -- write
holds "what is known is not judged again" [ "$(judged)" = "$before" ]
expect 0 "All of it is the reference's." "It is" "!are yours" -- learn generate "It is" --max-tokens 2 --reference
expect 0 "> now" "  00 " -- learn list # the lesson that the learner is at stays

# what is wrong with the options is said before anything is built
touch "$scratch/there.svg"
for wrong in "--attention --svg $scratch/there.svg" "--attention --svg $scratch/nowhere/map.svg" "--model nowhere" "--top-p 2" "--no-such"; do
  # shellcheck disable=SC2086 # several words
  expect 2 "!parts are yours" "!Building" -- learn generate $wrong
done
expect 0 "Its parts are lessons 00, 03" -- learn generate --help

# a mistake, and a file that does not compile: the reference takes its place, and both are judged once
sed -i 's#std::sqrt(static_cast<double>(Q.n_cols))#2.0#' "$lesson/decoder_attention.cpp"
expect 0 "21 decoder_attention is the reference's, as yours does not pass its checks" "0 of 10 parts are yours" -- write
holds "its files are not linked" [ -z "$(own_parts)" ]
before=$(judged)
expect 0 "does not pass its checks" -- write
holds "a failure is not judged again" [ "$(judged)" = "$before" ]
echo 'int broken = ;' >>"$lesson/decoder_attention.cpp"
expect 0 "21 decoder_attention is the reference's, as yours does not pass its checks" "!error:" -- write

# two lessons that pass, and cannot be linked together
cp solutions/21_decoder_attention/*.cpp "$lesson/"
cp solutions/00_warm_up/*.cpp lessons/00_warm_up/
for file in "$lesson/decoder_mask.cpp" lessons/00_warm_up/linear.cpp; do
  echo 'namespace attn { int helper() { return 1; } }' >>"$file"
done
expect 0 "1 of 10 parts are yours: 00;" "21 decoder_attention is the reference's, as yours passes, but defines a name" -- write

# the demonstrations of single lessons: the learner's files, as far as they are written
expect 1 "TODO(16.1) is not written yet" "./learn demo 16 --reference" -- learn demo 16
cp solutions/16_kv_cache/*.cpp lessons/16_kv_cache/
sed -i 's#^void KVCache::make_room(.*#&\n  arma::get_cerr_stream() << "[mine]";#' lessons/16_kv_cache/kv_cache.cpp
cp tests/16_kv_cache/stub/decode_cost.cpp lessons/16_kv_cache/ # 16.7 is not written
expect 0 "With your cache" "[mine]" "Both texts are the same" -- learn demo 16
sed -i 's#keys_.resize(#keys_.zeros(#' lessons/16_kv_cache/kv_cache.cpp
expect 0 "The two texts differ: ./learn check 16" -- learn demo 16
expect 1 "TODO(19." "./learn demo 19 --reference" -- learn demo 19

# maps, and what is asked wrongly
expect 0 "layer 1, head 0" "Jane Austen" "What to look for" -- learn demo 10 --trained "the cat saw the other cat" --layer 1
expect 2 "has no trained demonstration" -- learn demo 03 --trained
expect 2 "--svg requires --trained" -- learn demo 10 --svg map.svg
expect 2 "--temperature" "./learn generate --help" -- learn generate --temperature -1
expect 2 "layer is 77" -- learn generate --attention 77.0
# the words reach the program as they were typed; --plain is the tool's, unless it is a word of the prompt
expect 0 "--plain is -1" "2 new tokens" -- learn generate --plain --reference --max-tokens 2 -- "--plain is" "-1"
expect 2 "Did you mean: ./learn generate" -- learn genrate
expect 0 "--max-tokens" "--attention" "--model" -- learn generate --help
expect 0 "generate" -- learn --help

# Ctrl-C reaches the program through the tool
cp -r models/small "$scratch/endless"
sed -i 's/"eos_token_id"/"no_such_field"/' "$scratch"/endless/*config.json
learn_in_place() { exec "$tool" --root "$copy" "$@"; }
interrupted "^It is" learn_in_place generate --model "$scratch/endless" "It is" --max-tokens 1000000 --top-p 1
holds "and the last line comes" grep -q "new tokens at .* (interrupted)" "$output"

finish
