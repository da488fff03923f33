#!/usr/bin/env bash
# replay.sh LAB|all: judges the recorded runs of a lab again on a host where no engine runs: the same decoding, verdicts
# and report over captures/. What is missing is made first: tshark, Python's venv, and the locked packages.
set -euo pipefail
cd "$(dirname "$0")/.."

part=replay
# shellcheck source=compose/say.sh
. compose/say.sh
lab=$(lab_of "${1:-}")
extra_cas=${EXTRA_CAS:-/usr/local/share/ca-certificates}
cas=/etc/ssl/certs/ca-certificates.crt
pip=''

# The first Python that is new enough and can make virtual environments.
find_python() {
  local name
  for name in python3 python3.14 python3.13 python3.12 python3.11; do
    "$name" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 || continue
    echo "$name"
    return
  done
}

has_tshark() {
  local major
  major=$(tshark --version 2>/dev/null | sed -n 's/^TShark[^0-9]*\([0-9]*\)\..*/\1/p') || :
  [ "${major:-0}" -ge 4 ]
}

# Leaves what is missing in `lacking`, and Debian's names for it in `packages`.
look() {
  python=$(find_python) lacking='' packages=''
  [ -n "$python" ] || lacking='Python 3.11 or newer with venv' packages=python3-venv
  has_tshark || lacking="${lacking:+$lacking and }tshark 4.0 or newer" packages="${packages:+$packages }tshark"
}

install_lacking() {
  if command -v apt-get >/dev/null 2>&1; then
    require_root "installing $lacking"
    say "no $lacking here: installing Debian's $packages"
    # shellcheck disable=SC2086
    apt_install "install $lacking by hand, then run this again" $packages
    look
  fi
  [ -z "$lacking" ] || die "a replay needs $lacking: install it (Homebrew: python wireshark), then run this again"
}

# In a folder of its own until it is whole: what was interrupted is never taken for finished.
install_packages() {
  local remains
  partial=.venv-replay/partial.$$ log=$(mktemp)
  for remains in .venv-replay/partial.*; do kill -0 "${remains##*.}" 2>/dev/null || rm -rf "$remains"; done
  mkdir -p "$partial" 2>/dev/null || die "$(me) cannot write to $(pwd)/.venv-replay: chown it, or clone the repository as yourself"
  rm -rf "$venv"
  trap drop_partial EXIT
  trap 'rm -f "$log"; exit 130' HUP INT TERM
  # pip brings its own bundle unless told.
  if [ -n "$(find "$extra_cas" -name '*.crt' 2>/dev/null)" ] && [ -f "$cas" ]; then
    export PIP_CERT=${PIP_CERT:-$cas}
  fi
  say "installing the locked Python packages into $venv (about a minute)"
  "$python" -m venv "$partial" >"$log" 2>&1 || die "$python -m venv failed; the whole log is $log"
  TMPDIR=$PWD/$partial "$partial/bin/python" -m pip install --disable-pip-version-check --require-hashes \
    --only-binary :all: -r workbench/requirements.txt >"$log" 2>&1 &
  pip=$!
  wait_saying "$pip" "installing the Python packages" || {
    tail -n 5 "$log" >&2
    die "pip could not install workbench/requirements.txt; the whole log is $log; mend what it says, then run this again"
  }
  [ -x "$venv/bin/python" ] || mv "$partial" "$venv"
  rm -f "$log"
  trap - HUP INT TERM
}

# A command in the background does not hear Ctrl-C.
drop_partial() {
  [ -z "$pip" ] || { kill "$pip" && wait "$pip"; } 2>/dev/null || :
  rm -rf "$partial"
}

labs=$(cd labs && echo *)
[ "$lab" = all ] || [ -f "labs/$lab/lab.toml" ] || die "there is no lab '$lab'; there is: ${labs// /, }"
look
[ -z "$lacking" ] || install_lacking
venv=.venv-replay/$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-$(hash_of workbench/requirements.txt)
[ -x "$venv/bin/python" ] || install_packages
# As in the image: no bytecode beside the sources, text in UTF-8, and none of this user's own Wireshark preferences.
exec env PYTHONPATH="$PWD" PYTHONDONTWRITEBYTECODE=1 PYTHONUTF8=1 WIRESHARK_CONFIG_DIR="$PWD/$venv" \
  "$venv/bin/python" -m workbench replay "$lab"
