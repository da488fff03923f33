# shellcheck shell=bash
# halves FIRST... -- SECOND...: runs pytest with each of two lists of arguments, side by side; what the first says comes last. Sourced.
halves() {
  local first=() said other result=0
  while [ "$1" != -- ]; do
    first+=("$1")
    shift
  done
  shift
  said=$(mktemp)
  python -m pytest "${first[@]}" >"$said" 2>&1 &
  other=$!
  python -m pytest "$@" || result=$?
  wait $other || result=$?
  cat "$said"
  rm "$said"
  return $result
}
