#!/bin/sh
# keypairs.sh THREADS BITS PATIENCE_MS default|bouncycastle own|one|each: makes Diffie-Hellman key pairs in a JVM of its own,
# with the server's Java and BouncyCastle, and says how long that took.
set -eu
[ $# = 5 ] || { echo "usage: keypairs.sh THREADS BITS PATIENCE_MS default|bouncycastle own|one|each" >&2; exit 2; }
exec "/opt/jre/$JRE/bin/java" -XX:+UseSerialGC -Xmx64m \
  -cp "/opt/acks/server.jar:/opt/bouncycastle/bcprov-$BOUNCYCASTLE.jar" incidentlabs.server.KeyPairs "$@"
