"""The questions of this case. Their answers are computed from the capture in hand."""

import pandas as pd

from workbench import connections, lab, packets, plots
from workbench.exercise import COUNT, FRAME, MILLISECONDS, SHARE, Moot, Question, tried

#: The recorded run that the questions are asked of.
OPENS = "broken"
PLAIN, TLS = 80, 443
waits = lab.load("nbproc_ssl").part("lab").waits
#: Plain HTTP, before the clients over TLS come and beside them.
KINDS = {"alone": plots.NEUTRAL, "beside TLS": plots.BROKEN}


def symptom(run):
    """How long each plain HTTP request waited for the first byte of its answer."""
    waited, load = waits(packets.table(run.capture)), load_of(connections.table(run.capture))
    begin, end = load["start"].min(), load["end"].max()
    waited = waited[waited["start"] <= end].dropna()
    kind = (waited["start"] >= begin).map({False: "alone", True: "beside TLS"})
    data = pd.DataFrame({"second": (waited["start"] - begin).round(2), "ms": waited["ms"].round(2), "kind": kind})
    return plots.waits(data, "the first of the clients over TLS", "How long plain HTTP waits", KINDS, "plain HTTP")


def load_of(table):
    """The connections over TLS of who asks for nothing else."""
    others = set(table.loc[table["server_port"] == PLAIN, "client"])
    return table[(table["server_port"] == TLS) & ~table["client"].isin(others) & (table["client_syns"] > 0)]


def load(case):
    found = load_of(case.connections)
    if found.empty:
        raise Moot("It holds no connection of the load.")
    return found


def asked(case):
    found = waits(case.packets).dropna()
    if found.empty:
        raise Moot("It holds no plain HTTP request with its answer.")
    return found


# How long plain HTTP waits


def alone(case):
    before = asked(case).loc[lambda table: table["start"] < load(case)["start"].min(), "ms"]
    if before.empty:
        raise Moot("It holds no plain HTTP request before the load.")
    return float(before.median())


def beside(case):
    table, those = asked(case), load(case)
    during = table.loc[table["start"].between(those["start"].min(), those["end"].max()), "ms"]
    if during.empty:
        raise Moot("It holds no plain HTTP request beside the load.")
    return float(during.median())


def about_ms(case, given, right):
    if MILLISECONDS.same(1000 * given, right):
        return "That is in seconds."
    if MILLISECONDS.same(given, float(asked(case)["ms"].median())):
        return "That is the median over the whole capture. Take the requests of the time that is asked for."
    return "Of each connection to port 80: the time from its SYN to the first packet of the server's with `bytes`. Then the median."


def told_beside(case, given):
    try:
        return f"That is {given / alone(case):.0f} times as long, for requests that have nothing to do with TLS."
    except Moot:
        return ""


def longest(case):
    table = asked(case)
    return int(table.loc[table["ms"].idxmax(), "frame"])


def about_longest(case, given, right):
    table = asked(case)
    if given not in set(table["frame"]):
        return "That frame holds no SYN of a plain HTTP request. `tcp.dstport == 80 and tcp.flags.syn == 1` finds them."
    return "Others waited longer."


def told_longest(case, given):
    table = asked(case).set_index("frame")
    return f"It waited {table.loc[given, 'ms']:.0f} ms."


# What the load does


def full_share(case):
    kinds = load(case)["handshake"].dropna()
    if kinds.empty:
        raise Moot("It holds no handshake of the load.")
    return float((kinds == "full").mean())


def about_full(case, given, right):
    return "Of the load's connections that have a `handshake`, how many are full ones?"


def hello(case):
    waited = load(case)
    waited = waited.loc[waited["server_hello_time"].notna(), "hello_wait"]
    if waited.empty:
        raise Moot("It holds no ServerHello of the load.")
    return float(1000 * waited.median())


def about_hello(case, given, right):
    if MILLISECONDS.same(1000 * given, right):
        return "That is in seconds."
    return "`hello_wait` of the load's connections, in seconds: its median."


def told_hello(case, given):
    if case.run is None:
        return ""
    bursts = case.run.metrics[case.run.metrics["source"] == "burst"].set_index("name")
    cost = 1000 * bursts.loc["loaded", "cpu_seconds"] / bursts.loc["loaded", "requests"]
    return f"HAProxy computes {cost:.1f} ms for a handshake and its request. What does a ClientHello do for the rest of the time?"


# Who is resumed


def resumed(case):
    table = case.connections
    offered = table[(table["server_port"] == TLS) & table["session_offered"] & ~table["client"].isin(load(case)["client"])]
    if offered.empty:
        raise Moot("Nobody but the load offers a session in it.")
    return int((offered["handshake"] == "resumed").sum())


def about_resumed(case, given, right):
    return "Of the connections to port 443 that are not the load's and have `session_offered`: how many are resumed?"


QUESTIONS = [
    Question(
        "alone",
        "How long does a plain HTTP request wait before the load begins: the median from its SYN to the first byte of its answer?",
        MILLISECONDS,
        alone,
        about_ms,
    ),
    Question(
        "beside",
        "And from the load's first packet to its last?",
        MILLISECONDS,
        beside,
        about_ms,
        told_beside,
    ),
    Question(
        "longest",
        "Which frame holds the SYN of the plain HTTP request that waited longest?",
        FRAME,
        longest,
        about_longest,
        told_longest,
    ),
    Question(
        "full",
        "What share of the load's handshakes is full?",
        SHARE,
        full_share,
        about_full,
        lambda case, given: "Each of them needs a signature with the certificate's key.",
    ),
    Question(
        "hello",
        "How long is a ClientHello of the load's not answered: the median time to its ServerHello?",
        MILLISECONDS,
        hello,
        about_hello,
        told_hello,
    ),
    Question(
        "resumed",
        "At the end the probe offers HAProxy a session forty times, twenty by its id and twenty by a ticket. How many are resumed?",
        COUNT,
        resumed,
        about_resumed,
        lambda case, given: "When there are several processes, which of them knows the session, and which can read the ticket?",
    ),
    tried(
        "change",
        "Each of these changes was made alone to the stack that has the incident, and the run recorded. After which one does "
        "plain HTTP not stand in a line of handshakes any more? (After more than one.)",
        {
            "a": ("maxconn", "five times as many connections allowed"),
            "b": ("nice", "plain HTTP first in HAProxy's queue, TLS last"),
            "c": ("nbthread_2", "two threads in place of one"),
            "d": ("nbproc", "six more processes, which do nothing but TLS"),
            "e": ("runqueue_depth", "at most two tasks before HAProxy polls its sockets again"),
            "f": ("ecdsa", "a certificate with an elliptic curve"),
            "g": ("haproxy_2_6", "HAProxy 2.6, and nothing else"),
            "h": ("threads_2_2", "a thread for plain HTTP and six for TLS"),
        },
    ),
]
