# shellcheck shell=bash
# Sourced, after compose/parts.sh.

# Each module is compiled once, and each capture decoded once, for all tests and what they start.
unset PYTHONDONTWRITEBYTECODE
if [ -z "${LAB_DECODED:-}" ]; then
  LAB_DECODED=$(mktemp -d)
  export LAB_DECODED
  trap 'rm -r "$LAB_DECODED"; give_back' EXIT
fi

# halves FIRST... -- SECOND...: runs pytest with each of two lists of arguments, side by side; what the first says comes last.
halves() {
  local first=() said result=0
  while [ "$1" != -- ]; do
    first+=("$1")
    shift
  done
  shift
  said=$(mktemp)
  begin python -m pytest "${first[@]}" >"$said" 2>&1
  begin python -m pytest "$@"
  finish || result=$?
  cat "$said"
  rm "$said"
  return $result
}
