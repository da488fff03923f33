#!/usr/bin/env bash
# workbench.sh [--measured] [--for LAB SCENARIO] COMMAND [ARGUMENT...]
#
# Runs a command in the workbench image, with the engine's socket and the repository at its own path, as the user
# who calls. What is missing is made first: the engine, the bases, the image.
#   --measured   one at a time on an engine: waits for its turn, and ends a run whose terminal is gone
#   --for        makes the bases of that lab's stack (SCENARIO: story, all or a name)
# `facts FILE` reads the file here, where its name and its permissions mean what the caller means.
set -euo pipefail
cd "$(cd "$(dirname "$0")/.." && pwd -P)"
root=$PWD
turn=incident-labs-measuring

part=workbench
# shellcheck source=compose/say.sh
. compose/say.sh
# shellcheck source=compose/image.sh
. compose/image.sh

measured='' lab='' scenario='' bases='' meanwhile=''
while [ $# -gt 0 ]; do
  case $1 in
    --measured) measured=yes; shift ;;
    --for) lab=$(lab_of "$2") scenario=$3; shift 3 ;;
    *) break ;;
  esac
done
[ $# -gt 0 ] || die "what is to be run? see make help"
[[ ${PATIENCE:-1} =~ ^[0-9]+(\.[0-9]+)?$ ]] || die "PATIENCE=$PATIENCE: not a number; 3 waits three times as long everywhere"

# The Debian suites that a lab's compose files name as BASE_<SUITE>, but those for which the caller names an image.
suites() {
  local folders="labs/$lab" files
  [ "$lab" != all ] || folders=$(ls -d labs/*/)
  for folder in $folders; do
    files="$folder/compose.yaml"
    case $scenario in
      story) ;;
      all) files="$files $(ls "$folder"/scenarios/*.yaml 2>/dev/null || :)" ;;
      *) [ ! -f "$folder/scenarios/$scenario.yaml" ] || files="$files $folder/scenarios/$scenario.yaml" ;;
    esac
    # shellcheck disable=SC2086
    grep -ohE 'BASE_[A-Z]+' $files 2>/dev/null || :
  done | sort -u | while read -r name; do
    [ -n "${!name:-}" ] || echo "${name#BASE_}" | tr '[:upper:]' '[:lower:]'
  done
}

make_ready() {
  bash compose/engine.sh || {
    [[ $* != "python -m workbench run "* && $* != "bash tests/gate.sh "* ]] || say "without an engine: make replay LAB=$lab judges the recorded runs again"
    exit 2
  }
  bash compose/bundle.sh load
  engine_options
  if [ -n "$lab" ]; then
    # shellcheck disable=SC2046
    bash compose/bases.sh trixie $(suites) &
    bases=$!
  fi
  trap end_meanwhile EXIT
  trap 'exit 130' INT TERM HUP
  compose_image
  if [ -n "$lab" ] && ! docker image inspect incident-labs/workbench >/dev/null 2>&1; then
    build_meanwhile &
    meanwhile=$!
  fi
  workbench_image
  [ -z "$bases" ] || wait "$bases" || exit 1
  [ -z "$meanwhile" ] || wait_saying "$meanwhile" "building the lab's images" || :
  trap - EXIT INT TERM HUP
}

# On a machine that has nothing yet the lab's images are built beside the workbench. What fails here fails again, and
# is said, when the workbench builds what is missing.
build_meanwhile() {
  local each
  # A process can wait for its own children only.
  while kill -0 "$bases" 2>/dev/null; do sleep 1; done
  for each in labs/*/; do
    each=$(basename "$each")
    [[ $lab != "$each" && $lab != all ]] || with_compose --file "labs/$each/compose.yaml" build || :
  done
} >/dev/null 2>&1

end_meanwhile() {
  local id
  [ -n "$meanwhile" ] || return 0
  kill "$meanwhile" 2>/dev/null || :
  for id in $(docker ps --quiet --filter "label=incident-labs.client=$$"); do docker stop -t 5 "$id" >/dev/null || :; done
}

# Whether a process is still one of ours: it waits in this script, or has become the client of a workbench.
client_lives() {
  if [ -d /proc/self ]; then tr '\0' ' ' <"/proc/$1/cmdline"; else ps -p "$1" -o command=; fi 2>/dev/null \
    | grep -qE 'workbench\.sh|incident-labs'
}

# Tickets in the order in which they were drawn; one whose process is gone counts no more.
queue=runs/.queue
before_me() {
  local other count=0
  for other in "$queue"/*; do
    [ "$other" != "$ticket" ] || break
    if client_lives "${other##*-}"; then count=$((count + 1)); else rm -f "$other" 2>/dev/null || :; fi
  done
  echo "$count"
}

# The workbench gives the ticket back; what is killed leaves it to be found by the next.
draw_ticket() {
  [ -d runs ] || mkdir -m 1777 runs
  [ -d "$queue" ] || mkdir -m 1777 "$queue"
  ticket=$queue/$(date +%s)-$$
  echo "${SEAT:-$(me)}" >"$ticket"
  trap 'rm -f "$ticket"' EXIT
}

wait_for_turn() {
  local said='' client ahead
  while ahead=$(before_me); [ "$ahead" != 0 ] || docker container inspect "$turn" >/dev/null 2>&1; do
    client=$(docker container inspect --format '{{index .Config.Labels "incident-labs.client"}}' "$turn" 2>/dev/null || echo 0)
    if [ "$client" = 0 ] || client_lives "$client"; then
      [ "$said" = "$ahead" ] || say "waiting: measured runs before this one, with the one that is going on: ${ahead/#0/1}"
      said=$ahead
      sleep 1
    else
      say "ending a measured run whose terminal is gone"
      docker stop -t 60 "$turn" >/dev/null 2>&1 || :
      docker rm --force "$turn" >/dev/null 2>&1 || :
    fi
  done
}

make_ready "$@"
options+=(--env PYTHONPATH="$root" --env PATIENCE --env LAB_RUNS --env HOST_ROUTES="$(cat /proc/net/route 2>/dev/null)")
[ ! -t 1 ] || options+=(--env FORCE_COLOR=1 --env "COLUMNS=$(tput cols 2>/dev/null || echo 100)")
if [ -n "$measured" ]; then
  draw_ticket
  wait_for_turn
  options+=(--name "$turn" --env TICKET="$root/$ticket")
fi

if [ "$1" = facts ]; then
  [ -n "${2:-}" ] || die "which capture? make facts CAPTURE=file"
  [ -f "$2" ] || die "$2: no such file"
  [ -r "$2" ] || die "$2: cannot be read by $(me)"
  # shellcheck disable=SC2094
  exec docker run "${options[@]}" "$image" python -m workbench facts "$2" <"$2"
fi
# exec, so that a signal meant for this process reaches the run inside.
exec docker run "${options[@]}" "$image" "$@"
