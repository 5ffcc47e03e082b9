#!/usr/bin/env bash
# ./learn train on the built copy of the course: with the learner's parts where they pass, and the reference's elsewhere.
#
#   train_test.sh COURSE LEARN COPY       the course's folder, the tool to drive, and the copy
set -euo pipefail
course=$1
tool=$2
copy=$3
# shellcheck source=tools/tests/expect.sh
. "$course/tools/tests/expect.sh"

"$course/tools/tests/restore_copy.sh" "$course" "$copy"
cd "$copy"
export OPENBLAS_NUM_THREADS=1
rm -rf build/dev/own_lessons_train.txt models/trained
lesson=lessons/27_training
learn() { "$tool" --root "$copy" "$@"; }
train() { rm -rf models/trained/reverse* && learn train --steps 3; }
text() { sed -n '/^For example/,$p' "$output" | sed '/tokens per second/d'; }
own_parts() { paste -sd, build/dev/own_lessons_train.txt; }

# nothing is written yet: the reference learns
expect 0 "0 of 15 parts are yours; ./learn 00 is next. ./learn train --help lists them all" "./learn train --break" "step 3 of 3" "What to look for" -- train
text >"$scratch/reference"
holds "no lesson was judged for it" [ ! -e .learn/state.json ]

# lesson 27 as it should be: it takes part, and the numbers stay
changed() { # LINE   the reference's files, with a line in each step
  cp solutions/27_training/*.cpp "$lesson/"
  sed -i "s#^  LossAndGradients result = .*#&\n  $1#" "$lesson/training.cpp"
}
changed 'arma::get_cerr_stream() << "[mine]";'
expect 0 "1 of 15 parts are yours: 27; ./learn 00 is next." "[mine]" -- train
holds "its files are linked" [ "$(own_parts)" = 27 ]
text | sed 's/\[mine\]//g' >"$scratch/own"
holds "the numbers are the same" cmp -s "$scratch/reference" "$scratch/own"
expect 0 "All of it is the reference's." "step 3 of 3" "!are yours" "![mine]" "Saved in models/trained/reverse-2" -- learn train --steps 3 --reference

# its checks pass, but here it throws, its loss is not a number, or it crashes
here='if (state.t == 1 \&\& model.config().max_position == 20)'
changed "$here throw std::runtime_error(\"no second step\");"
expect 1 "1 of 15 parts are yours: 27;" "The training threw an error: no second step" "./learn train --reference" \
  "!What to look for" -- train
changed "$here result.loss = arma::datum::nan;"
expect 1 "1 of 15 parts are yours: 27;" "The loss is nan at step 2" "./learn train --reference" "!What to look for" -- train

changed "$here std::abort();"
expect 134 "1 of 15 parts are yours: 27;" "The training crashed." "./learn train --reference" -- train
expect 2 "holds a training that is not finished, 1 of 3" "--resume" -- learn train --steps 3
rm -r models/trained

# a mistake: the reference takes its place
cp solutions/27_training/*.cpp "$lesson/"
sed -i 's#std::pow(beta1, t)#std::pow(beta1, t + 1)#' "$lesson/adamw.cpp"
expect 0 "27 training is the reference's, as yours does not pass its checks" "0 of 15 parts are yours" -- train
holds "its files are not linked" [ -z "$(own_parts)" ]
text >"$scratch/own"
holds "the numbers are the reference's" cmp -s "$scratch/reference" "$scratch/own"

# --break: the tool lists the mistakes and refuses other names; nothing is built
expect 0 "row-sum " "27.ascent" "mine " "!reference's" "!uilding" -- learn train --break
expect 2 "--break is 27.no_such, " "!uilding" -- learn train --break 27.no_such
touch "$scratch/there.svg"
for wrong in "--break xx" "--resume nowhere" "--text nowhere.txt" "--steps many" "--svg $scratch/there.svg" "--no-such"; do
  # shellcheck disable=SC2086 # several words
  expect 2 "!parts are yours" "!uilding" -- learn train $wrong
done
expect 0 "Its parts are lessons 00, 03" -- learn train --help

# --break mine: what is written trains beside the reference, whatever its checks say
"$course/tools/tests/restore_copy.sh" "$course" "$copy"
mine() { learn train --break mine --steps 4; }
expect 2 "nothing is written there yet: ./learn 24" -- mine
cp solutions/27_training/*.cpp "$lesson/"
expect 0 "One training runs your files of 27 training" "step 4 of 4: loss " " (the reference), " " (yours" "× yours" \
  "Yours learns as the reference does: all losses are the same." -- mine
sed -i 's#std::pow(beta1, t)#std::pow(beta1, t + 1)#' "$lesson/adamw.cpp"
expect 0 "Yours is not right: its loss differs from the reference's from step 2 on." "./learn check 24" -- mine
changed 'if (state.t == 1) throw std::runtime_error("no second step");'
expect 0 "after 1 step it threw an error: no second step" "Yours did not come to its end." -- mine
changed 'if (state.t == 1) std::abort();'
expect 0 "after 1 step it crashed (Aborted)" -- mine
changed 'if (state.t == 1) result.loss = arma::datum::nan;'
expect 0 "its loss is not a number from step 2 on" "Yours is not right" -- mine
echo 'int broken = "text";' >>"$lesson/training.cpp"
expect 2 "error" "Your files of 27 training do not build" "!For example" -- mine
"$course/tools/tests/restore_copy.sh" "$course" "$copy"

# a text, and then on with it: by lessons 10 and 23, too
for i in $(seq 99); do echo "line $i of a text that is learned"; done >"$scratch/poem.txt"
tiny="--width 8 --layers 1 --heads 2 --context 8 --batch 2 --steps 4"
# shellcheck disable=SC2086
expect 0 "of 15 parts are yours" "A model like Llama" "step 4 of 4" "a trigram model" "Saved in models/trained/poem" \
  -- learn train --text "$scratch/poem.txt" $tiny
expect 0 "line" "new token" -- learn generate "line" --model models/trained/poem --max-tokens 5 --reference
expect 2 "the training is finished" -- learn train --resume
# shellcheck disable=SC2086
expect 0 "The fast kernels make the steps" "!parts are yours" "step 4 of 4" "Saved in models/trained/fast" \
  -- learn train --fast --text "$scratch/poem.txt" $tiny --save models/trained/fast
rm -r models/trained

# what is asked wrongly
expect 2 "is a folder" "!reference" -- learn train --text .
expect 2 "divisor of --width" "!reference" -- learn train --text README.md --heads 7
expect 2 "--task" "./learn train --help" -- learn train --task add
expect 2 "--steps" "./learn train --help" -- learn train --steps 0
expect 2 "Did you mean: ./learn train" -- learn trian
expect 0 "--task" "reverse" "--svg" -- learn train --help
expect 0 "train" -- learn --help

# Ctrl-C reaches the program through the tool
learn_in_place() { exec "$tool" --root "$copy" "$@"; }
interrupted "ln 11" learn_in_place train --reference --steps 100000
holds "and what there is, is shown" grep -q "What to look for" "$output"

finish
