#!/usr/bin/env bash
# bundle.sh make LAB FILE   one archive of the repository with every image that LAB's scenarios need (all: those of every lab): on
#                           a machine without any network `make run`, `make check` and `make notebooks` work from it
# bundle.sh load            loads the images that came with a bundle, once for each engine; elsewhere it does nothing
set -euo pipefail
here=$PWD
cd "$(cd "$(dirname "$0")/.." && pwd -P)"

part=bundle
# shellcheck source=compose/say.sh
. compose/say.sh
# shellcheck source=compose/image.sh
. compose/image.sh
images=images.tar.gz loaded=images.loaded

# Of a clone what is, or would be, committed; of an unpacked bundle all but what was made in it.
files() {
  if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git ls-files --cached --others --exclude-standard
  else
    find . -type f ! -path './runs/*' ! -path './mine/*' ! -path './interviews/*' ! -name "$images" ! -name "$loaded" | cut -c3-
  fi
}

make_bundle() {
  local lab=$1 target names
  target=$(from_here "$2")
  [ ! -e "$target" ] || die "$target: there already; take another OUT, or move it away"
  [ -w "$(dirname "$target")" ] || die "$(dirname "$target"): $(me) cannot write there; take another OUT"
  bash compose/workbench.sh --for "$lab" all python -m workbench build "$lab"
  engine_options
  workbench_image
  work=$(mktemp -d "$(dirname "$target")/.bundle.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  trap 'exit 130' INT TERM HUP
  names=$(docker run "${options[@]}" --env PYTHONPATH="$PWD" "$image" python -m workbench images "$lab")
  # Also by the names without their hashes.
  docker tag "$image" incident-labs/workbench
  docker tag "$compose" incident-labs/compose
  names="$names $image $compose incident-labs/workbench:latest incident-labs/compose:latest $(docker image ls --format '{{.Repository}}:{{.Tag}}' incident-labs/base)"
  say "writing $(wc -w <<<"$names" | tr -d ' ') images (some minutes)"
  mkdir "$work/incident-labs"
  # shellcheck disable=SC2086
  docker save $names | gzip -1 >"$work/incident-labs/$images" &
  wait_saying $! "writing images" || die "the engine does not give its images: is there room in $(dirname "$target")?"
  files | tar -c -f - -T - | tar -x -f - -C "$work/incident-labs"
  tar -c -f "$work/bundle" -C "$work" incident-labs
  mv "$work/bundle" "$target"
  say "$target: $(du -h "$target" | cut -f 1); there: tar -xf $(basename "$target") && cd incident-labs && make run LAB=$lab"
}

load_bundle() {
  [ -f "$images" ] || return 0
  local engine
  engine=$(docker info --format '{{.ID}}')
  [ "$(cat "$loaded" 2>/dev/null)" != "$engine" ] || ! docker image inspect incident-labs/base:trixie >/dev/null 2>&1 || return 0
  say "loading the images of this bundle (some minutes, once)"
  gunzip -c "$images" | docker load >/dev/null &
  wait_saying $! "loading images" || die "the engine does not take the images of $images: is there room on its disk?"
  echo "$engine" >"$loaded"
}

case ${1:-} in
  make) make_bundle "$(lab_of "$2")" "${3:-incident-labs-bundle.tar}" ;;
  load) load_bundle ;;
  *) die "usage: bundle.sh make LAB FILE, or load" ;;
esac
