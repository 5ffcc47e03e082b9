# Sourced by the shell tests of the course: runs a command, and says what was expected of it.
# shellcheck shell=bash

failures=0
checked=0
scratch=$(mktemp -d) # for the test to use; gone at its end
output=$scratch/output
trap 'rm -rf "$scratch"' EXIT

# expect EXIT_CODE TEXT... -- COMMAND...   the command ends with the code, and prints each of the texts ("!text": does not)
expect() {
  local code=$1 texts=() ended=0 text
  shift
  while [ "$1" != "--" ]; do
    texts+=("$1")
    shift
  done
  shift
  "$@" >"$output" 2>&1 </dev/null || ended=$?
  checked=$((checked + 1))
  local wrong=""
  [ "$ended" = "$code" ] || wrong="exit code $ended, expected $code"
  for text in "${texts[@]}"; do
    if [ "${text#!}" != "$text" ]; then
      if grep -qF -- "${text#!}" "$output"; then wrong="$wrong; it should not print: ${text#!}"; fi
    elif ! grep -qF -- "$text" "$output"; then
      wrong="$wrong; it does not print: $text"
    fi
  done
  if [ -n "$wrong" ]; then
    failures=$((failures + 1))
    printf 'FAILED: %s\n  %s\n  it printed:\n' "$*" "$wrong"
    sed 's/^/    /' "$output"
  fi
}

# holds WHAT COMMAND...   the command ends well
holds() {
  local what=$1
  shift
  checked=$((checked + 1))
  "$@" && return
  failures=$((failures + 1))
  printf 'FAILED: %s\n' "$what"
}

# interrupted PATTERN COMMAND...   Ctrl-C, half a second after a line of what it prints fits the pattern, ends the command with
# exit code 130. What it printed is in $output.
interrupted() {
  local pattern=$1 program ended=0
  shift
  : >"$output"
  "$@" >"$output" 2>&1 </dev/null &
  program=$!
  for _ in $(seq 300); do
    ! grep -q "$pattern" "$output" || break
    sleep 0.1
  done
  sleep 0.5
  kill -INT "$program"
  wait "$program" || ended=$?
  holds "Ctrl-C ends $1 with exit code 130, not $ended" [ "$ended" = 130 ]
}

finish() {
  printf '%d passed, %d failed\n' "$((checked - failures))" "$failures"
  [ "$failures" = 0 ]
}
