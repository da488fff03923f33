#!/usr/bin/env bash
# bench.sh LAB|all: times a lab's story or all of them, cold (a second engine with a data root of its own: no image, no cache)
# and warm, phase by phase, and writes docs/benchmark.md. COLD=no leaves the cold part out, which needs root and Linux.
set -euo pipefail
cd "$(dirname "$0")/.."

part=bench
# shellcheck source=compose/say.sh
. compose/say.sh
lab=$(lab_of "${1:-}")
[ "$lab" = all ] || [ -f "labs/$lab/lab.toml" ] || die "there is no lab '$lab' to time; LAB=quiet_shutdown, for one, or LAB=all"
bridge=ilbench0
work='' engine='' size=''

leave() {
  trap '' INT TERM HUP
  [ -z "$engine" ] || { kill "$engine" && wait "$engine"; } 2>/dev/null || :
  ip link delete "$bridge" 2>/dev/null || :
  [ -z "$work" ] || rm -rf "$work"
}

# A second engine beside the first: everything it has is under $work, and its bridge is its own.
second_engine() {
  [[ $(uname -s) = Linux && $(id -u) = 0 ]] || die "a cold run starts a second engine, which takes root on Linux: COLD=no leaves it out"
  command -v dockerd >/dev/null 2>&1 || die "dockerd is not here: COLD=no leaves the cold run out"
  ip link add name "$bridge" type bridge
  ip address add 10.254.213.1/24 dev "$bridge"
  ip link set "$bridge" up
  dockerd --data-root "$work/data" --exec-root "$work/exec" --pidfile "$work/pid" --host "unix://$work/engine.sock" \
    --bridge "$bridge" >"$work/dockerd.log" 2>&1 &
  engine=$!
  local waited=0
  until DOCKER_HOST=unix://$work/engine.sock docker version >/dev/null 2>&1; do
    if ! kill -0 "$engine" 2>/dev/null || [ "$waited" -ge 60 ]; then
      die "the second engine does not start: $(tail -n 1 "$work/dockerd.log")"
    fi
    sleep 1
    waited=$((waited + 1))
  done
}

# phase NAME COMMAND...: runs a command and notes how long it took.
phase() {
  local name=$1 began=$SECONDS
  shift
  say "$name …"
  "$@" >"$work/log" 2>&1 || { tail -n 12 "$work/log" >&2; die "$name failed"; }
  say "$name: $((SECONDS - began)) s"
  phases="$phases${phases:+, }\"$name\": $((SECONDS - began))"
}

images() {
  phases=''
  phase "the first base image" bash compose/bases.sh trixie
  # On a cold machine the images of labs are built beside that of the workbench.
  phase "all other images" bash compose/workbench.sh --for "$lab" story python -m workbench build "$lab" --scenario story
}

# Everything that `make run` does, in its parts.
run() {
  images
  phase "the runs" make run LAB="$lab"
}

work=$(mktemp -d)
trap leave EXIT
trap 'exit 130' INT TERM HUP
bash compose/engine.sh
times=''
if [ "${COLD:-yes}" != no ]; then
  second_engine
  export DOCKER_HOST=unix://$work/engine.sock
  run
  times="\"cold\": {$phases}, "
  size=$(docker system df --format '{{.Type}} {{.Size}}' | sed -n 's/^Images //p')
  unset DOCKER_HOST
fi
# Once for what may be missing here, once to be timed.
images
run
mkdir -p runs
echo "{\"images\": \"$size\", \"times\": {$times\"warm\": {$phases}}}" >runs/bench.json
say "decoding with tshark, the workbench and pyshark …"
bash compose/workbench.sh python -m workbench bench "$lab" runs/bench.json
say "written to docs/benchmark.md"
