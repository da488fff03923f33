#!/bin/sh
# PRELOAD is for haproxy alone: as LD_PRELOAD in the container's environment it would reach every command
# that is run in here, the openssl of one's own hands included.
set -eu
haproxy -v | head -n 1
[ -z "${PRELOAD:-}" ] || export LD_PRELOAD="$PRELOAD"
exec haproxy -W -db -f /usr/local/etc/haproxy/haproxy.cfg
