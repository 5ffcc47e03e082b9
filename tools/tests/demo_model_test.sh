#!/usr/bin/env bash
# The demonstrations in which models/small runs what a lesson asks for, as authors build them (with the reference).
#
#   demo_model_test.sh COURSE DEMO_16 DEMO_17 DEMO_18 DEMO_19
set -euo pipefail
course=$1
# shellcheck source=tools/tests/expect.sh
. "$course/tools/tests/expect.sh"

export LC_ALL=C.UTF-8 OPENBLAS_NUM_THREADS=1
sentence="It is a truth universally acknowledged, that whatever the advantage of a girl can be so interesting."

# 13 tokens and 60 new ones, of which the last is not read: 13 + 59, or 13 + 14 + ... + 72
expect 0 "With your cache" "$sentence" "72 tokens went" "2550 tokens went" "Both texts are the same" -- "$2"
expect 0 "She is" "Both texts are the same" -- "$2" "She is"
expect 0 "$sentence" "no sinks" "4 sinks" "perplexity 13.9" "perplexity 17.1" "perplexity 16.8" "perplexity 16.7" -- "$3"
expect 0 "$sentence" "One key at a time" "8 keys at a time" "All keys at once" "All three texts are the same" -- "$4"
expect 0 "$sentence" "Both texts are the same" "5.2 MB moved untiled, 2.6 MB in tiles" -- "$5"
expect 1 "prompt" -- "$5" ""

finish
