#!/usr/bin/env bash
# ./learn on machines that lack something, with stand-ins for apt-get, sudo and id: it says the exact line to run.
#
#   launcher_test.sh COURSE
set -euo pipefail
course=$1
# shellcheck source=tools/tests/expect.sh
. "$course/tools/tests/expect.sh"

mkdir -p "$scratch/course/tools" "$scratch/bare"
cp "$course/learn" "$scratch/course"
cp "$course/tools/setup.sh" "$course/tools/packages.txt" "$scratch/course/tools"
for tool in sh dirname cat grep sed awk tr mkdir mv rm rmdir mktemp tail head env uname flock; do ln -s "$(command -v $tool)" "$scratch/bare/$tool"; done

# machine NAME [TOOL=SCRIPT]...   a PATH with the bare tools and these stand-ins
machine() {
  local folder="$scratch/$1" stand_in
  shift
  mkdir "$folder"
  for stand_in in "$@"; do
    printf '#!/bin/sh\n%s\n' "${stand_in#*=}" >"$folder/${stand_in%%=*}"
    chmod +x "$folder/${stand_in%%=*}"
  done
}
on() { PATH="$scratch/$1:$scratch/bare" "$scratch/course/learn" "${@:2}"; }

all=$(awk '$5 == "all" { printf "%s%s", gap, $1; gap = " " }' "$course/tools/packages.txt")
note="echo apt-get \"\$@\" >>'$scratch/apt.log'"
user='id=echo 1000'
root='id=echo 0'

container="docker compose run --rm learn"

# not Linux: the container, before anything else
machine mac 'uname=echo Darwin'
expect 2 "The course runs on Linux; this is macOS." "$container" "!WSL" "!missing" -- on mac
machine windows 'uname=echo MINGW64_NT-10.0-19045'
expect 2 "this is Windows." "$container" "WSL" -- on windows --yes verify
expect 1 -- test -e "$scratch/course/build"

# Linux without apt: the names of the packages there, or the container
machine no-apt "$root"
expect 2 "$all" "!libvterm-dev" "This is not Debian or Ubuntu" "$container" -- on no-apt
expect 2 "$all libvterm-dev" "This is not Debian or Ubuntu" -- on no-apt verify
expect 2 "$all libvterm-dev" "This is not Debian or Ubuntu" -- on no-apt --yes verify
machine fedora "$user" 'dnf=:'
expect 2 "sudo dnf install gcc-c++ cmake ninja-build armadillo-devel openblas-devel gtest-devel gmock-devel cli11-devel json-devel pcre2-devel utf8proc-devel" \
  "!libvterm" "!-dev " "$container" -- on fedora
expect 2 "utf8proc-devel libvterm-devel" -- on fedora verify
machine arch "$user" 'pacman=:'
expect 2 "sudo pacman -S --needed gcc cmake ninja armadillo openblas gtest cli11 nlohmann-json pcre2 libutf8proc" "!gtest gtest" -- on arch

machine user-no-sudo "$user" "apt-get=$note"
expect 2 "As root, run: apt-get install --no-install-recommends $all" -- on user-no-sudo

# nobody to ask: the line, and nothing done
# shellcheck disable=SC2016 # the stand-in's own arguments
machine user-sudo "$user" "apt-get=$note; exit 1" 'sudo=[ "$1" = -n ] && shift; exec "$@"'
expect 2 "Run: sudo apt-get install --no-install-recommends $all" "./learn --yes" -- on user-sudo
expect 1 -- test -e "$scratch/apt.log"

# --yes: apt is called; and when it fails, the line is said
expect 2 "The installation failed" "Run: sudo apt-get install" -- on user-sudo --yes
expect 0 "apt-get update" -- cat "$scratch/apt.log"

# root: no question
rm -f "$scratch/apt.log"
machine root "$root" "apt-get=$note"
expect 2 "Installing: $all" -- on root
expect 0 "apt-get install -y --no-install-recommends $all" -- cat "$scratch/apt.log"

# a compiler is asked which headers it finds; the terminal emulator is for authors only
compiler="exec $(type -P "${CXX:-c++}") -nostdinc '-I$scratch/headers' \"\$@\""
headers=(armadillo openblas_config.h gtest/gtest.h gmock/gmock.h CLI/CLI.hpp nlohmann/json.hpp pcre2.h utf8proc.h)
mkdir -p "$scratch/headers"
machine compiler "$user" "apt-get=$note" "c++=$compiler" "g++=$compiler" 'cmake=echo cmake version 3.25.1' \
  "ninja=$(type -P ln) -sf $(type -P echo) \"\$2/\$3\"" less=: lowdown=: # ninja: a program that repeats its arguments
