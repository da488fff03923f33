#!/bin/sh
# load.sh KIND SECONDS URL: twenty clients that ask as fast as they are answered, and a line of JSON with what came of it.
# KIND: full (a connection and a handshake for each request), keep-alive (one for all), resumed (a handshake that is resumed).
set -eu
clients=20
case $1 in
  full) ab -q -f TLS1.2 -c $clients -t "$2" -n 10000000 "$3" ;;
  keep-alive) ab -q -f TLS1.2 -k -c $clients -t "$2" -n 10000000 "$3" ;;
  resumed)
    address=${3#https://}
    for _ in $(seq $clients); do
      openssl s_time -reuse -time "$2" -connect "${address%/}:443" -www / &
    done
    wait
    ;;
  *) echo "load: $1: full, keep-alive or resumed" >&2; exit 2 ;;
esac 2>&1 | awk -v seconds="$2" '
  /^Time taken for tests:/ { seconds = $5 }
  /^Complete requests:/ { requests = $3 }
  /^(Failed requests|Non-2xx responses):/ { failed += $3 }
  /^TLS Protocol:|^SSL\/TLS Protocol:/ { split($3, tls, ","); tells = $3 }
  # s_time: its second figure counts, of the connections that resume.
  /connections in [0-9]+ real seconds/ { requests += $1 }
  END {
    printf "{\"requests\": %d, \"failed\": %d, \"seconds\": %.3f, \"tls\": \"%s\"}\n", requests, failed, seconds, tells
  }
'
