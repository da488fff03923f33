# shellcheck shell=bash disable=SC2154
# Images named by the hash of what they are made of, so that a change makes a new one: sourced, after say.sh, in the
# repository's folder.

# Sets `caller` and `options` for a container of ours that speaks to the engine: its socket (ENGINE_SOCKET: where the engine has it,
# for who is in such a container himself), the repository at its own path, the caller's rights, and the names of the bases.
# Makes the base trixie where it is missing.
engine_options() {
  local socket group suite name engine
  socket=$(docker context inspect --format '{{.Endpoints.docker.Host}}' 2>/dev/null || echo unix:///var/run/docker.sock)
  socket=${DOCKER_HOST:-$socket}
  case $socket in unix://*) socket=${socket#unix://} ;; *) die "the engine is not local ($socket): labs are measured where they run" ;; esac
  bash compose/bases.sh trixie || exit 1
  engine=$(docker info --format '{{.OperatingSystem}} {{.CgroupDriver}} {{.SecurityOptions}}')
  if [ "$(uname -s)" != Linux ] || [[ $engine == "Docker Desktop"* ]]; then
    # The engine is in a machine of its own, and has its socket there; whose it is can only be seen from inside.
    : "${ENGINE_SOCKET:=/var/run/docker.sock}"
    group=$(docker run --rm --network none --volume "$ENGINE_SOCKET:/engine" incident-labs/base:trixie stat -c %g /engine)
  else
    : "${ENGINE_SOCKET:=$socket}"
    group=$(stat -c %g "$socket")
  fi
  [[ $engine != *" none "* ]] || die "this engine has no cgroups, so nobody's CPU can be measured: a rootless one takes cgroup v2 and systemd"
  caller=$(id -u):$(id -g)
  # A rootless engine's root is the user who started it.
  [[ $engine != *name=rootless* ]] || caller=0:0 group=0
  # SELinux keeps containers from the engine's socket, and from files in a user's home.
  options=(--rm --interactive --init --network none --label incident-labs=workbench --label "incident-labs.client=$$"
    --security-opt label=disable --user "$caller" --group-add "$group"
    --volume "$ENGINE_SOCKET:/var/run/docker.sock" --env ENGINE_SOCKET="$ENGINE_SOCKET" --env DOCKER_DEFAULT_PLATFORM --volume "$PWD:$PWD" --workdir "$PWD")
  for suite in trixie bookworm bullseye; do
    name=BASE_$(echo "$suite" | tr '[:lower:]' '[:upper:]')
    options+=(--env "$name=${!name:-incident-labs/base:$suite}")
  done
}

# make_image NAME WHAT FILE... -- COMMAND...: sets `image` to incident-labs/NAME:<hash of the files>, and has the
# command make it where there is no such image yet.
make_image() {
  local name=$1 what=$2 files=() log
  shift 2
  while [ "$1" != -- ]; do files+=("$1"); shift; done
  shift
  image=incident-labs/$name:$(hash_of "${files[@]}")
  ! docker image inspect "$image" >/dev/null 2>&1 || return 0
  bash compose/bases.sh trixie || exit 1
  say "building the $name image ($what)"
  log=$(mktemp)
  "$@" >"$log" 2>&1 &
  wait_saying $! "building the $name image" \
    || { tail -n 12 "$log" >&2; die "the $name image does not build; the whole log is $log"; }
  docker tag "$image" "incident-labs/$name"
  rm -f "$log"
}

# With the builder that every client has: newer clients have BuildKit as a plugin only, which may be missing.
build_plainly() {
  if docker buildx version >/dev/null 2>&1; then export DOCKER_BUILDKIT=1; else export DOCKER_BUILDKIT=0; fi
  docker build --label incident-labs=image --build-arg BASE=incident-labs/base:trixie --tag "$image" "$1"
}

# Needs engine_options.
with_compose() { docker run "${options[@]}" --env IMAGE="$image" --env BASE="$compose" "$compose" docker compose "$@"; }

compose_image() {
  make_image compose "compose; a quarter of a minute" compose/images/compose/Dockerfile -- build_plainly compose/images/compose
  compose=$image
}

workbench_image() {
  compose_image
  make_image workbench "tshark, Python packages; about a minute" \
    compose/images/compose/Dockerfile workbench/Dockerfile workbench/requirements.txt -- \
    with_compose --file workbench/compose.yaml build
}

browser_image() {
  make_image browser "Chromium; about a minute" compose/images/browser/Dockerfile -- build_plainly compose/images/browser
}
