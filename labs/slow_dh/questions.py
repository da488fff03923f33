"""The questions of this case. Their answers are computed from the capture in hand."""

import pandas as pd

from workbench import connections, packets, plots
from workbench.exercise import COUNT, FRAME, SHARE, Moot, Question, tried

#: The recorded run that the questions are asked of.
OPENS = "broken"
#: Whoever waits for longer than this has noticed, in seconds.
LONG = 0.5
#: What a session may be to who waits for one.
KINDS = {"new": plots.OTHER, "given up": plots.BROKEN, "resumed": plots.FIXED}


def symptom(run):
    """How long each acknowledgement took, as its sender saw it, around the first message of the other kind."""
    notes = run.metrics
    asked, message = notes[notes["source"] == "request"], notes[notes["source"] == "message"].iloc[-1]
    kind = asked["way"].where(asked["status"] == 200, "given up")
    data = pd.DataFrame({
        "second": (asked["began"] / 1000 - message["began"]).round(2),
        "ms": asked["took"].clip(lower=1),
        "kind": kind,
    })  # fmt: skip
    return plots.waits(data, "the first message with WS-Security", "How long acknowledgements take", KINDS, "session")


def waited(case):
    """Connections with a ClientHello."""
    table = case.connections
    table = table[table["client_hello_time"].notna()]
    if table.empty:
        raise Moot("It holds no ClientHello.")
    return table


def hello_frame(case, stream):
    """The frame of a connection's ClientHello."""
    rows = case.packets
    return int(rows.loc[packets.holding(rows, connections.CLIENT_HELLO) & (rows["stream"] == stream), "frame"].iloc[0])


# Where the time goes


def longest(case):
    table = waited(case)
    answered = table[table["server_hello_time"].notna()]
    if answered.empty:
        raise Moot("It holds no ServerHello.")
    return hello_frame(case, answered.loc[answered["hello_wait"].idxmax(), "stream"])


def about_longest(case, given, right):
    if given is None:
        return "There is one: some wait is the longest."
    frames = case.packets.set_index("frame")
    messages = frames.loc[given, "messages"].split(",")
    if connections.CLIENT_HELLO not in messages:
        return "That frame holds no ClientHello. `tls.handshake.type == 1` finds them."
    if given != right and pd.isna(stream_of(case, frames.loc[given, "stream"])["server_hello_time"]):
        return "That one was never answered. Asked is for one that was."
    return "Others waited longer. `hello_wait` in `case.connections` is the wait in seconds."


def stream_of(case, stream):
    table = case.connections
    return table[table["stream"] == stream].iloc[0]


def told_longest(case, given):
    table = waited(case)
    return f"It waited {table.loc[table['server_hello_time'].notna(), 'hello_wait'].max():.1f} s."


# Who waits


def long_share(case, long=LONG):
    table = waited(case)
    new = table[~table["session_offered"]]
    if new.empty:
        raise Moot("It holds no new session.")
    return float((new["hello_wait"] > long).mean())


def about_share(case, given, right):
    table = waited(case)
    if SHARE.same(given, float((table["hello_wait"] > LONG).mean())):
        return "That is the share among all connections. Leave out those that offer a session."
    answered = table[~table["session_offered"] & table["server_hello_time"].notna()]
    if len(answered) and SHARE.same(given, float((answered["hello_wait"] > LONG).mean())):
        return "That leaves out those that never got an answer. They waited, too: until their client gave up."
    return "Of the connections without `session_offered`, which waited for more than half a second, answered or not?"


def resumed_long(case, long=LONG):
    table = waited(case)
    resumed = table[table["session_offered"]]
    if resumed.empty:
        raise Moot("It holds no connection that offers a session.")
    return int((resumed["hello_wait"] > long).sum())


def about_resumed(case, given, right):
    return "Count the connections with `session_offered` whose ServerHello came more than half a second after their ClientHello."


# Since when


def first_long(case, long=LONG):
    table = waited(case)
    late = table[table["hello_wait"] > long]
    return None if late.empty else hello_frame(case, late.loc[late["client_hello_time"].idxmin(), "stream"])


def about_first(case, given, right):
    if given is None:
        return "There is one. Sort the connections by `client_hello_time`, and look at the waits."
    if right is None:
        return "None of them waits for more than half a second here."
    return "That is not the first ClientHello that had to wait for more than half a second, or no ClientHello."


def told_first(case, given):
    if given is None or case.run is None:
        return ""
    frames = case.packets.set_index("frame")
    notes = case.run.metrics
    message = notes[notes["source"] == "message"].iloc[-1]
    return f"That is {frames.loc[given, 'time'] - message['began']:+.1f} s from the first message with WS-Security."


# Who gives up


def unanswered(case):
    return int(waited(case)["server_hello_time"].isna().sum())


def about_unanswered(case, given, right):
    return "Count the connections with a ClientHello and without a ServerHello."


QUESTIONS = [
    Question(
        "longest",
        "Which frame holds the ClientHello that waited longest for its ServerHello, of those that got one at all?",
        FRAME,
        longest,
        about_longest,
        told_longest,
    ),
    Question(
        "share",
        "What share of the connections that offer no session waits for more than half a second, answered or not?",
        SHARE,
        long_share,
        about_share,
    ),
    Question(
        "resumed",
        "And how many of the connections that offer one?",
        COUNT,
        resumed_long,
        about_resumed,
        lambda case, given: "What does a new session need that a resumed one does not?",
    ),
    Question(
        "first",
        "Which frame holds the first ClientHello that has to wait for more than half a second?",
        FRAME,
        first_long,
        about_first,
        told_first,
    ),
    Question(
        "unanswered",
        "How many ClientHellos get no ServerHello at all?",
        COUNT,
        unanswered,
        about_unanswered,
        lambda case, given: "For each of them the gateway told its own side that it failed: 403 where it gave up waiting.",
    ),
    tried(
        "change",
        "Each of these changes was made alone to the stack that has the incident, and the run recorded. After which one "
        "are new sessions answered, and as soon as before? (After more than one.)",
        {
            "a": ("more_threads", "400 threads for the server in place of 200"),
            "b": ("egd", "another source of randomness for the JVM"),
            "c": ("flag_at_start", "at its start the application tells wss4j to leave the security providers alone"),
            "d": ("flag_too_late", "it tells it so after the first message"),
            "e": ("ecdhe", "ECDHE in place of DHE"),
            "f": ("bouncycastle_1_46", "BouncyCastle 1.46"),
            "g": ("bouncycastle_1_60", "BouncyCastle 1.60"),
            "h": ("bouncycastle_1_78", "BouncyCastle 1.78.1"),
            "i": ("bouncycastle_last", "the application moves BouncyCastle behind all other providers"),
        },
    ),
]
