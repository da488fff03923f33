#!/bin/sh
# Starts the service with the JRE, the Jetty and the key that the environment names. With WITNESS set the JVM logs
# its TLS sessions and writes their secrets: dear, so only the specimens' server does it.
set -eu

java=/opt/jre/$JRE/bin/java
missing() { echo "start: $1 is not in this image; it has: $(cd "$2" && echo *)" >&2; exit 2; }
[ -x "$java" ] || missing "JRE=$JRE" /opt/jre
[ -d "/opt/jetty/$JETTY" ] || missing "JETTY=$JETTY" /opt/jetty

case $KEY in
  rsa:*) key="-newkey $KEY" ;;
  ec:*) key="-newkey ec -pkeyopt ec_paramgen_curve:${KEY#ec:}" ;;
  *) echo "start: KEY=$KEY is neither rsa:BITS nor ec:CURVE" >&2; exit 2 ;;
esac

# A key made at every start, for tests only. 3DES, because the old JRE reads no newer PKCS#12.
cd /run/service
# shellcheck disable=SC2086
openssl req -x509 $key -nodes -keyout key.pem -out cert.pem -days 2 -subj '/CN=TEST ONLY incident-labs' 2>openssl.log \
  || { cat openssl.log >&2; exit 2; }
openssl pkcs12 -export -in cert.pem -inkey key.pem -out keystore.p12 -passout pass:test-only \
  -keypbe PBE-SHA1-3DES -certpbe PBE-SHA1-3DES -macalg sha1

witness=''
if [ -n "${WITNESS:-}" ]; then
  witness="-javaagent:/opt/extract-tls-secrets.jar=/run/service/keys.log -Djavax.net.debug=ssl,handshake,session"
fi

"$java" -version 2>&1 | head -n 1

# A cold JVM needs so long for a handshake that health checks would time out, and a cold start is not what this lab
# measures: two clients shake hands for WARM_UP seconds before the container calls itself healthy.
warm_up() {
  port=${PORTS%% *}
  until openssl s_client -connect "127.0.0.1:$port" </dev/null >/dev/null 2>&1; do sleep 0.2; done
  openssl s_time -connect "127.0.0.1:$port" -new -time "$WARM_UP" >/dev/null 2>&1 &
  openssl s_time -connect "127.0.0.1:$port" -new -time "$WARM_UP" >/dev/null 2>&1
  wait
  touch ready
}
warm_up &

# shellcheck disable=SC2086
exec "$java" -XX:+UseSerialGC -Xmx256m $witness ${JAVA_OPTS:-} -cp "/opt/service.jar:/opt/jetty/$JETTY/*" \
  incidentlabs.Service keystore.p12 test-only $PORTS
