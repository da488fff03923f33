#!/bin/sh
# breakpoint.sh: starts a second client, a debugger with a breakpoint on Thread.start beside it, makes one request, and
# prints the stack that the breakpoint was reached with. On Java 21: the old JRE here comes without a debug agent.
set -eu
cd /run/service
mkdir -p debugged
/opt/jre/21.0.8/bin/java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx96m \
  -agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:5005 \
  -Djdk.tls.client.protocols=TLSv1.2 -Djava.io.tmpdir=/run/service \
  -Djavax.net.ssl.trustStore=/run/keys/trusted.p12 -Djavax.net.ssl.trustStorePassword=test-only \
  -cp "/opt/soap/client.jar:/opt/boot/2.4.1/*" incidentlabs.client.ClientApplication \
  --spring.main.banner-mode=off --logging.level.root=error --server.port=8543 \
  --sender=url-connection --url=https://server:8443/ws >debugged/log 2>&1 &
jvm=$!
trap 'kill $jvm 2>/dev/null; wait' EXIT

# wait_for FILE COMMAND...: until the command succeeds, while the JVM lives, but not for ever; FILE tells why not.
wait_for() {
  file=$1 tries=300
  shift
  until "$@"; do
    tries=$((tries - 1))
    { [ $tries -gt 0 ] && kill -0 $jvm 2>/dev/null; } || { cat "$file" >&2; exit 1; }
    sleep 0.2
  done
}
answers() { curl --silent --fail --max-time 5 http://localhost:8543/ >/dev/null; }
wait_for debugged/log answers

said=debugged/jdb
says() { wait_for $said grep -q "$1" $said; }
rm -f debugged/typed && mkfifo debugged/typed
/opt/jdk/bin/jdb -attach 127.0.0.1:5005 <debugged/typed >$said 2>&1 &
jdb=$!
exec 3>debugged/typed
says 'Initializing jdb'
echo 'stop in java.lang.Thread.start()' >&3
says 'Set breakpoint'
answers &
says 'Breakpoint hit'
printf '%s\n' where 'clear java.lang.Thread.start()' resume quit >&3
wait $jdb || :
grep -oE 'Breakpoint hit.*|  \[[0-9]+\] .*' $said | head -n 30
