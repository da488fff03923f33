#!/usr/bin/env bash
# Makes sure that a Docker Engine answers: finds it, installs it (Debian-like systems) or starts it.
# Says what it does on stderr; does nothing where an engine already answers.
set -euo pipefail

part=engine
# shellcheck source=compose/say.sh
. "$(dirname "$0")/say.sh"
not_yours() { die "the engine runs, but $(me) may not use it: add yourself to the group docker (sudo usermod -aG docker $(me)), log in again"; }
answers() { docker version --format '{{.Server.Version}}' >/dev/null 2>&1; }

install_engine() {
  command -v apt-get >/dev/null 2>&1 \
    || die "no Docker Engine here, and this is not a Debian-like system: install Docker (https://docs.docker.com/engine/install/), then run this again"
  require_root "installing the Docker Engine"
  say "no Docker Engine here: installing Debian's docker.io (about a minute)"
  # policy-rc.d is left alone: with systemd the package starts the engine itself, without it we do below.
  apt_install "install Docker: https://docs.docker.com/engine/install/" docker.io iptables ca-certificates
}

# A killed engine leaves pid files behind, and the next one refuses to start while they are there.
clear_remains() {
  local file pid
  for file in /var/run/docker.pid /var/run/docker/containerd/containerd.pid; do
    as_root test -f "$file" || continue
    pid=$(as_root cat "$file")
    if ! as_root test -d "/proc/$pid" || ! as_root grep -qE 'dockerd|containerd' "/proc/$pid/comm"; then
      say "removing $file, which a killed engine left behind"
      as_root rm -f "$file"
    fi
  done
}

start_engine() {
  require_root "starting the Docker Engine"
  if [ -d /run/systemd/system ]; then
    say "starting the Docker Engine with systemd"
    as_root systemctl start docker || die "systemd could not start the engine: see journalctl -u docker"
  else
    clear_remains
    say "starting dockerd in the background; it writes to /var/log/dockerd.log"
    # A session of its own, so that a Ctrl-C meant for a run does not end the engine.
    as_root bash -c 'setsid nohup dockerd >>/var/log/dockerd.log 2>&1 </dev/null &'
  fi
  local waited=0
  until answers || as_root docker version >/dev/null 2>&1; do
    [ "$waited" -lt 60 ] || die "the engine did not answer within 60 s: see /var/log/dockerd.log"
    sleep 1
    waited=$((waited + 1))
  done
  say "the engine answers after ${waited} s"
}

[[ $(docker --version 2>/dev/null) != podman* ]] || die "docker is Podman's here, and the labs are tried with Docker's engine only: install that, and remove podman-docker"
answers && exit 0
# A named remote or alternative engine that does not answer is the user's to mend, not ours to replace.
[ -z "${DOCKER_HOST:-}" ] || die "DOCKER_HOST=$DOCKER_HOST does not answer: start that engine, or unset DOCKER_HOST"
why=$(docker version 2>&1 || :)
[[ $why != *"permission denied"* ]] || not_yours
[[ $why != *"in this WSL"* ]] \
  || die "Docker Desktop keeps its engine from this WSL distribution: turn it on in Settings, Resources, WSL integration"
context=$(docker context inspect --format '{{.Name}}' 2>/dev/null || echo default)
[ "$context" = default ] || die "the engine of the context $context does not answer: start it, or take this machine's own (docker context use default)"
[ "$(uname -s)" = Linux ] || die "no Docker Engine answers: start Docker Desktop (or another engine), then run this again"
command -v dockerd >/dev/null 2>&1 || install_engine
answers || start_engine
answers || not_yours
