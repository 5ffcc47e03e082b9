#!/usr/bin/env bash
# ./learn read --web: a chapter in the browser, where docs/site has built it, and what it says where it cannot.
#
#   read_web_test.sh COURSE LEARN       the course's folder, and the tool to drive
set -euo pipefail
course=$1
tool=$2
# shellcheck source=tools/tests/expect.sh
. "$course/tools/tests/expect.sh"

copy="$scratch/a course"
name=01_self_attention_v1
mkdir -p "$copy/docs" "$scratch/bin"
cp -r "$course/lessons" "$copy"
cp -r "$course/docs/site" "$course/docs/.vitepress" "$copy/docs"
unset BROWSER DISPLAY WAYLAND_DISPLAY SSH_CONNECTION

expect 2 "docs/site builds them" "In the terminal: ./learn read 01" -- "$tool" --root "$copy" read 01 --web

pages=$copy/build/site/pages
mkdir -p "$pages/lessons/$name"
echo "the page" >"$pages/lessons/$name/index.html"
node=$(command -v node || true)
printf '#!/bin/sh\necho "node got: $*"\n' >"$scratch/bin/node"
chmod +x "$scratch/bin/node"
export PATH=$scratch/bin:$PATH
expect 0 "node got: docs/.vitepress/serve.mjs . lessons/$name/" "!has changed" -- "$tool" --root "$copy" read 01 --web
touch -d 2020-01-01 "$pages/lessons/$name/index.html"
expect 0 "The chapter has changed since" "node got: " -- "$tool" --root "$copy" read 01 --web
if [ -z "$node" ]; then
  finish
  exit
fi
ln -sf "$node" "$scratch/bin/node"

# open_page PAGE [TEXT]   serves it beside us until the end, once it has printed the text into $scratch/log
servers=()
trap 'kill "${servers[@]}" || true; rm -rf "$scratch"' EXIT
open_page() {
  "$copy/docs/site" open "$1" >"$scratch/log" 2>&1 &
  servers+=($!)
  for _ in $(seq 100); do
    grep -qE "${2:-Ctrl-C}" "$scratch/log" && break
    sleep 0.1
  done
}
fetch() { "$node" -e 'fetch(process.argv[1]).then(async (r) => console.log(r.status, await r.text()))' "$1"; }
address() { sed -n 's/ .*//; /^http/p' "$scratch/log"; }

open_page "lessons/$name/" "open this address"
expect 0 "/lessons/$name/ " "There is no browser here: open this address yourself." "!ssh" -- cat "$scratch/log"
expect 0 "200 the page" -- fetch "$(address)"
expect 0 "404" "!the page" -- fetch "$(address)no_such_page"
expect 0 "404" -- fetch "$(address)..%2f..%2f..%2f..%2f..%2fdocs%2f.vitepress%2fconfig.mjs"
expect 0 "404" -- fetch "$(address)%"
ln -s "$copy/docs/site" "$pages/lessons/$name/link.txt" && mkdir "$pages/lessons/$name/v1.5"
expect 0 "404" -- fetch "$(address)link.txt"
expect 0 "404" -- fetch "$(address)v1.5"
expect 0 "200 the page" -- fetch "$(address)"

export SSH_CONNECTION="10.0.0.1 1 10.0.0.2 22" BROWSER="echo >'$scratch/opened'"
open_page "lessons/$name/" # while the first one has the usual port
expect 0 "200 the page" -- fetch "$(address)"
for _ in $(seq 100); do [ ! -s "$scratch/opened" ] || break && sleep 0.1; done
expect 0 "$(address)" -- cat "$scratch/opened"
expect 0 "!There is no browser" -- cat "$scratch/log"

unset BROWSER
open_page "lessons/$name/" "ssh -N"
expect 0 "ssh -N -L " " HOST" -- cat "$scratch/log"

export BROWSER=false
open_page "lessons/$name/" "did not start"
expect 0 "The browser did not start: open this address yourself." -- cat "$scratch/log"

finish
