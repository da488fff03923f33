#!/usr/bin/env bash
# JupyterLab with the cases' notebooks and captures, for the user who calls. SEAT=name gives each of several people on a
# machine a copy and a port of their own.
#
# It runs in the workbench image without the engine's socket and without any network. A door beside it takes connections
# at 127.0.0.1 and passes them on through a Unix socket, in a volume that both mount.
set -euo pipefail
export LC_ALL=C
cd "$(cd "$(dirname "$0")/.." && pwd -P)"
root=$PWD
first_port=8888 last_port=8987

part=notebooks
# shellcheck source=compose/say.sh
. compose/say.sh
# shellcheck source=compose/image.sh
. compose/image.sh

seat=${SEAT:-}
[[ -z $seat || ($seat =~ ^[a-z][a-z0-9]{0,19}$ && $seat != run) ]] \
  || die "SEAT=$seat: not a seat's name: up to 20 small letters and digits, a letter first, and not run"
suffix=${seat:+-$seat}
name=incident-labs-notebooks$suffix door=incident-labs-door$suffix network=incident-labs-doors
copies=mine/notebooks$suffix
label=incident-labs=notebooks

running() { [ "$(docker container inspect --format '{{.State.Running}}' "$1" 2>/dev/null)" = true ]; }

# What this seat keeps; put there once, and never overwritten.
put_copies() {
  local toml lab folder kind
  [ -d mine ] || mkdir -m 1777 mine
  for toml in labs/*/lab.toml; do
    lab=$(basename "$(dirname "$toml")")
    folder=$copies/case-$(sed -n 's/^case = //p' "$toml")
    if ! mkdir -p "$folder" 2>/dev/null || [ ! -w "$folder" ]; then
      die "$folder: $(me) cannot write there: take another SEAT"
    fi
    for kind in walkthrough exercise; do
      [ -e "$folder/$kind.ipynb" ] && continue
      cp "notebooks/$lab$([ "$kind" = walkthrough ] || echo _exercise).ipynb" "$folder/.$kind.partial"
      mv "$folder/.$kind.partial" "$folder/$kind.ipynb"
    done
    ln -sfn "../../../captures/$lab" "$folder/captures"
  done
}

open_jupyter() {
  # Everybody may enter the volume, and only this user the socket in it.
  docker volume create --label "$label" --opt type=tmpfs --opt device=tmpfs --opt o=mode=1777,size=64k "$name" >/dev/null
  # A kernel takes 150 to 300 MiB, and every notebook that was opened keeps one.
  # The repository is read-only, other seats' copies are not to be seen, and this seat's are in the same place as outside.
  JUPYTER_TOKEN=$token docker run "${confined[@]}" --name "$name" --network none --memory 4g --pids-limit 512 \
    --tmpfs /tmp --volume "$root:$root:ro" --tmpfs "$root/mine" --volume "$root/$copies:$root/$copies" \
    --workdir "$root/$copies" --env JUPYTER_TOKEN --env PYTHONPATH="$root" --env JUPYTER_CONFIG_PATH="$root/compose/jupyter" \
    "$image" jupyter lab --ServerApp.root_dir="$root/$copies" >/dev/null
}

# The network is shared by the doors of all seats, which do not reach each other in it.
open_door() {
  local said port=$first_port options=(--opt com.docker.network.bridge.enable_icc=false
    --opt com.docker.network.bridge.enable_ip_masquerade=false)
  while [ "$port" -le "$last_port" ]; do
    # Quick where it can be seen from here; the engine has the last word.
    if (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
      port=$((port + 1))
      continue
    fi
    docker network inspect "$network" >/dev/null 2>&1 \
      || docker network create --label "$label" "${options[@]}" "$network" >/dev/null 2>&1 || :
    url="http://127.0.0.1:$port/lab?token=$token"
    if said=$(docker run "${confined[@]}" --name "$door" --network "$network" --publish "127.0.0.1:$port:8888" \
      --memory 64m --pids-limit 256 --label "incident-labs.url=$url" \
      "$image" socat TCP-LISTEN:8888,fork,reuseaddr UNIX-CONNECT:/door/jupyter.sock 2>&1); then
      [ "$port" = "$first_port" ] || say "port $first_port is taken: this one is at $port"
      return
    fi
    docker rm --force "$door" >/dev/null 2>&1 || :
    case $said in
      *"already allocated"* | *"already in use"* | *"not available"*) port=$((port + 1)) ;;
      # The last seat but this one has just removed it.
      *"network $network not found"*) ;;
      *) die "the engine does not publish port $port: $(tail -n 1 <<<"$said")" ;;
    esac
  done
  die "127.0.0.1: no port from $first_port to $last_port is free; end what listens there"
}

wait_until_open() {
  local waited=0
  until docker exec "$name" test -S /door/jupyter.sock 2>/dev/null; do
    if ! running "$name" || [ "$waited" -ge 120 ]; then
      die "JupyterLab does not start: $(docker logs "$name" 2>&1 | tail -n 1)"
    fi
    sleep 0.5
    waited=$((waited + 1))
    [ $((waited % 20)) != 0 ] || say "… starting JupyterLab: $((waited / 2)) s"
  done
}

close() {
  trap '' INT TERM HUP
  docker stop -t 5 "$name" >/dev/null 2>&1 || :
  docker rm --force "$name" "$door" >/dev/null 2>&1 || :
  docker volume rm "$name" >/dev/null 2>&1 || :
  # Another seat's door may still be in it.
  docker network rm "$network" >/dev/null 2>&1 || :
}

bash compose/engine.sh
bash compose/bundle.sh load
if running "$name" && running "$door"; then
  url=$(docker container inspect --format '{{index .Config.Labels "incident-labs.url"}}' "$door")
  echo "JupyterLab is open already: $url (docker stop $name ends it)"
  exit 0
fi
engine_options
workbench_image
confined=(--detach --init --label "$label" --user "$caller" --cap-drop ALL --read-only --security-opt no-new-privileges
  --security-opt label=disable --log-opt max-size=5m --log-opt max-file=2 --volume "$name:/door")
close
trap close EXIT
trap 'exit 130' INT TERM HUP
token=$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')
put_copies
say "starting JupyterLab (some seconds)"
open_jupyter
open_door
wait_until_open
trap 'exit 0' INT TERM HUP
echo "JupyterLab: $url"
say "your copies are in $copies; Ctrl-C ends it"
docker wait "$name" >/dev/null &
wait $!
say "JupyterLab has ended"
