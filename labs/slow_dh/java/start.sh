#!/bin/sh
# start.sh: starts the server with the JRE, the wss4j and the BouncyCastle that the environment names.
set -eu

java=/opt/jre/$JRE/bin/java
missing() { echo "start: $1 is not in this image; it has: $2" >&2; exit 2; }
[ -x "$java" ] || missing "JRE=$JRE" "$(cd /opt/jre && echo *)"
[ -d "/opt/wss4j/$WSS4J" ] || missing "WSS4J=$WSS4J" "$(cd /opt/wss4j && echo *)"
jar=/opt/bouncycastle/bcprov-$BOUNCYCASTLE.jar
[ "$BOUNCYCASTLE" = none ] || [ -f "$jar" ] || missing "BOUNCYCASTLE=$BOUNCYCASTLE" "none $(cd /opt/bouncycastle && echo *)"

case $PUT_BACK in
  parameters,alias | alias | '') ;;
  *) echo "start: PUT_BACK=$PUT_BACK is none of parameters,alias; alias; and nothing" >&2; exit 2 ;;
esac

keys=/run/keys
cd /run/service
"$java" -version 2>&1 | head -n 1

# A key for tests only, made at every start: the gateway does not ask whose it is. 3DES, because the old JRE reads no newer
# PKCS#12.
old_pkcs12='-passout pass:test-only -keypbe PBE-SHA1-3DES -certpbe PBE-SHA1-3DES -macalg sha1'
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 \
  -subj '/CN=TEST ONLY incident-labs server' 2>openssl.log || { cat openssl.log >&2; exit 2; }
# shellcheck disable=SC2086
openssl pkcs12 -export -in cert.pem -inkey key.pem -out own.p12 $old_pkcs12
until [ -e $keys/gateway.pem ]; do sleep 0.1; done
# shellcheck disable=SC2086
openssl pkcs12 -export -nokeys -in $keys/gateway.pem -out trusted.p12 $old_pkcs12 -jdktrust anyExtendedKeyUsage

# What was usual once: no size of a DH key and no digest is refused. RSASSA-PSS is, because old BouncyCastles fail in it.
cat >java.security <<'END'
jdk.tls.disabledAlgorithms=SSLv3, RSASSA-PSS
jdk.certpath.disabledAlgorithms=MD2
jdk.tls.legacyAlgorithms=
END
if [ "$PROVIDERS" = in-java-security ]; then
  theirs=$(grep -c '^security\.provider\.[0-9]' "/opt/jre/$JRE/conf/security/java.security")
  echo "security.provider.$((theirs + 1))=org.bouncycastle.jce.provider.BouncyCastleProvider" >>java.security
fi

agents=''
[ -z "$PUT_BACK" ] || agents="-javaagent:/opt/acks/agent.jar=$PUT_BACK"
# With the agent that writes secrets Tomcat 7 does not start on Java 25 (ClassCircularityError).
case $JRE in
  25.*) ;;
  *) agents="$agents -javaagent:/opt/extract-tls-secrets.jar=/run/service/keys.log" ;;
esac

until curl --silent --fail --output /dev/null http://127.0.0.1:8080/providers; do sleep 0.3; done && touch ready &
# shellcheck disable=SC2086
exec "$java" -XX:+UseSerialGC -Xmx128m -Xss512k -Djava.io.tmpdir=/run/service \
  -Djava.security.properties=/run/service/java.security "-Djdk.tls.ephemeralDHKeySize=$DH_BITS" -Djavax.net.debug=ssl \
  --add-opens java.base/sun.security.ssl=ALL-UNNAMED --add-opens java.base/java.util=ALL-UNNAMED \
  $agents ${JAVA_OPTS:-} \
  -cp "/opt/acks/server.jar:/opt/server/*:/opt/wss4j/$WSS4J/*:$jar" \
  incidentlabs.server.AckServer own.p12 trusted.p12 test-only "$THREADS" "$PROVIDERS"
