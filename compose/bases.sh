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

part=base
# shellcheck source=compose/say.sh
. "$(dirname "$0")/say.sh"

# Leaves the untouched suite as $2, and prints where it came from, or why it does not come.
pull_suite() {
  local image=$registry/debian:$1-slim said
  said=$(docker pull --quiet "$image" 2>&1) || { tail -n 1 <<<"$said"; return 1; }
  docker tag "$image" "$2"
  docker image inspect --format '{{index .RepoDigests 0}}' "$image"
}

install_mmdebstrap() {
  command -v mmdebstrap >/dev/null 2>&1 && return
  local mend="install mmdebstrap, or name a registry that answers in BASE_REGISTRY"
  command -v apt-get >/dev/null 2>&1 || die "mmdebstrap is not here to make the bases: $mend"
  require_root "installing mmdebstrap"
  say "installing mmdebstrap"
  apt_install "$mend" mmdebstrap
}

bootstrap_suite() {
  local log forget options='--variant=minbase --include=ca-certificates'
  log=$(mktemp)
  # As in Debian's own images, apt keeps neither packages nor what it has worked out of its lists.
  # shellcheck disable=SC2016
  forget='printf "APT::Keep-Downloaded-Packages false;\nDir::Cache { pkgcache \"\"; srcpkgcache \"\"; };\n" >"$1/etc/apt/apt.conf.d/90keep-nothing"; rm -f "$1"/var/cache/apt/*.bin'
  # A user without root bootstraps in a user namespace; mmdebstrap chooses by itself.
  # shellcheck disable=SC2086
  if ! mmdebstrap $options --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
      --dpkgopt='path-exclude=/usr/share/man/*' --customize-hook="$forget" "$1" - "$mirror" 2>"$log" \
      | docker import --change 'CMD ["bash"]' - "$2" >/dev/null; then
    tail -n 5 "$log" >&2
    die "mmdebstrap could not make $1 from $mirror; the whole log is $log (a suite that has left the mirror: DEBIAN_MIRROR=http://archive.debian.org/debian, or name another image in BASE_$(echo "$1" | tr '[:lower:]' '[:upper:]'))"
  fi
  rm -f "$log"
  printf 'mmdebstrap:%s %s %s\n' "$1" "$mirror" "$(date -u +%Y-%m-%d)"
}

# Docker's build context is a folder: one with the CAs and three lines of Dockerfile.
finish() {
  local context log
  context=$(mktemp -d)
  log=$(mktemp)
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
  # Through a pipe: a client that came as a snap may not read /tmp.
  if ! tar -c -f - -C "$context" . \
      | docker build --build-arg "RAW=$2" --label "incident-labs.source=$3" --label incident-labs=base \
        --tag "incident-labs/base:$1" - >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    die "incident-labs/base:$1 does not build; the whole log is $log"
  fi
  rm -rf "$context" "$log"
}

missing=''
[ $# -gt 0 ] || die "which Debian suites? usage: bases.sh SUITE..."
for suite in "$@"; do
  docker image inspect "incident-labs/base:$suite" >/dev/null 2>&1 || missing="$missing $suite"
done
[ -n "$missing" ] || exit 0

made=''
for suite in $missing; do
  if source=$(pull_suite "$suite" "incident-labs/raw:$suite"); then
    say "$suite: pulled $source"
    finish "$suite" "incident-labs/raw:$suite" "$source"
  else
    made="$made $suite" why=$source
  fi
done
[ -n "$made" ] || exit 0

[ -z "${DOCKER_DEFAULT_PLATFORM:-}" ] || die "$registry gives no debian image for$made ($why), and bases are made on x86-64 only: name a registry that answers in BASE_REGISTRY"
say "$registry gives no debian image for$made ($why): making what is missing from Debian's packages (half a minute)"
install_mmdebstrap
pids=''
for suite in $made; do
  { source=$(bootstrap_suite "$suite" "incident-labs/raw:$suite") && finish "$suite" "incident-labs/raw:$suite" "$source"; } &
  pids="$pids $!"
done
for pid in $pids; do wait "$pid"; done
