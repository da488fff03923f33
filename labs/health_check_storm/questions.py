"""The questions of this case. Their answers are computed from the capture in hand."""

import pandas as pd

from workbench import connections, plots
from workbench.exercise import COUNT, FRAME, SHARE, Moot, Question, ending, tried

#: The recorded run that the questions are asked of.
OPENS = "broken"
#: Seconds at the beginning of the capture in which new connections are counted.
FIRST = 2
NAMES = {"more": "one more node", "grown": "three times the nodes", "as before": "as many as before"}


def symptom(run):
    """The slowest request to a node of zone a in each second, and what was done to the grid meanwhile."""
    notes = run.window()
    begin = notes["time"].min()
    asked = notes[(notes["source"] == "request") & (notes["zone"] == "a")]
    slowest = asked.groupby((asked["began"] - begin).astype(int))["took"].max().reset_index()
    data = pd.DataFrame(
        {
            "second": slowest["began"],
            "value": slowest["took"].round(2),
            "what": "slowest request of the second",
            "colour": plots.BROKEN,
        }
    )
    phases = notes[(notes["source"] == "phase") & notes["name"].isin(NAMES)]
    moments = {NAMES[row["name"]]: round(row["time"] - begin, 1) for _, row in phases.iterrows()}
    return plots.timeline(data, "seconds", "How long clients of zone a wait", moments)


def begun(case):
    """Connections whose first SYN is in the capture."""
    table = case.connections
    table = table[table["client_syns"] > 0]
    if table.empty:
        raise Moot("It holds no SYN.")
    return table


def syns(case):
    """The packets that ask for a connection."""
    rows = case.packets
    return rows[(rows["flags"] & (connections.SYN | connections.ACK)) == connections.SYN]


# Who opens how many


def at_first(case):
    table = begun(case)
    return int((table["start"] <= case.packets["time"].min() + FIRST).sum())


def about_at_first(case, given, right):
    rows = syns(case)
    if given == int((rows["time"] <= case.packets["time"].min() + FIRST).sum()):
        return "Those are SYNs. One that is sent again begins no connection."
    return "Count the connections with `client_syns` whose `start` is within two seconds of the first packet."


def told_at_first(case, given):
    opens = begun(case).loc[lambda table: table["start"] <= case.packets["time"].min() + FIRST, "client"].nunique()
    return f"That is {given / FIRST:.0f} a second, from {opens} addresses, and clients ask for four a second."


# Where they get lost


def lost(case):
    """Connections of which a SYN was not answered: it came again, or nothing came at all."""
    table = begun(case)
    return table[(table["client_syns"] > 1) | (table["server_syns"] == 0)]


def first_lost(case):
    table = lost(case)
    if table.empty:
        return None
    rows = syns(case)
    return int(rows.loc[rows["stream"] == table.loc[table["start"].idxmin(), "stream"], "frame"].iloc[0])


def about_first_lost(case, given, right):
    if right is None:
        return "Every SYN is answered here."
    if given is None:
        return "There is one. Look for connections with more than one SYN, or without a SYN from the server."
    rows = syns(case).set_index("frame")
    if given not in rows.index:
        return "That frame holds no SYN without ACK. `tcp.flags.syn == 1 and tcp.flags.ack == 0` finds them."
    if rows.index.get_loc(given) and rows["stream"].duplicated().loc[given]:
        return "That SYN is one that was sent again. Which one was lost before?"
    return "Others were lost before, or that one was answered. `server_syns` counts the answers of a connection."


def told_first_lost(case, given):
    if given is None or case.run is None:
        return ""
    notes = case.run.metrics
    more = notes[(notes["source"] == "phase") & (notes["name"].isin(["more", "grown"]))]
    if more.empty:
        return ""
    return f"That is {case.packets.set_index('frame').loc[given, 'time'] - more['time'].iloc[0]:.0f} s after the first node more."


def again(case):
    rows = syns(case)
    if rows.empty:
        raise Moot("It holds no SYN.")
    return len(rows) - rows["stream"].nunique()


def about_again(case, given, right):
    if given == int((begun(case)["client_syns"] > 1).sum()):
        return "So many connections repeat one. Some do so more than once."
    return "SYNs of the same `stream` after its first one are counted (`tcp.analysis.retransmission` in Wireshark)."


def share_lost(case):
    table = begun(case)
    return float(1 - (table["server_syns"] > 0).sum() / table["client_syns"].sum())


def about_share_lost(case, given, right):
    table = begun(case)
    if SHARE.same(given, float((table["server_syns"] == 0).mean())):
        return "That is the share of connections. Asked is for SYNs: those that come again are lost as well."
    if SHARE.same(given, 1 - right):
        return "That is the share that is answered."
    return "All SYNs are `client_syns` added up; answered is one for each connection with `server_syns`."


# Whose they are


def owners(case):
    table = lost(case)
    return int(table["client"].nunique())


def about_owners(case, given, right):
    return "Of the connections that lost a SYN, how many different values has `client`?"


def told_owners(case, given):
    return f"Of {begun(case)['client'].nunique()} that open connections here. One node more, and who is hit?"


QUESTIONS = [
    Question(
        "rate",
        "How many new connections to mesh-a begin in the first two seconds of the capture?",
        COUNT,
        at_first,
        about_at_first,
        told_at_first,
    ),
    ending(
        "ending",
        "How do these connections end, mostly? (One in eight was recorded whole, with its end.)",
        told="Opened, and reset as soon as it stands: nobody sends a byte. Who does that, and what for?",
    ),
    Question(
        "lost",
        "Take the earliest connection that had to repeat its SYN, or was never answered. Which frame holds its first SYN?",
        FRAME,
        first_lost,
        about_first_lost,
        told_first_lost,
    ),
    Question("again", "How many SYNs repeat an earlier SYN of the same connection?", COUNT, again, about_again),
    Question(
        "share",
        "What share of all SYNs, also of those that are sent again, is not answered?",
        SHARE,
        share_lost,
        about_share_lost,
        lambda case, given: "And the mesh answered whoever asked it from beside, all the time.",
    ),
    Question("owners", "From how many addresses come SYNs that get lost?", COUNT, owners, about_owners, told_owners),
    tried(
        "change",
        "Each of these changes was made alone to the stack that has the incident, and the run recorded (those that "
        "were well with one more node also with three times as many). After which one do no SYNs get lost? (After more than one.)",
        {
            "a": ("inter_4s", "checks every 4 s in place of 2"),
            "b": ("spread_checks", "checks spread at random by half of their interval"),
            "c": ("fastinter", "while a server is in doubt, it is checked four times as often"),
            "d": ("timeout_check", "a check may take ten seconds"),
            "e": ("fall_10", "ten failures in place of three"),
            "f": ("track", "one backend that checks each mesh once, and all services go by it"),
            "g": ("larger_instance", "a larger instance"),
            "h": ("allow_all", "a security group that allows everything"),
        },
    ),
]
