#!/bin/sh
# PRELOAD is for haproxy alone: as LD_PRELOAD in the container's environment it would reach every command
# that is run in here, the openssl of one's own hands included.
set -eu
haproxy -v | head -n 1

ready_when_it_answers() {
  # Port 9999 in hexadecimal, listening: the stats socket, opened once the address of every line is known.
  until grep -q ':270F .* 0A ' /proc/net/tcp; do sleep 0.2; done
  touch /run/service/ready
}
# A grandchild: of a child, HAProxy would say that it does not know whose it was.
(ready_when_it_answers &)
[ -z "${PRELOAD:-}" ] || export LD_PRELOAD="$PRELOAD"
exec haproxy -W -db -f /usr/local/etc/haproxy/haproxy.cfg
