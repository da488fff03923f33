#!/bin/sh
# load.sh KIND SECONDS URL: twenty clients that ask as fast as they are answered, and a line of JSON with what came of it.
# KIND: full (a connection and a handshake for each request), keep-alive (one for all), resumed (a session that is offered again).
set -eu
clients=20
began=$(date +%s.%N)
case $1 in
  full) ab -q -r -f TLS1.2 -c $clients -t "$2" -n 1000000 "$3" ;;
  keep-alive) ab -q -r -f TLS1.2 -k -c $clients -t "$2" -n 1000000 "$3" ;;
  resumed)
    address=${3#https://}
    for _ in $(seq $clients); do
      openssl s_time -reuse -time "$2" -connect "${address%/}:443" -www / &
    done
    wait
    ;;
  *) echo "load: $1: full, keep-alive or resumed" ;;
esac 2>&1 | awk -v began="$began" '
  /^Time taken for tests:/ { seconds = $5 }
  /^Complete requests:/ { requests = $3 }
  /^Failed requests:/ { failed = $3 }
  /^Non-2xx responses:/ && $3 > failed { failed = $3 }
  /^TLS Protocol:|^SSL\/TLS Protocol:/ { tls = $3 }
  # s_time: a letter for each connection, r where its session was resumed.
  /^[a-zA-Z*]+$/ && !/[^rtTuU*]/ { requests += length($0); resumed += gsub(/r/, "") }
  NF { said = $0 }
  END {
    if (!requests) print "load: nothing was answered: " said >"/dev/stderr"
    if (!seconds) {
      "date +%s.%N" | getline now
      seconds = now - began
    }
    printf "{\"requests\": %d, \"resumed\": %d, \"failed\": %d, \"seconds\": %.3f, \"tls\": \"%s\"}\n", requests, resumed, failed, seconds, tls
  }
'
