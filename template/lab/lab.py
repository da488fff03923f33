"""Clients that come back with the session they were given, and what each of their connections pays."""

import time

from workbench import connections
from workbench.oracle import share

PORT = 8443


def drive(stack, recorder):
    """Records some clients, one after another, each of which makes a connection and five more with the session that it was given;
    notes when it began (seconds since the epoch), and how many it took."""
    clients = int(stack.environment("operator")["CLIENTS"])
    with recorder.capture():
        for number in range(clients):
            began = time.time()
            stack.exec("operator", ["sh", "-c", f"openssl s_client -connect server:{PORT} -reconnect </dev/null 2>&1"])
            recorder.note("client", number=number, began=began, took=round(time.time() - began, 3))
        # What is on the wire is in the capture a moment later.
        time.sleep(1)


def facts(run):
    """What is offered, and what becomes of it. Shares are of the finished handshakes that offered a session."""
    table = connections.table(run.capture)
    finished = connections.finished(table[table["server_port"] == PORT])
    offered = finished[finished["session_offered"]]
    notes = run.metrics
    return {
        "connections": len(finished),
        "offered": len(offered),
        "declined_share": share(offered["handshake"] == "full"),
        "slowest_client_s": float(notes.loc[notes["source"] == "client", "took"].max()),
    }
