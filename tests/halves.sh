# shellcheck shell=bash
# Sourced, after compose/parts.sh.

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
