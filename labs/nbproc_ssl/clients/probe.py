"""A plain HTTP request 50 times a second, whether or not the last one was answered, and a connection over TLS once a second
whose secrets are kept. python3 /opt/probe.py SECONDS HOST. Prints a line of JSON: how many requests were `sent` and `answered`.
"""

import json
import socket
import ssl
import sys
import threading
import time

A_SECOND = 50
#: In seconds.
PATIENCE = 5
SECRETS = "/run/service/keys.log"
REQUEST = b"GET / HTTP/1.0\r\nHost: haproxy\r\n\r\n"
#: A page, or where it is.
WELL = (b"HTTP/1.1 200", b"HTTP/1.1 30")


def context():
    """TLS 1.2 with a certificate that nobody has signed."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
    made.maximum_version = ssl.TLSVersion.TLSv1_2
    made.keylog_filename = SECRETS
    return made


def ask(connection):
    """Whether a request over a connection is answered, and not with an error."""
    connection.sendall(REQUEST)
    return b"".join(iter(lambda: connection.recv(4096), b"")).startswith(WELL)


def plain(host, answered):
    try:
        with socket.create_connection((host, 80), timeout=PATIENCE) as connection:
            answered.append(ask(connection))
    except OSError:
        pass


def over_tls(host):
    try:
        with socket.create_connection((host, 443), timeout=PATIENCE) as connection, context().wrap_socket(connection) as tls:
            ask(tls)
    except OSError:
        pass


def main():
    seconds, host = int(sys.argv[1]), socket.gethostbyname(sys.argv[2])
    answered, began = [], time.monotonic()
    for number in range(seconds * A_SECOND):
        time.sleep(max(0, began + number / A_SECOND - time.monotonic()))
        threading.Thread(target=plain, args=(host, answered), daemon=True).start()
        if number % A_SECOND == 0:
            # Between two of the others.
            threading.Timer(0.5 / A_SECOND, over_tls, args=(host,)).start()
    time.sleep(0.5)
    print(json.dumps({"sent": seconds * A_SECOND, "answered": sum(answered)}))


if __name__ == "__main__":
    main()
