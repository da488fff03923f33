#!/usr/bin/env bash
# Removes what this project made, by its own labels and names, and nothing else.
set -euo pipefail
cd "$(dirname "$0")/.."
part=clean
# shellcheck source=compose/say.sh
. compose/say.sh

if docker version >/dev/null 2>&1; then
  remove() { # what, then ids on stdin
    local what=$1 ids
    shift
    ids=$(sort -u)
    [ -z "$ids" ] || { say "$what: $(echo "$ids" | wc -l | tr -d ' ')"; echo "$ids" | xargs "$@" >/dev/null; }
  }
  # First the workbench, so that a run that is still going can take its own stack down.
  docker ps --quiet --filter label=incident-labs=workbench | remove "ending workbenches" docker stop -t 60
  docker ps --all --quiet --filter label=incident-labs=load | remove "loads" docker rm --force
  # Whoever opened a notebook may take its parts away at the same moment.
  docker ps --all --quiet --filter label=incident-labs=notebooks | remove "notebooks" docker rm --force --volumes || :
  docker volume ls --quiet --filter label=incident-labs=notebooks | remove "volumes" docker volume rm || :
  docker network ls --quiet --filter label=incident-labs=notebooks | remove "networks" docker network rm || :
  docker ps --all --quiet --filter label=incident-labs=box | remove "containers" docker rm --force --volumes
  docker network ls --filter label=com.docker.compose.project --format '{{.ID}} {{.Label "com.docker.compose.project"}}' \
    | awk '$2 ~ /^case-[0-9]+(-[a-z][a-z0-9]*)?(-run)?$/ {print $1}' | remove "networks" docker network rm \
    || say "what is left of the networks the engine lets go when it is started again: it has lost count of what was in them"
  # By name, and those that a later build took the name from by the label that they have from their base.
  docker image ls --format '{{.Repository}}:{{.Tag}}' | grep '^incident-labs/' | remove "images" docker image rm --force || :
  docker image ls --quiet --filter label=incident-labs | remove "older images" docker image rm --force || :
else
  say "no engine answers: its containers and images stay"
fi
for folder in runs .venv-replay; do
  [ -d "$folder" ] || continue
  say "$folder/"
  rm -rf "$folder"
done
find . -name __pycache__ -type d -prune -exec rm -rf {} +
say "done; Docker's own build cache is shared with other projects and stays (docker builder prune)"
