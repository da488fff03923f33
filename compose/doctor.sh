#!/usr/bin/env bash
# Looks at what a run needs, and says how to mend what is missing. Exits 1 if anything must be mended. Whether a registry answers
# is tried with an image that the first run would pull as well; nothing else is changed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
bad=0
good() { printf '  ok    %-13s %s\n' "$1" "$2"; }
warn() { printf '  note  %-13s %s\n' "$1" "$2"; }
fail() { printf '  MEND  %-13s %s\n' "$1" "$2"; bad=1; }

if answer=$(docker version --format '{{.Server.Version}}' 2>&1); then
  major=${answer%%.*}
  if [ "$major" -lt 20 ]; then fail engine "$answer is older than 20.10: install a newer engine"
  else good engine "$answer"; fi
  [ "$major" -ge 28 ] || warn box "an engine before 28 leaves the host's own bridge address reachable from a stack (docs/box.md)"
elif [[ $answer == *"permission denied"* ]]; then
  fail permissions "the engine runs, but $(id -un) may not use it: sudo usermod -aG docker $(id -un), then log in again"
elif command -v dockerd >/dev/null; then
  warn engine "installed but not running: make run starts it (with root or sudo)"
elif command -v apt-get >/dev/null; then
  warn engine "not installed: make run installs Debian's docker.io (with root or sudo)"
else
  fail engine "none answers: install Docker, https://docs.docker.com/engine/install/"
fi

if docker image inspect incident-labs/workbench >/dev/null 2>&1; then
  good compose "$(docker run --rm --network none incident-labs/workbench docker compose version --short) in the workbench image"
else
  warn compose "comes with the workbench image, which the first make run builds"
fi

if docker image inspect incident-labs/base:trixie >/dev/null 2>&1; then
  good bases "$(docker image inspect --format '{{index .Config.Labels "incident-labs.source"}}' incident-labs/base:trixie)"
elif docker pull --quiet "${BASE_REGISTRY:-docker.io/library}/debian:trixie-slim" >/dev/null 2>&1; then
  good bases "a registry answers"
elif ! command -v mmdebstrap >/dev/null && ! command -v apt-get >/dev/null; then
  fail bases "no registry answers at ${BASE_REGISTRY:-docker.io/library}, and there is no mmdebstrap to make them with: name one in BASE_REGISTRY, or install mmdebstrap"
else
  warn bases "no registry answers at ${BASE_REGISTRY:-docker.io/library}: they will be made with mmdebstrap from Debian's packages"
fi

memory=$(docker info --format '{{.MemTotal}}' 2>/dev/null)
[ -n "$memory" ] && [ "$memory" != 0 ] || memory=$(awk '/^MemTotal/ {print $2 * 1024}' /proc/meminfo 2>/dev/null || echo 0)
if [ "${memory%.*}" -ge 3000000000 ]; then good memory "$((${memory%.*} / 1048576)) MiB"
else fail memory "$((${memory%.*} / 1048576)) MiB: a stack needs 3 GB; give the engine more (Docker Desktop: Settings, Resources)"; fi

cores=$(docker info --format '{{.NCPU}}' 2>/dev/null || echo 0)
if [ "${cores:-0}" = 1 ]; then warn cores "1: case 5 needs two, and so do LAB=all and make test; the others check fewer servers, and take longer"
elif [ "${cores:-0}" -ge 2 ]; then good cores "$cores"; fi

where=$(docker info --format '{{.DockerRootDir}}' 2>/dev/null)
# Newer engines keep images with containerd.
[[ $(docker info --format '{{.DriverStatus}}' 2>/dev/null) != *io.containerd.snapshotter* ]] || where=/var/lib/containerd
free=$(df -Pk "$where" 2>/dev/null | awk 'NR == 2 {print int($4 / 1048576)}')
if [ -z "$free" ]; then warn disk "the engine's $where is not to be seen from here: the images of all labs need 8 GiB"
elif [ "$free" -ge 8 ]; then good disk "$free GiB free at $where"
else fail disk "$free GiB free at $where: the images of all labs need 8; make room, or move the engine's data-root"; fi

case $(uname -m) in
  x86_64 | amd64) good architecture "$(uname -m)" ;;
  *) warn architecture "$(uname -m): the old JREs are x86-64, so everything runs under emulation, slower (macOS: Rosetta, in Docker Desktop's settings; Linux: qemu-user-static); nobody has tried" ;;
esac

unwritable=''
for folder in runs mine; do
  if [ -d "$folder" ]; then [ -w "$folder" ]; else [ -w . ]; fi || unwritable="$unwritable $folder/"
done
if [ -z "$unwritable" ]; then good permissions "$(id -un) can write to runs/ and mine/"
else fail permissions "$(id -un) cannot write to$unwritable in $(pwd): chown it, or clone it as yourself"; fi
[ "$(uname -s)" != Linux ] || [ -e /proc/net/if_inet6 ] \
  || warn IPv6 "off in this kernel: the layouts of case 5 that listen on it do not start"
if [ "$(ls -A /usr/local/share/ca-certificates 2>/dev/null)" ]; then good CAs "extra ones in /usr/local/share/ca-certificates are carried into the images"; fi

[ "$bad" = 0 ] && echo "nothing to mend" || echo "mend the lines marked MEND, then run make doctor again"
exit "$bad"
