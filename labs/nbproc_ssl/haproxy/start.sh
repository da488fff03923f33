#!/bin/sh
# HAProxy with one of the stack's certificates.
set -eu
[ -e "/run/keys/$CERTIFICATE.pem" ] || { echo "CERTIFICATE=$CERTIFICATE: rsa-4096, rsa-2048 or ecdsa-p256" >&2; exit 2; }
mkdir /run/service/certificates
cp "/run/keys/$CERTIFICATE.pem" /run/service/certificates/
if ! said=$(haproxy -c -f /usr/local/etc/haproxy/haproxy.cfg 2>&1); then
  # What is wrong first, and where; the words around it say less.
  printf '%s\n' "$said" | grep 'ALERT.*parsing \[' | head -n 2 | grep . >&2 || printf '%s\n' "$said" >&2
  exit 2
fi
# nginx starts beside it, at 127.0.0.1:81. HAProxy looks at once, takes who does not listen yet for dead, and comes back to him
# after seconds only.
for _ in $(seq 25); do
  ! grep -q ' 0100007F:0051 [^ ]* 0A ' /proc/net/tcp || break
  sleep 0.2
done
exec haproxy -W -db -f /usr/local/etc/haproxy/haproxy.cfg
