#!/bin/sh
# Keeps a copy of all sources in a learner's folder, for the build. The copy is written again only when a source differs
# from it, and what is compiled from the folder depends on the copy.
#
#   copy_text.sh FOLDER COPY
set -u
copy=$2

sources() { # each after its name
  cd "$1" 2>/dev/null || return 0
  for file in *.cpp *.hpp *.h; do
    [ -f "$file" ] || continue
    printf '%s\n' "$file"
    cat -- "$file"
  done
}

sources "$1" | cmp -s - "$copy" || sources "$1" >"$copy"
