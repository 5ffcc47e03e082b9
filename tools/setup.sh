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

# missing_packages PRESET   Debian's names; for authoring, also what only the tests of the course need
missing_packages() {
  command -v c++ >/dev/null 2>&1 || command -v "${CXX:-g++}" >/dev/null 2>&1 || echo g++
  command -v cmake >/dev/null 2>&1 || echo cmake
  command -v ninja >/dev/null 2>&1 || echo ninja-build
  compiler=$(command -v "${CXX:-c++}" || command -v g++ || true)
  if [ -z "$compiler" ]; then # no compiler to ask: apt skips what is there
    echo libarmadillo-dev libopenblas-dev libgtest-dev libgmock-dev libcli11-dev nlohmann-json3-dev
    [ "$1" != authoring ] || echo libvterm-dev
    return
  fi
  "$compiler" -std=c++17 -E -P "-DFOR_$1" -x c++ - 2>/dev/null <<'PROBE' | grep -E '^[a-z]' || true
#if !__has_include(<armadillo>)
libarmadillo-dev
#endif
#if !__has_include(<openblas_config.h>) && !__has_include(<openblas/openblas_config.h>)
libopenblas-dev
#endif
#if !__has_include(<gtest/gtest.h>)
libgtest-dev
#endif
#if !__has_include(<gmock/gmock.h>)
libgmock-dev
#endif
#if !__has_include(<CLI/CLI.hpp>)
libcli11-dev
#endif
#if !__has_include(<nlohmann/json.hpp>)
nlohmann-json3-dev
#endif
#if defined(FOR_authoring) && !__has_include(<vterm.h>)
libvterm-dev
#endif
PROBE
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

# install_packages NAME...   Debian's names; as root, or with sudo after asking once
install_packages() {
  if ! command -v apt-get >/dev/null 2>&1; then
    advise_another_system "$@"
    exit 2
  fi
  line="apt-get install --no-install-recommends $*"
  sudo=
  if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
      say "These packages are missing: $*"
      say "As root, run: $line"
      exit 2
    fi
    sudo=sudo
    if [ ! -t 0 ]; then
      sudo="sudo -n" # nobody is there to type a password
      if [ "$assume_yes" = no ]; then
        say "These packages are missing: $*"
        say "Run: sudo $line"
        say "(or ./learn --yes, to let it be run for you)"
        exit 2
      fi
    elif [ "$assume_yes" = no ]; then
      printf 'These packages are missing: %s\nInstall them now with sudo? [Y/n] ' "$*" >&2
      read -r answer || answer=n
      case "$answer" in
        "" | y | Y | yes | Yes) ;;
        *)
          say "Nothing was installed. When you like, run: sudo $line"
          exit 2
          ;;
      esac
    fi
  fi
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

# require_packages PRESET   installs what is missing
require_packages() {
  packages=$(missing_packages "$1" | tr '\n' ' ')
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
