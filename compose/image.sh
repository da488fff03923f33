# shellcheck shell=bash disable=SC2154
# Images named by the hash of what they are made of, so that a change makes a new one: sourced, after say.sh.

# make_image NAME FOLDER WHAT FILE...: sets `image` to incident-labs/NAME:<hash of the files>, and builds the folder
# where there is no such image yet. BuildKit where the client has it: the old client by itself, newer ones as a plugin.
make_image() {
  local name=$1 folder=$2 what=$3 log
  shift 3
  image=incident-labs/$name:$(hash_of "$@")
  ! docker image inspect "$image" >/dev/null 2>&1 || return 0
  bash compose/bases.sh trixie || exit 1
  say "building the $name image ($what)"
  log=$(mktemp)
  if docker buildx version >/dev/null 2>&1; then export DOCKER_BUILDKIT=1; else export DOCKER_BUILDKIT=0; fi
  docker build --label incident-labs=image --build-arg BASE=incident-labs/base:trixie \
    --tag "incident-labs/$name" --tag "$image" "$folder" >"$log" 2>&1 &
  wait_saying $! "building the $name image" \
    || { tail -n 12 "$log" >&2; die "the $name image does not build; the whole log is $log"; }
  rm -f "$log"
}

workbench_image() {
  make_image workbench workbench "tshark, compose, Python packages; about a minute and a half" \
    workbench/Dockerfile workbench/requirements.txt
}

browser_image() {
  make_image browser compose/images/browser "Chromium; about a minute" compose/images/browser/Dockerfile
}
