"""The questions of this case. Their answers are computed from the capture in hand."""

import pandas as pd

from workbench import connections, exercise, packets, plots
from workbench.exercise import COUNT, FRAME, PORTS, SHARE, Question

#: The recorded run that the questions are asked of.
OPENS = "broken"
SPECIMEN, HANDS, NGINX = 8444, 8445, 9443
ENDS = "How do the connections to port {} ({}) end, mostly: which side begins to end them, and with what?"


def symptom(run):
    """Keys that HAProxy computes, though nobody uses it."""
    rows = run.window()
    rows = rows[rows["source"] == "haproxy"]
    seconds = (rows["time"] - rows["time"].iloc[0]).round(1)
    data = pd.DataFrame({"scenario": "this run", "second": seconds, "keys": rows["key_rate"]})
    return plots.over_time(data, "keys", "SslBackendKeyRate, 1/s", "TLS keys that HAProxy computes per second, without a client")


# Who resumes


def resuming_ports(case):
    table = exercise.finished(case)
    return frozenset(map(int, table.loc[table["handshake"] == "resumed", "server_port"]))


def about_ports(case, given, right):
    if not given <= set(case.connections["server_port"]):
        return "Not every number of yours is a server's port: clients choose theirs anew for each connection."
    if given > right:
        return "Nothing is missing, but at least one of your ports never resumes: in all of its handshakes a Certificate is sent."
    if given < right:
        return "What you name is right, but it is not all. One resumed handshake is enough."
    return "Something is missing, and something does not belong there. Group `case.connections` by `server_port` and `handshake`."


# What they pay


def full_share(case, port=SPECIMEN):
    return float((exercise.finished(case, port)["handshake"] == "full").mean())


def about_share(case, given, right):
    if SHARE.same(given, 1 - right):
        return "That is the share of the others. A full handshake is one in which the server sends its Certificate."
    if SHARE.same(given, float((exercise.finished(case)["handshake"] == "full").mean())):
        return f"That is the share over all ports. Keep only the connections to {SPECIMEN}."
    return f"Take the connections to port {SPECIMEN}, leave out unfinished handshakes, and divide the full ones by all of them."


# What they offer


def offers(case, port=SPECIMEN):
    return int(exercise.finished(case, port)["session_offered"].sum())


def about_offers(case, given, right):
    table = exercise.finished(case, SPECIMEN)
    if given == int(case.connections["session_offered"].sum()):
        return f"That is the count over all ports. Keep only the connections to {SPECIMEN}."
    if given == int((table["handshake"] == "resumed").sum()):
        return "That many were honoured. Asked is what the client offers, whatever becomes of it: look into its ClientHello."
    if given > len(table):
        return "There are not even so many finished handshakes with this port."
    return "Look into each ClientHello to this port: a session is offered where its session id (or its ticket) is not empty."


# Where the server declines


def server_hellos(case):
    """The packets with a ServerHello, each with its connection's `handshake` and `session_offered`."""
    rows = case.packets
    rows = rows[
        packets.holding(rows, connections.SERVER_HELLO) & (rows["random"].str.split(",").str[0] != connections.RETRY_RANDOM)
    ]
    return rows.merge(case.connections[["stream", "server_port", "handshake", "session_offered"]], on="stream")


def first_declined(case):
    hellos = server_hellos(case)
    declined = hellos[hellos["session_offered"] & (hellos["handshake"] == "full")]
    return int(declined["frame"].iloc[0]) if len(declined) else None


def about_declined(case, given, right):
    if given is None:
        return "There is one. Look for a connection whose ClientHello offers a session, and which sees a Certificate all the same."
    if right is None:
        return "That one is no refusal. Compare what is offered with what is given, connection by connection, to the last."
    packet = case.packets[case.packets["frame"] == given]
    if connections.CLIENT_HELLO in packet["messages"].iloc[0].split(","):
        return "That is a ClientHello: with it a client may offer. Which frame is the server's reply to it?"
    hellos = server_hellos(case)
    hello = hellos[hellos["frame"] == given]
    if hello.empty:
        return "The server decides in its ServerHello (`tls.handshake.type == 2`), and there is none in that frame."
    if not hello["session_offered"].iloc[0]:
        return "On that connection nothing was offered, so nothing could be declined."
    if hello["handshake"].iloc[0] != "full":
        return "On that connection the offer is honoured: the server answers with the very session id that it was offered."
    return "The server declines in that frame, but it has declined before: look further up."


QUESTIONS = [
    Question(
        "who_resumes",
        "With which server ports does at least one handshake resume a session?",
        PORTS,
        resuming_ports,
        about_ports,
    ),
    Question(
        "price",
        f"Port {SPECIMEN} is the specimen's: four server lines of the Java service, checked like all the others. What "
        "share of its finished handshakes is full?",
        SHARE,
        full_share,
        about_share,
    ),
    Question(
        "offers",
        f"Four lines, many checks: each line comes back. In how many of the finished handshakes with port {SPECIMEN} does "
        "the client offer a session?",
        COUNT,
        offers,
        about_offers,
    ),
    Question(
        "declined",
        "In which frame does a server decline an offered session for the first time in this capture, on whichever port?",
        FRAME,
        first_declined,
        about_declined,
    ),
    exercise.ending("ending_java", ENDS.format(SPECIMEN, "Java, checked by HAProxy"), SPECIMEN),
    exercise.ending(
        "ending_nginx",
        ENDS.format(NGINX, "nginx, checked by the same HAProxy"),
        NGINX,
        "If it is as with Java, the end alone does not decide.",
    ),
    exercise.ending("ending_by_hand", ENDS.format(HANDS, "the same Java service, reconnected to with `openssl s_client`"), HANDS),
    exercise.tried(
        "change",
        "Each of these changes was made alone to the stack that has the incident, and the run recorded. Which one makes "
        "the checks resume? (More than one does.)",
        {
            "a": ("two_threads", "a second thread for HAProxy"),
            "b": ("tls_1_3", "TLS 1.3 for the checks in place of 1.2"),
            "c": ("jetty_9_4_12", "a later Jetty, 9.4.12, on the same Java"),
            "d": ("ecdsa", "an ECDSA certificate in place of RSA"),
            "e": ("httpchk", "checks that ask for a page and read the answer"),
            "f": ("session_cache", "more room in Java's session cache"),
            "g": ("haproxy_3_0", "a later HAProxy, 3.0"),
            "h": ("jdk_11_0_13", "a later Java of the same line, 11.0.13"),
            "i": ("longer_interval", "checks half as often"),
        },
    ),
]
