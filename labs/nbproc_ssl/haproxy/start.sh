#!/bin/sh
# HAProxy with one of the stack's certificates.
set -eu
[ -e "/run/keys/$CERTIFICATE.pem" ] || { echo "CERTIFICATE=$CERTIFICATE: rsa-4096, rsa-2048 or ecdsa-p256" >&2; exit 2; }
mkdir /run/service/certificates
cp "/run/keys/$CERTIFICATE.pem" /run/service/certificates/
haproxy -v | head -n 1
exec haproxy -W -db -f /usr/local/etc/haproxy/base.cfg -f /usr/local/etc/haproxy/haproxy.cfg
