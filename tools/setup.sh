# shellcheck shell=sh
# What this machine lacks, and installing it. Sourced, in the course's folder, by ./learn, bench/run, .ci/run and the
# Dockerfile. Exit code 2: something is missing that could not be installed; the line to run is printed.

assume_yes=no # yes: install without asking
container="docker compose run --rm learn"

say() { printf '%s\n' "$*" >&2; }

# macOS, Windows and others get a line that works instead of errors of the compiler.
require_linux() {
  system=$(uname -s)
  [ "$system" = Linux ] && return
  case "$system" in
    Darwin) system=macOS ;;
    MINGW* | MSYS* | CYGWIN*) system=Windows ;;
  esac
  say "The course runs on Linux; this is $system. With Docker (or Podman), this line starts it in a container:"
  say "  $container"
  [ "$system" != Windows ] || say "It also runs in WSL with Debian or Ubuntu 24.04."
  exit 2
}

# is_there NAME FOUND_BY   as packages.txt has them
is_there() {
  case $2 in
    c++) command -v c++ || command -v "${CXX:-g++}" ;;
    dpkg) dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep 'ok installed' ;;
    "<"*) # one of these headers
      compiler=$(command -v "${CXX:-c++}" || command -v g++) || return
      printf '#if !(%s)\n#error\n#endif\n' "$(echo "$2" | sed 's/<[^>]*>/__has_include(&)/g; s/|/ || /g')" |
        "$compiler" -std=c++17 -E -x c++ -
      ;;
    *) command -v "$2" ;;
  esac >/dev/null 2>&1
}

# missing_packages [PURPOSE...]   Debian's names of what is needed by all, and for these purposes in packages.txt
missing_packages() {
  awk -v purposes=" all $* " '
    !/^#/ { count = split($5, its, ","); for (i = 1; i <= count; i++) if (index(purposes, " " its[i] " ")) { print $1, $4; next } }
  ' tools/packages.txt | while read -r name found_by; do
    is_there "$name" "$found_by" </dev/null || echo "$name"
  done
}

# named COLUMN NAME...   what another system calls these packages: column 2 of packages.txt is Fedora, 3 Arch
named() {
  column=$1
  shift
  printf '%s\n' "$@" | awk -v column="$column" '
    NR == FNR { name[$1] = $column; next }
    { its = $1 in name ? name[$1] : $1; if (!seen[its]++) printf "%s%s", gap, its; gap = " " }' tools/packages.txt -
}

# The message where packages are missing and this is not Debian or Ubuntu.
advise_another_system() {
  line=
  if command -v dnf >/dev/null 2>&1; then
    line="dnf install $(named 2 "$@")"
  elif command -v pacman >/dev/null 2>&1; then
    line="pacman -S --needed $(named 3 "$@")"
  fi
  if [ -n "$line" ]; then
    say "Packages are missing. Run this line, then ./learn again:"
    say "  sudo $line"
    say "The course is tested on Debian and Ubuntu only. If it does not build here, it runs in a container:"
  else
    say "These packages are missing (Debian's names): $*"
    say "This is not Debian or Ubuntu. With Docker (or Podman), this line starts the course in a container:"
  fi
  say "  $container"
}

# allow_sudo NAME...   ends here unless sudo may be used to install these packages
allow_sudo() {
  if ! command -v sudo >/dev/null 2>&1; then
    say "These packages are missing: $*"
    say "As root, run: $line"
    exit 2
  fi
  sudo=sudo
  [ -t 0 ] || sudo="sudo -n" # nobody is there to type a password
  [ "$assume_yes" = no ] || return 0
  if [ ! -t 0 ]; then
    say "These packages are missing: $*"
    say "Run: sudo $line"
    say "(or ./learn --yes, to let it be run for you)"
    exit 2
  fi
  printf 'These packages are missing: %s\nInstall them now with sudo? [Y/n] ' "$*" >&2
  read -r answer || answer=n
  case "$answer" in
    "" | y | Y | yes | Yes) ;;
    *)
      say "Nothing was installed. When you like, run: sudo $line"
      exit 2
      ;;
  esac
}

# install_packages NAME...   Debian's names; as root, or with sudo after asking once
install_packages() {
  if ! command -v apt-get >/dev/null 2>&1; then
    advise_another_system "$@"
    exit 2
  fi
  line="apt-get install --no-install-recommends $*"
  sudo=
  [ "$(id -u)" = 0 ] || allow_sudo "$@"
  say "Installing: $*"
  apt_log=$(mktemp 2>/dev/null || mktemp -p /tmp) # TMPDIR may be missing
  if ! { $sudo apt-get update && $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"; } \
    >"$apt_log" 2>&1 </dev/null; then
    tail -n 15 "$apt_log" >&2
    rm -f "$apt_log"
    say "The installation failed (above: the last lines of apt). Run: ${sudo:+sudo }$line"
    exit 2
  fi
  rm -f "$apt_log"
}

# require_packages [PURPOSE...]   installs what is missing
require_packages() {
  packages=$(missing_packages "$@" | tr '\n' ' ')
  # shellcheck disable=SC2086 # a list of words
  [ -z "${packages% }" ] || install_packages $packages
  version=$(cmake --version | sed -n 's/^cmake version \([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
  if [ "$(echo "$version" | awk '{ print ($1 > 3 || ($1 == 3 && $2 >= 25)) ? "ok" : "old" }')" = old ]; then
    say "CMake $(echo "$version" | tr ' ' .) is installed, but 3.25 or newer is needed. Debian 12 and Ubuntu 24.04 have it."
    say "Elsewhere, this line starts the course in a container, with Docker (or Podman):"
    say "  $container"
    exit 2
  fi
}
