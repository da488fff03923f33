# shellcheck shell=bash disable=SC2154
# Images named by the hash of what they are made of, so that a change makes a new one: sourced, after say.sh.

# BuildKit where the client has it: old ones (below 23) by themselves, newer ones as a plugin.
choose_builder() {
  local major
  major=$(docker version --format '{{.Client.Version}}' 2>/dev/null | cut -d. -f1)
  if docker buildx version >/dev/null 2>&1 || [ "${major:-23}" -lt 23 ]; then
    export DOCKER_BUILDKIT=1
  else
    export DOCKER_BUILDKIT=0
  fi
}

build_image() { docker build --label incident-labs=image --build-arg BASE=incident-labs/base:trixie "$@"; }

# make_image NAME FOLDER WHAT FILE...: sets `image` to incident-labs/NAME:<hash of the files>, and builds the folder
# where there is no such image yet.
make_image() {
  local name=$1 folder=$2 what=$3 log
  shift 3
  image=incident-labs/$name:$(hash_of "$@")
  ! docker image inspect "$image" >/dev/null 2>&1 || return 0
  bash compose/bases.sh trixie || exit 1
  choose_builder
  say "building the $name image ($what)"
  log=$(mktemp)
  build_image --tag "incident-labs/$name" --tag "$image" "$folder" >"$log" 2>&1 &
  wait_saying $! "building the $name image" \
    || { tail -n 12 "$log" >&2; die "the $name image does not build; the whole log is $log"; }
  rm -f "$log"
}

# The part of the workbench that can build a lab's images, and is there long before the rest.
compose_image() {
  choose_builder
  build_image --target compose --tag incident-labs/compose workbench
}

workbench_image() {
  make_image workbench workbench "tshark, compose, Python packages; about a minute and a half" \
    workbench/Dockerfile workbench/requirements.txt
}

browser_image() {
  make_image browser compose/images/browser "Chromium; about a minute" compose/images/browser/Dockerfile
}
