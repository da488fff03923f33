#!/usr/bin/env bash
# reliability.sh [yes]: one round of what `make test` runs of each lab, noted in docs/reliability.csv; with yes beside a loop on
# each core.
set -euo pipefail
cd "$(dirname "$0")/.."
part=reliability
# shellcheck source=compose/say.sh
. compose/say.sh
busy=''
# No load outlives this many seconds, whatever becomes of us.
longest=7200

# shellcheck disable=SC2086
end_load() { [ -z "$busy" ] || docker rm --force $busy >/dev/null 2>&1 || :; }

if [ "${1:-}" = yes ]; then
  # What is missing is made before there is a load.
  bash compose/workbench.sh --for all all python -m workbench build all --scenario story
  trap end_load EXIT
  trap 'exit 130' INT TERM HUP
  for core in $(seq 0 $(($(nproc) - 1))); do
    busy="$busy $(docker run --detach --rm --label incident-labs=load --network none --cpuset-cpus "$core" \
      incident-labs/base:trixie timeout $longest sh -c 'while :; do :; done')"
  done
  say "a loop on each of $(nproc) cores"
fi
bash compose/workbench.sh --measured --for all all python -m workbench reliability ${busy:+--busy}
