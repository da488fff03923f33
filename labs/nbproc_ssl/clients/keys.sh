#!/bin/sh
# Keys for tests only, made once for the whole stack: a certificate of each kind with its key, and keys for tickets.
set -eu
cd /run/keys
make() {
  name=$1
  shift
  openssl req -x509 -newkey "$@" -nodes -keyout "/run/service/$name.key" -out "/run/service/$name.pem" -days 2 \
    -subj "/CN=TEST ONLY incident-labs $name" 2>/run/service/openssl.log || { cat /run/service/openssl.log >&2; exit 2; }
  cat "/run/service/$name.pem" "/run/service/$name.key" >"$name.pem"
}
if [ ! -e tickets ]; then
  make ecdsa-p256 ec -pkeyopt ec_paramgen_curve:P-256
  make rsa-2048 rsa:2048
  make rsa-4096 rsa:4096
  for _ in 1 2 3; do openssl rand -base64 48; done >.tickets
  mv .tickets tickets
fi
touch /run/service/ready
exec sleep infinity
