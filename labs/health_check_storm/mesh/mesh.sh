#!/bin/sh
# A mesh; and every second how many connections have been opened and reset before they came to anything, which is what a TCP
# check does: the program that listens never hears of them, so the kernel is asked.
set -eu
haproxy -db -f /usr/local/etc/haproxy/mesh.cfg &
echo $! >/run/service/pid
while sleep 1; do
  awk -v now="$(date +%s.%N)" '
    $1 != "TcpExt:" { next }
    !names { names = split($0, name); next }
    { for (each = 1; each <= names; each++) if (name[each] == "EmbryonicRsts") printf "{\"time\": %.3f, \"checks\": %d}\n", now, $each }
  ' /proc/net/netstat
done
