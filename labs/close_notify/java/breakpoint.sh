#!/bin/sh
# breakpoint.sh: starts a second client, a debugger with a breakpoint on Thread.start beside it, makes one request, and
# prints the stack that the breakpoint was reached with. On Java 21: the old JRE here comes without a debug agent.
set -eu
cd /run/service
mkdir -p debugged
/opt/jre/21.0.8/bin/java -XX:+UseSerialGC -Xmx96m -agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:5005 \
  -Djdk.tls.client.protocols=TLSv1.2 -Djava.io.tmpdir=/run/service \
  -Djavax.net.ssl.trustStore=/run/keys/trusted.p12 -Djavax.net.ssl.trustStorePassword=test-only \
  -cp "/opt/soap/client.jar:/opt/boot/2.4.1/*" incidentlabs.client.ClientApplication \
  --spring.main.banner-mode=off --logging.level.root=error --server.port=8543 \
  --sender=url-connection --url=https://server:8443/ws >debugged/log 2>&1 &
jvm=$!
trap 'kill $jvm 2>/dev/null' EXIT

answers() { curl --silent --fail --max-time 20 http://localhost:8543/ >/dev/null; }
tries=0
until answers; do
  tries=$((tries + 1))
  [ $tries -lt 100 ] || { cat debugged/log >&2; exit 1; }
  sleep 0.3
done

{
  sleep 2
  echo 'stop in java.lang.Thread.start()'
  sleep 1
  answers &
  sleep 3
  echo where
  sleep 1
  echo 'clear java.lang.Thread.start()'
  echo resume
  echo quit
} | /opt/jdk/bin/jdb -attach 127.0.0.1:5005 2>&1 | grep -E 'Breakpoint hit|^ +\[[0-9]+\]' | head -n 30