expect 2 "missing: ${all#g++ cmake ninja-build }" "!libvterm-dev" -- on compiler
expect 2 "missing: ${all#g++ cmake ninja-build } libvterm-dev" -- on compiler verify
for header in "${headers[@]}"; do install -D -m 644 /dev/null "$scratch/headers/$header"; done
expect 2 "missing: libvterm-dev" -- on compiler verify
expect 0 "hint 01" "!missing" -- on compiler hint 01
install -m 644 /dev/null "$scratch/headers/vterm.h"
expect 0 "verify" "!missing" -- on compiler verify

# a path that CMake cannot work in is named before anything is done there; others are fine
for odd in 'a[b' 'a]b' 'a"b' 'a#b' 'a;b' 'a\b' $'a\nb'; do
  cp -r "$scratch/course" "$scratch/$odd"
  rm -rf "$scratch/$odd/build"
  PATH=$scratch/no-apt:$scratch/bare expect 2 "CMake cannot work in a folder of this name: " "may not have any of" "!missing" \
    -- "$scratch/$odd/learn"
  expect 1 -- test -e "$scratch/$odd/build"
done
# shellcheck disable=SC2016 # a dollar sign is meant
for fine in "a b" "a'b" "a注b" 'a$b'; do
  cp -r "$scratch/course" "$scratch/$fine"
  PATH=$scratch/no-apt:$scratch/bare expect 2 "missing" "!CMake cannot" -- "$scratch/$fine/learn"
done

# a course that belongs to somebody else
cp -r "$scratch/course" "$scratch/closed"
rm -rf "$scratch/closed/build"
ln -s /proc "$scratch/closed/build" # where not even root may make a folder
expect 2 "closed/build/dev cannot be written to: copy the course" "!cannot create" -- "$scratch/closed/learn" list

# an old CMake
machine old-cmake "$root" "apt-get=$note" 'cmake=echo cmake version 3.22.1' 'ninja=:' 'c++=:' 'g++=:'
expect 2 "CMake 3.22 is installed, but 3.25 or newer is needed" "$container" -- on old-cmake

# one at a time: another ./learn is named only where there is one
expect 0 "list" "!another ./learn" -- on compiler list
flock "$scratch/course/build/dev/tool.lock" sleep 2 &
sleep 0.2
expect 0 "list" "Waiting for another ./learn, which is building the tool" -- on compiler list

# a folder where a file belongs: an empty one is removed, and what is in another one stays
dev=$scratch/course/build/dev
rm -rf "$dev/learn" "$dev/tool.lock"
mkdir "$dev/learn" "$dev/tool.lock"
touch "$dev/learn/mine"
expect 0 "list" -- on compiler list
holds "what was in a folder with the program's name is moved aside" [ -f "$dev"/learn.moved-aside-*/learn/mine ]
holds "an empty one is removed" [ -f "$dev/tool.lock" ]

# nothing of it goes on when it is killed (the reporter waits a tenth of a second instead of ten)
machine slow "$root" "c++=$compiler" "g++=$compiler" 'cmake=echo cmake version 3.25.1' "sleep=exec $(type -P sleep) 0.1" \
  "ninja=exec $(type -P sleep) 5"
PATH="$scratch/slow:$scratch/bare" "$scratch/course/learn" list >"$scratch/log" 2>&1 &
for _ in $(seq 100); do
  if grep -qs "Building the tool" "$scratch/log"; then break; fi
  sleep 0.1
done
expect 0 "Building the tool" -- cat "$scratch/log"
kill -9 $!
wait $! 2>/dev/null || true
sleep 1
expect 1 -- pgrep -f "$scratch/course/learn"

# where TERM is ignored, the reporter ends with the building, too
printf '#!/bin/sh\nexec %s 4\n' "$(type -P sleep)" >"$scratch/lasting"
chmod +x "$scratch/lasting"
machine deaf "$root" "c++=$compiler" "g++=$compiler" 'cmake=echo cmake version 3.25.1' "sleep=exec $(type -P sleep) 2" \
  "ninja=$(type -P ln) -sf '$scratch/lasting' \"\$2/\$3\""
deaf() (
  trap '' TERM
  on deaf list
)
expect 0 "!Building the tool" -- deaf

finish
