#!/usr/bin/env bash
# Makes the files of a copy what they are in the course: what a test changed, added or removed is put back, and progress
# is forgotten. The copy's build stays. Every test that works on the copy begins with this.
#
#   restore_copy.sh COURSE COPY
#
# A file that is the same keeps its modification time, so that nothing is built for it; one that is put back gets a new
# one, since what was built from it is older than it should be.
set -euo pipefail
course=$1
copy=$2
export LC_ALL=C
[ ! -e "$copy/.git" ] || { echo "COPY is somebody's clone: expected a copy" >&2 && exit 2; }

files() { # FOLDER   all but what is built, and what belongs to one machine or person
  (cd "$1" && find . \( -path ./build -o -path ./.git -o -path ./.learn -o -path ./.cache -o -path ./compile_commands.json \
    -o -path ./CMakeUserPresets.json -o -name __pycache__ \) -prune -o -type f -print | sort)
}

mkdir -p "$copy"
rm -rf "$copy/.learn"
comm -13 <(files "$course") <(files "$copy") | while IFS= read -r file; do
  (cd "$copy" && rm -- "$file" && { rmdir -p -- "${file%/*}" 2>/dev/null || true; }) # and the folders it leaves empty
done
sums() { files "$1" | (cd "$1" && xargs -d '\n' -r sha1sum); } # one process for all files: every test waits for this
comm -23 <(sums "$course" | sort) <(sums "$copy" | sort) | cut -c 43- |
  (cd "$course" && xargs -d '\n' -r cp --parents --preserve=mode -t "$copy")
