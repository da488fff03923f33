"""Workers that connect to zone a's mesh and close, again and again: python3 /opt/workers.py SECONDS PACE...

One worker for each PACE, in connections a second; 0 is as fast as it can. A worker waits for each connection, so it never has
more than one. Prints a line of JSON for each worker and second: `worker`, `pace`, `second`, `connections` made.
"""

import json
import socket
import struct
import sys
import threading
import time
from collections import Counter

#: A close that leaves nothing behind, as that of a health check.
RESET = struct.pack("ii", 1, 0)
#: Longer than any SYN is sent again within a run.
PATIENCE = 30


def work(pace, address, start, end, made):
    """Counts in `made` the connections of each second."""
    start.wait()
    began = time.monotonic()
    number = 0
    while (now := time.monotonic() - began) < end:
        wait = number / pace - now if pace else 0
        if wait > 0:
            time.sleep(wait)
        try:
            with socket.create_connection(address, timeout=PATIENCE) as connection:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        except OSError:
            continue
        made[int(time.monotonic() - began)] += 1
        # Who was held up goes on at his pace, and does not catch up.
        number = max(number + 1, int((time.monotonic() - began) * pace))


def main():
    seconds, *paces = map(int, sys.argv[1:])
    address = (socket.gethostbyname("mesh-a"), 8080)
    start = threading.Event()
    made = [Counter() for _ in paces]
    for pace, each in zip(paces, made, strict=True):
        threading.Thread(target=work, args=(pace, address, start, seconds, each), daemon=True).start()
    start.set()
    # Those that wait for a connection at the end are not waited for.
    time.sleep(seconds + 0.2)
    for worker, (pace, counts) in enumerate(zip(paces, made, strict=True), start=1):
        for second in range(seconds):
            print(json.dumps({"worker": worker, "pace": pace, "second": second, "connections": counts[second]}))


if __name__ == "__main__":
    main()
