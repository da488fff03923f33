"""One TLS session, offered again and again over new connections: python3 /opt/resume.py id|ticket TIMES HOST. Prints how many of
them were resumed.
"""

import socket
import ssl
import sys

from probe import PATIENCE, ask, context


def connect(host, settings, session=None):
    """A session after a request, and whether it was resumed."""
    with (
        socket.create_connection((host, 443), timeout=PATIENCE) as connection,
        settings.wrap_socket(connection, session=session) as tls,
    ):
        ask(tls)
        return tls.session, tls.session_reused


def main():
    by, times, host = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    settings = context()
    if by == "id":
        settings.options |= ssl.OP_NO_TICKET
    session, _ = connect(host, settings)
    resumed = [connect(host, settings, session)[1] for _ in range(times)]
    print(f"{sum(resumed)} of {times} resumed")


if __name__ == "__main__":
    main()
