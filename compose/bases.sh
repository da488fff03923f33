#!/usr/bin/env bash
# bases.sh SUITE...: makes sure that incident-labs/base:SUITE exists for each Debian suite named.
#
# The base is Docker Hub's debian:SUITE-slim where a registry answers (BASE_REGISTRY names another one), and is
# made from Debian's packages with mmdebstrap where none does. CAs that this machine trusts beyond Debian's own
# (/usr/local/share/ca-certificates) are carried in, so that apt, pip and Maven work inside builds.
# The label incident-labs.source says where an image came from; run.json records it.
set -euo pipefail

registry=${BASE_REGISTRY:-docker.io/library}
extra_cas=${EXTRA_CAS:-/usr/local/share/ca-certificates}
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}

say() { printf '[base] %s\n' "$*" >&2; }
die() { printf '[base] error: %s\n' "$*" >&2; exit 1; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# Leaves the untouched suite as $2, and prints where it came from.
pull_suite() {
  local image=$registry/debian:$1-slim
  docker pull --quiet "$image" >/dev/null 2>&1 || return 1
  docker tag "$image" "$2"
  docker image inspect --format '{{index .RepoDigests 0}}' "$image"
}

bootstrap_suite() {
  command -v mmdebstrap >/dev/null 2>&1 \
    || die "no registry answers for $registry/debian:$1-slim, and mmdebstrap is not here to make it: install mmdebstrap, or set BASE_REGISTRY"
  local log options='--variant=minbase --include=ca-certificates'
  log=$(mktemp)
  # A user without root bootstraps in a user namespace; mmdebstrap chooses by itself.
  # shellcheck disable=SC2086
  if ! mmdebstrap $options --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
      --dpkgopt='path-exclude=/usr/share/man/*' "$1" - "$mirror" 2>"$log" \
      | docker import --change 'CMD ["bash"]' - "$2" >/dev/null; then
    tail -n 5 "$log" >&2
    die "mmdebstrap could not make $1 from $mirror; the whole log is $log"
  fi
  rm -f "$log"
  printf 'mmdebstrap:%s %s %s\n' "$1" "$mirror" "$(date -u +%Y-%m-%d)"
}

# Docker's build context is a folder: one with the CAs and three lines of Dockerfile.
finish() {
  local context
  context=$(mktemp -d)
  mkdir "$context/ca"
  find "$extra_cas" -maxdepth 2 -name '*.crt' -exec cp -L {} "$context/ca/" \; 2>/dev/null || :
  {
    echo 'ARG RAW'
    # shellcheck disable=SC2016
    echo 'FROM ${RAW}'
    echo 'ENV DEBIAN_FRONTEND=noninteractive'
    if [ -n "$(ls -A "$context/ca")" ]; then
      say "$1: carrying this machine's $(find "$context/ca" -type f | wc -l | tr -d ' ') extra CA(s) into the base"
      echo 'COPY ca/ /usr/local/share/ca-certificates/'
      echo 'RUN command -v update-ca-certificates >/dev/null || { apt-get update -q && apt-get install -qy --no-install-recommends ca-certificates; }; update-ca-certificates'
      # pip brings its own bundle unless told.
      echo 'ENV PIP_CERT=/etc/ssl/certs/ca-certificates.crt'
    fi
  } >"$context/Dockerfile"
  docker build --quiet --build-arg "RAW=$2" --label "incident-labs.source=$3" --label incident-labs=base \
    --tag "incident-labs/base:$1" "$context" >/dev/null
  rm -rf "$context"
}

make_base() {
  local suite=$1 raw=incident-labs/raw:$1 source
  docker image inspect "incident-labs/base:$suite" >/dev/null 2>&1 && return
  if source=$(pull_suite "$suite" "$raw"); then
    say "$suite: pulled $source"
  else
    say "$suite: no registry answers at $registry; making the base from Debian's packages (half a minute)"
    source=$(bootstrap_suite "$suite" "$raw")
  fi
  finish "$suite" "$raw" "$source"
}

[ $# -gt 0 ] || die "which Debian suites? usage: bases.sh SUITE..."
for suite in "$@"; do
  if ! docker image inspect "incident-labs/base:$suite" >/dev/null 2>&1 && ! command -v mmdebstrap >/dev/null 2>&1 \
      && command -v apt-get >/dev/null 2>&1 && ! docker pull --quiet "$registry/debian:$suite-slim" >/dev/null 2>&1; then
    [ "$(id -u)" = 0 ] || command -v sudo >/dev/null 2>&1 || break
    say "installing mmdebstrap, because no registry answers"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends mmdebstrap >/dev/null 2>&1 \
      || { as_root apt-get update -q && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends mmdebstrap; } >/dev/null 2>&1
  fi
done
pids=''
for suite in "$@"; do
  make_base "$suite" &
  pids="$pids $!"
done
for pid in $pids; do wait "$pid"; done
