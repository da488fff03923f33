# shellcheck shell=bash disable=SC2154
# What the scripts of this folder share: sourced, with `part` set to the name that they speak under.
say() { printf '[%s] %s\n' "$part" "$*" >&2; }
die() { printf '[%s] error: %s\n' "$part" "$*" >&2; exit 2; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

require_root() {
  [ "$(id -u)" = 0 ] || command -v sudo >/dev/null 2>&1 || die "$1 needs root or sudo; ask an administrator, then run this again"
}
