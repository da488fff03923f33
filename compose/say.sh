# shellcheck shell=bash disable=SC2154
# What the scripts of this folder share: sourced, with `part` set to the name that they speak under.
say() { printf '[%s] %s\n' "$part" "$*" >&2; }
die() { printf '[%s] error: %s\n' "$part" "$*" >&2; exit 2; }

# The old JREs are built for x86-64 only, and all images share their bases.
case $(uname -m) in x86_64 | amd64) ;; *) export DOCKER_DEFAULT_PLATFORM=linux/amd64 ;; esac
# macOS's tar adds files of its own.
export COPYFILE_DISABLE=1

# Whoever runs this: where it has no name, as in a container, id says the number and fails.
me() { id -un 2>/dev/null || :; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

require_root() {
  [ "$(id -u)" = 0 ] || command -v sudo >/dev/null 2>&1 || die "$1 needs root or sudo; ask an administrator, then run this again"
}

# apt_install WAY_OUT PACKAGE...: installs Debian's packages, and dies with the way out where that fails.
apt_install() {
  local way_out=$1 log install=(as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends)
  shift
  log=$(mktemp)
  if ! { "${install[@]}" "$@" || { as_root apt-get update -q && "${install[@]}" "$@"; }; } >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    die "apt-get could not install $*; the whole log is $log; $way_out"
  fi
  rm -f "$log"
}

# wait_saying PROCESS WHAT: waits for a process in the background, saying every 15 s what goes on; its exit code.
wait_saying() {
  local waited=0
  while kill -0 "$1" 2>/dev/null; do
    sleep 1
    waited=$((waited + 1))
    [ $((waited % 15)) != 0 ] || say "… $2: $waited s"
  done
  wait "$1"
}

# A path as the caller means it, from `here`, where he stood.
from_here() { case $1 in /*) echo "$1" ;; *) echo "$here/$1" ;; esac; }

# A case is named by its number or by its lab.
lab_of() {
  local found
  if found=$(grep -lE "^case = $1\$" labs/*/lab.toml); then basename "$(dirname "$found")"; else echo "$1"; fi
}

hash_of() { cat "$@" | { sha256sum 2>/dev/null || shasum -a 256; } | cut -c1-12; }
