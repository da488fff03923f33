#!/usr/bin/env bash
# reliability.sh [yes]: one round of what `make test` runs of each lab that is due, noted in docs/reliability.csv; with yes beside a
# loop on each core. `reliability.sh beside-a-load` is its part inside the workbench, when its turn has come.
set -euo pipefail
cd "$(dirname "$0")/.."
part=reliability
# shellcheck source=compose/say.sh
. compose/say.sh
loops=''
# No load outlives this many seconds, whatever becomes of us.
longest=7200

# shellcheck disable=SC2086
end_load() { [ -z "$loops" ] || docker rm --force $loops >/dev/null 2>&1 || :; }

beside_a_load() {
  local core
  # shellcheck source=compose/parts.sh
  . compose/parts.sh
  trap 'end_load; give_back' EXIT
  for core in $(seq 0 $(($(nproc) - 1))); do
    loops="$loops $(docker run --detach --rm --label incident-labs=load --network none --cpuset-cpus "$core" \
      incident-labs/base:trixie timeout $longest sh -c 'while :; do :; done')"
  done
  say "a loop on each of $(nproc) cores"
  # The round takes its stack down before it ends, and the load ends after it.
  part python -m workbench reliability --busy
}

case ${1:-} in
  beside-a-load) beside_a_load ;;
  yes)
    # What is missing is made before there is a load.
    bash compose/workbench.sh --for all all python -m workbench build all --scenario story
    exec bash compose/workbench.sh --measured --for all all bash compose/reliability.sh beside-a-load
    ;;
  *) exec bash compose/workbench.sh --measured --for all all python -m workbench reliability ;;
esac
