#!/bin/sh
# start.sh server|client: starts one side with the JRE that the environment names; the client with the libraries that
# it names, too. With WITNESS set the client logs TLS and its threads, and writes its secrets: dear, so only one does.
set -eu

java=/opt/jre/$JRE/bin/java
missing() { echo "start: $1 is not in this image; it has: $2" >&2; exit 2; }
[ -x "$java" ] || missing "JRE=$JRE" "$(cd /opt/jre && echo *)"

cd /run/service

# A key for tests only, made once for the whole stack, so that who starts again still trusts whom he trusted. 3DES,
# because the old JRE reads no newer PKCS#12.
keys=/run/keys
if [ "$1" = server ] && [ ! -e $keys/trusted.p12 ]; then
  openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 \
    -subj '/CN=TEST ONLY incident-labs' -addext subjectAltName=DNS:server,DNS:localhost 2>openssl.log \
    || { cat openssl.log >&2; exit 2; }
  old_pkcs12='-passout pass:test-only -keypbe PBE-SHA1-3DES -certpbe PBE-SHA1-3DES -macalg sha1'
  # shellcheck disable=SC2086
  openssl pkcs12 -export -in cert.pem -inkey key.pem -out $keys/own.p12 $old_pkcs12
  # shellcheck disable=SC2086
  openssl pkcs12 -export -nokeys -in cert.pem -out trusted.p12 $old_pkcs12 -jdktrust anyExtendedKeyUsage
  # The others wait for this one.
  cp trusted.p12 $keys/.trusted.p12 && mv $keys/.trusted.p12 $keys/trusted.p12
fi
until [ -e $keys/trusted.p12 ]; do sleep 0.1; done

ready_when_it_answers() {
  # Port 8443 in hexadecimal, listening: openssl asks once it is there, and not from the start, for four JVMs want the CPU.
  until grep -q ':20FB .* 0A ' /proc/net/tcp*; do sleep 0.2; done
  until openssl s_client -connect 127.0.0.1:8443 </dev/null >/dev/null 2>&1; do sleep 0.3; done
  touch ready
}

"$java" -version 2>&1 | head -n 1
# Some of these JREs stumble over cgroups of today, and all they would learn there is said here.
common="-XX:-UseContainerSupport -XX:+UseSerialGC -Xmx96m -Xss512k"
tls='--server.port=8443 --server.ssl.key-store=/run/keys/own.p12 --server.ssl.key-store-type=PKCS12 --server.ssl.key-store-password=test-only'
quiet='--spring.main.banner-mode=off --spring.main.lazy-initialization=true --logging.level.root=error --logging.level.org.springframework.boot=off'

if [ "$1" = server ]; then
  ready_when_it_answers &
  # shellcheck disable=SC2086
  exec "$java" $common -cp "/opt/soap/server.jar:/opt/boot/2.4.1/*" \
    incidentlabs.server.ServerApplication $tls $quiet --plain.port=8080 "--connection=$CONNECTION"
fi

case $BOOT:$JRE in
  3.*:11.*) echo "start: BOOT=$BOOT needs Java 17 or newer, and JRE=$JRE is older" >&2; exit 2 ;;
esac
[ -d "/opt/boot/$BOOT" ] || missing "BOOT=$BOOT" "$(cd /opt/boot && echo *)"
libraries=/opt/httpcomponents
for each in "httpclient-$HTTPCLIENT" "httpcore-$HTTPCORE"; do
  [ -f "$libraries/$each.jar" ] || missing "$each" "$(cd $libraries && echo *.jar)"
done
case $BOOT in
  2.*) own="/opt/soap/apache4.jar:$libraries/httpclient-$HTTPCLIENT.jar:$libraries/httpcore-$HTTPCORE.jar:$libraries/commons-codec-1.15.jar" ;;
  *) own=/opt/soap/apache5.jar ;;
esac

# What the reflective patch calls is private to the JDK.
opened=''
[ "$SENDER" != http-client-reflective ] || opened='--add-opens java.base/sun.security.ssl=ALL-UNNAMED'

witness=''
if [ -n "${WITNESS:-}" ]; then
  # What it costs is not measured: the quick compiler will do, and takes less CPU from the others. Where a package is opened,
  # Java 25 loads what keeps track of that only when the agent is at work, and goes round in a circle; a module that reads another
  # has it loaded before.
  witness="--add-reads java.instrument=ALL-UNNAMED -javaagent:/opt/extract-tls-secrets.jar=/run/service/keys.log -Djavax.net.debug=ssl,handshake -Xlog:os+thread -XX:TieredStopAtLevel=1"
fi

ready_when_it_answers &
# shellcheck disable=SC2086
exec "$java" $common $opened $witness "-Djdk.tls.client.protocols=$TLS" ${JAVA_OPTS:-} \
  -Djavax.net.ssl.trustStore=$keys/trusted.p12 -Djavax.net.ssl.trustStoreType=PKCS12 -Djavax.net.ssl.trustStorePassword=test-only \
  -cp "/opt/soap/client.jar:$own:/opt/boot/$BOOT/*" \
  incidentlabs.client.ClientApplication $tls $quiet "--sender=$SENDER" "--url=$URL"
