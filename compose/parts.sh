# shellcheck shell=bash
# For scripts of several parts, inside the workbench: sourced. A signal comes to the script alone, and a shell neither ends nor hands
# it on while a command runs in the foreground: so each part runs in the background, from where it is interrupted.
running=()
# The turn to measure is the script's to give back, where it has one, and not that of what it starts.
give_back() { rm -f "${TICKET:-}"; }
trap give_back EXIT
export -n TICKET

# part COMMAND...: runs a command and returns how it ended.
part() {
  begin "$@"
  finish
}

# begin COMMAND...: starts one that `finish` waits for.
begin() {
  # Or else what runs in the background ignores SIGINT.
  set -m
  "$@" &
  set +m
  running+=("$!")
}

# finish: waits for all that has begun, and returns how the last of them ended that ended badly.
finish() {
  local each result=0
  for each in "${running[@]}"; do wait "$each" || result=$?; done
  running=()
  return $result
}

interrupted() {
  local each
  trap '' INT TERM
  for each in "${running[@]}"; do kill -INT "$each" 2>/dev/null || :; done
  finish || :
  exit 130
}
trap interrupted INT TERM
