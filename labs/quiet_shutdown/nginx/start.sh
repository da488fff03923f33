#!/bin/sh
# A key made at every start, for tests only.
set -eu
cd /run/nginx
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 \
  -subj '/CN=TEST ONLY incident-labs' 2>openssl.log || { cat openssl.log >&2; exit 2; }
nginx -v
exec nginx -g 'daemon off;'
