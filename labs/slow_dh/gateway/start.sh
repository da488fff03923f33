#!/bin/sh
# start.sh: a reverse proxy that passes on over TLS what comes in as /new/SECONDS/... and /resumed/SECONDS/..., gives up
# after as many seconds, and then says 403.
set -eu
keys=/run/keys
cd /run/service

# They become words of nginx's configuration, and nothing else shall.
case $PROTOCOLS$CIPHERS in
  *[!A-Za-z0-9.:+!_\ -]*) echo "start: PROTOCOLS=$PROTOCOLS, CIPHERS=$CIPHERS: names of protocols and of ciphers are wanted" >&2; exit 2 ;;
esac

# A key for tests only, made once for the whole stack, so that the server trusts it also after it started again.
if [ ! -e $keys/gateway.pem ]; then
  openssl req -x509 -newkey rsa:2048 -nodes -keyout $keys/gateway.key -out gateway.pem -days 2 \
    -subj '/CN=TEST ONLY incident-labs gateway' 2>openssl.log || { cat openssl.log >&2; exit 2; }
  # The server waits for this one.
  cp gateway.pem $keys/.gateway.pem && mv $keys/.gateway.pem $keys/gateway.pem
fi

# Security level 0: what was usual once is too short for today's OpenSSL.
cat >tls.conf <<END
proxy_ssl_protocols $PROTOCOLS;
proxy_ssl_ciphers $CIPHERS:@SECLEVEL=0;
END
mkdir -p ways
for seconds in 1 2 3 5 8 13 20 30 60; do
  for way in new resumed; do
    reuse=on
    [ $way = resumed ] || reuse=off
    cat >ways/$way-$seconds.conf <<END
location /$way/$seconds/ {
    proxy_connect_timeout ${seconds}s;
    proxy_read_timeout ${seconds}s;
    proxy_ssl_session_reuse $reuse;
    proxy_pass https://server:8443/;
}
END
  done
done
nginx -v
touch ready
exec nginx -g 'daemon off;'
