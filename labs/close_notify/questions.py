"""The questions of this case. Their answers are computed from the capture in hand."""

import pandas as pd

from workbench import connections, exercise, packets, plots
from workbench.exercise import COUNT, FRAME, SHARE, Question

#: The recorded run that the questions are asked of.
OPENS = "http_client"
CALLED = {"client": "this client", "baseline": "before any change"}


def symptom(run):
    """CPU of a request, round by round: of the client in this run, and, where they were compared, of the one nobody
    changed."""
    rounds = run.metrics[run.metrics["source"] == "round"]
    threads = {who: rows["threads_started"].sum() / rows["requests"].sum() for who, rows in rounds.groupby("who")}
    named = {who: f"{CALLED[who]} ({each:.2f} threads a request)" for who, each in threads.items()}
    data = pd.DataFrame({
        "scenario": rounds["who"].map(named),
        "second": (rounds["time"] - rounds["time"].iloc[0]).round(1),
        "cpu": (rounds["cpu_ns"] + rounds["server_cpu_ns"]) / rounds["requests"] / 1e6,
    })  # fmt: skip
    return plots.over_time(data, "cpu", "CPU ms per request", "What a request costs, client and server together")


# What they pay


def full_share(case):
    return float((exercise.finished(case)["handshake"] == "full").mean())


def about_share(case, given, right):
    if SHARE.same(given, 1 - right):
        return "That is the share of the others. A full handshake is one in which the server sends its Certificate."
    return "Leave out unfinished handshakes, and divide the full ones by all of them (`handshake` in `case.connections`)."


# What they offer


def empty_ids(case):
    return int((exercise.finished(case)["session_id_offered"] == "").sum())


def about_ids(case, given, right):
    table = exercise.finished(case)
    if given == len(table) - right:
        return "That many are filled. Asked is for how many are empty."
    if given > len(table):
        return "There are not even so many finished handshakes."
    return "Look into each ClientHello (`tls.handshake.type == 1`): does it name a session, or is the field empty?"


def certificates(case):
    return int(packets.holding(case.packets, connections.CERTIFICATE).sum())


def about_certificates(case, given, right):
    if given == len(exercise.finished(case)):
        return "That is the number of finished handshakes. Not each of them needs a Certificate, or do they?"
    return "Count the packets with `tls.handshake.type == 11`. Under TLS 1.3 they can be read because the capture decrypts itself."


# How connections end


def first_client_alert(case):
    rows = case.packets
    ports = set(case.connections["server_port"])
    found = rows[rows["dport"].isin(ports) & packets.holding(rows, connections.ALERT, "record_types")]
    return int(found["frame"].iloc[0]) if len(found) else None


def about_alert(case, given, right):
    if given is None:
        return "There is one. Look for `tls.alert_message` in packets to port 8443."
    if right is None:
        return "That one is no alert of the client's."
    packet = case.packets[case.packets["frame"] == given]
    if connections.ALERT not in packet["record_types"].iloc[0].split(","):
        return "There is no alert in that frame. `tls.alert_message` finds them."
    if packet["sport"].iloc[0] in set(case.connections["server_port"]):
        return "That alert is the server's. It is what the client ought to have read. Asked is the client's own."
    return "That is an alert of the client's, but not its first."


def what_it_says(case, given):
    found = case.packets
    alert = found.loc[found["frame"] == given, "alert"]
    if given is None or alert.empty:
        return ""
    said = {"0": "close_notify, and nothing worse", "90": "user_canceled, which Java says before its close_notify under TLS 1.3"}
    if not alert.iloc[0]:
        return "What it says is encrypted: only the specimen's secrets are kept."
    words = said.get(alert.iloc[0], "more than a close_notify")
    return f"It says {words}: whatever the client may log, that is what reaches the server."


QUESTIONS = [
    Question("price", "What share of the finished handshakes in this capture is full?", SHARE, full_share, about_share),
    Question(
        "certificates",
        "In how many packets does the server send its Certificate?",
        COUNT,
        certificates,
        about_certificates,
    ),
    Question(
        "ids",
        "In how many of the finished handshakes is the session id in the ClientHello empty?",
        COUNT,
        empty_ids,
        about_ids,
        lambda case, given: "Under TLS 1.3 do not go by it: there a session is offered as a pre-shared key.",
    ),
    exercise.ending("ending", "How do the connections end, mostly: which side begins to end them, and with what?"),
    Question(
        "alert",
        "In which frame does the client send an alert for the first time?",
        FRAME,
        first_client_alert,
        about_alert,
        what_it_says,
    ),
    exercise.tried(
        "threads",
        "Each of these changes was made alone to the stack that has the incident, and the run recorded. After which one are "
        "both gone, the threads and the full handshakes? (More than one is right; name one.)",
        {
            "a": ("http_client", "Apache HttpClient 4.5.13 with httpcore 4.4.14"),
            "b": ("jdk_25", "Java 25, the client as it is"),
            "c": ("httpcore_4_4_15", "Apache HttpClient 4.5.13 with httpcore 4.4.15"),
            "d": ("jdk_11_0_10", "HttpClient 4.5.13 with httpcore 4.4.14, on Java 11.0.10"),
            "e": ("httpclient_4_5_14", "HttpClient 4.5.14 with httpcore 4.4.14"),
            "f": ("keep_alive_alone", "the partner answers with keep-alive, nothing else changes"),
            "g": ("tls_1_3", "TLS 1.3, the client as it is"),
            "h": ("drain_patch", "an HttpClient that reads each connection to its end"),
        },
    ),
]
