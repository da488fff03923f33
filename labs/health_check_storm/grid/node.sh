#!/bin/sh
# A node of the grid: haproxy.cfg once, and service.cfg once for each service. {zone} is the node's own zone; a line with
# {other} is there once for each of the other zones.
set -eu
others=
for each in $ZONES; do [ "$each" = "$ZONE" ] || others="$others $each"; done
cd /usr/local/etc/haproxy
awk -v zone="$ZONE" -v others="$others" -v services="$SERVICES" '
  function put(line, service,    count, names, number, each) {
    gsub(/\{service\}/, sprintf("service-%02d", service), line)
    gsub(/\{port\}/, 10000 + service, line)
    gsub(/\{zone\}/, zone, line)
    count = line ~ /\{other\}/ ? split(others, names, " ") : 1
    for (number = 1; number <= count; number++) {
      each = line
      gsub(/\{other\}/, names[number], each)
      print each
    }
  }
  FILENAME == "haproxy.cfg" { put($0, 0); next }
  { template[++lines] = $0 }
  END { for (service = 1; service <= services; service++) for (line = 1; line <= lines; line++) put(template[line], service) }
' haproxy.cfg service.cfg >/run/service/haproxy.cfg
exec haproxy -db -f /run/service/haproxy.cfg
