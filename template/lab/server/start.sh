#!/bin/sh
# A key made at every start, for tests only.
set -eu
cd /run/service
case $SESSION_CACHE$SESSION_TIMEOUT in
  *[!a-z0-9:]*) echo "start: SESSION_CACHE=$SESSION_CACHE, SESSION_TIMEOUT=$SESSION_TIMEOUT: words of nginx's are wanted" >&2; exit 2 ;;
esac
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 \
  -subj '/CN=TEST ONLY incident-labs' 2>openssl.log || { cat openssl.log >&2; exit 2; }
printf 'ssl_session_cache %s;\nssl_session_timeout %s;\n' "$SESSION_CACHE" "$SESSION_TIMEOUT" >sessions.conf
nginx -v
touch ready
exec nginx -g 'daemon off;'
