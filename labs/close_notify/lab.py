"""Drives SOAP requests through the client under study and the one nobody changed, and reads what each request paid."""

import json
import re
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from workbench import connections, packets, plots
from workbench.oracle import share
from workbench.stack import StackError

#: Requests before anything is counted: until there is a session to resume, and until a JVM has learnt most of its trade.
FIRST, WARM_UP = 20, 250
#: Rounds of requests, each between two of the baseline, so that what else the machine does, and what a JVM still learns,
#: falls on both.
ROUNDS = 6
#: Requests of the client that logs and writes secrets, of each profile, and of the article's curl loop.
FEW, PROFILED, LOOP = 20, 40, 20
#: What the specimen's log says of threads, sessions and ends of connections.
TELLING = ("os,thread", "Fatal (", '"session id"', "Consuming server Certificate", "Try resuming", "No new session")
APPLICATION_DATA = "23"
#: What a thread that waits for the peer is in: up to Java 12, and since.
READS = ("socketRead", "NioSocketImpl.implRead")
UNCLEAN = "Fatal (INTERNAL_ERROR): closing inbound before receiving peer's close_notify"


def drive(stack, recorder):
    """Records requests in a row and a few under the magnifying glass; looked at closely, what each costs, too."""
    number = int(stack.environment("operator")["REQUESTS"])
    with ThreadPoolExecutor() as pool:
        asked = ("client", "specimen", *(["baseline"] if recorder.closely else []))
        list(pool.map(lambda who: bench(stack, who, FIRST), asked))
        if recorder.closely:
            list(pool.map(lambda who: bench(stack, who, WARM_UP), ("baseline", "client")))
    turns = ["baseline", *["client", "baseline"] * ROUNDS] if recorder.closely else ["client"]
    if recorder.closely:
        # The JVMs compile while another is asked; what is left of that falls on rounds that do not count.
        for who in ("specimen", "client"):
            bench(stack, who, number)
    with recorder.capture():
        if recorder.closely:
            bench(stack, "baseline", number)
        counters(stack, recorder)
        for who in turns:
            before = counters(stack, recorder)
            measured = bench(stack, who, number)
            after = counters(stack, recorder)
            recorder.note("round", who=who, server_cpu_ns=after["cpu_ns"] - before["cpu_ns"], **measured)
        magnified(stack, recorder)
        counters(stack, recorder)
    if recorder.closely:
        for who in ("baseline", "client"):
            recorder.note("loop", who=who, requests=LOOP, seconds=loop(stack, who))
        profiles(stack, recorder)


def bench(stack, who, number):
    """Lets a client make requests in a row; returns what it measured itself."""
    url = f"https://{who}:8443/bench?n={number}"
    answer = stack.exec("operator", ["curl", "--insecure", "--silent", "--show-error", "--write-out", "\n%{http_code}", url])
    text, _, status = answer.rpartition("\n")
    if status != "200":
        raise StackError(f"{who}: {text.strip()[:300] or 'no answer'} ({status})")
    return json.loads(text)


def counters(stack, recorder):
    """The server's own counters: CPU so far in nanoseconds, requests so far by the caller's address."""
    found = json.loads(stack.exec("operator", ["curl", "--silent", "--fail", "http://server:8080/counters"]))
    recorder.note("server", cpu_ns=found["cpu_ns"], **{f"from_{address}": made for address, made in found["requests"].items()})
    return found


def magnified(stack, recorder):
    """A few requests of the client that logs: what its log says of them."""
    # The engine passes on what is said a moment later.
    time.sleep(0.5)
    began = time.time()
    measured = bench(stack, "specimen", FEW)
    time.sleep(0.5)
    said = stack.logs("specimen", since=began)
    recorder.note(
        "specimen",
        unclean=said.count(UNCLEAN),
        threads_logged=len(re.findall(r"\[os,thread *\] Thread (?:\"[^\"]*\" )?started", said)),
        **measured,
    )
    recorder.keep("specimen.txt", "".join(line for line in said.splitlines(True) if any(word in line for word in TELLING)))


def loop(stack, who):
    """The article's measurement: a loop that starts curl for every request. Returns seconds."""
    command = f"for i in $(seq {LOOP}); do curl --insecure --silent https://{who}:8443/ >/dev/null || exit 1; done"
    timed = f"began=$(date +%s%N); {command}; echo $(($(date +%s%N) - began))"
    return int(stack.exec("operator", ["sh", "-c", timed])) / 1e9


def profiles(stack, recorder):
    """What async-profiler sees of the client. Attached, it costs CPU: what is measured is over by now."""
    # Where a method is instrumented compiled code is dropped, and compiled again meanwhile and after: that one comes last.
    for name, event in (("wall", "wall"), ("plain", "none"), ("function", "JVM_StartThread"), ("method", "java.lang.Thread.start")):
        try:
            said = stack.exec("client", ["sh", "/opt/profile.sh", event, str(PROFILED)])
        except StackError as error:
            # Where the kernel keeps perf events to itself (perf_event_paranoid above 2) this one profile is not to be had.
            if name != "function":
                raise
            recorder.note("profile", event=name, why_not=str(error))
            continue
        stacks = from_controller(said)
        dropped = int(said.rpartition("made not entrant: ")[2])
        recorder.note("profile", event=name, requests=PROFILED, samples=sum(stacks.values()), made_not_entrant=dropped)
        recorder.keep(f"{name}.collapsed", "".join(f"{path} {samples}\n" for path, samples in stacks.items()))


def from_controller(collapsed):
    """The stacks that lead through the application's controller, from there on, with their samples."""
    found = Counter()
    for line in collapsed.splitlines():
        path, _, samples = line.rpartition(" ")
        _before, controller, above = path.partition("incidentlabs/client/ClientController.bench")
        if controller:
            found[controller + above] += int(samples)
    return found


def facts(run):
    """What a request paid: threads by the JVM's own counter, handshakes on the wire, CPU by each process's own."""
    notes = run.metrics
    rounds = notes[notes["source"] == "round"]
    mine = rounds[rounds["who"] == "client"]
    specimen = notes[notes["source"] == "specimen"].iloc[-1]
    server = notes[notes["source"] == "server"]

    # A published capture keeps the specimen only.
    asked = {"specimen": int(specimen["requests"])}
    if "kept" not in run.meta:
        asked["client"] = int(mine["requests"].sum())
    table = connections.table(run.capture)
    addresses = run.meta["addresses"]
    seen = table[table["client"].isin([addresses[who] for who in asked]) & (table["server"] == addresses["server"])]
    tls = seen[seen["handshake"].notna()]
    # Only the specimen's alerts can be read.
    alerts = seen.loc[seen["client"] == addresses["specimen"], "client_alert"].dropna()
    requests = sum(asked.values())
    # A request is at least one packet with application data; on a connection that is kept open there is no other sign.
    rows = packets.table(run.capture)
    carrying = packets.holding(rows, APPLICATION_DATA, "record_types")
    # A connection that is kept open may have had its handshake before.
    encrypted = rows.loc[rows["record_types"] != "", "stream"]
    carried = int((carrying & rows["src"].isin([addresses[who] for who in asked]) & (rows["dst"] == addresses["server"])).sum())
    from_client = server[f"from_{addresses['client']}"].fillna(0)
    return {
        "threads_per_request": float(mine["threads_started"].sum() / mine["requests"].sum()),
        "full_handshakes_per_request": float((tls["handshake"] == "full").sum() / requests),
        "resumed_handshakes_per_request": float((tls["handshake"] == "resumed").sum() / requests),
        "requests": requests,
        "requests_on_the_wire": min(carried, requests),
        "requests_served_share": float((from_client.iloc[-1] - from_client.iloc[0]) / mine["requests"].sum()),
        "tls_share": share(seen.loc[seen["client_bytes"] > 0, "stream"].isin(encrypted)),
        "session_id_offered_share": share(tls["session_id_offered"] != ""),
        "alerts_beyond_close_notify": int((alerts != "close_notify").sum()),
        "resets_per_request": float(seen["client_rst"].sum() / requests),
        "unclean_ends_per_request": float(specimen["unclean"] / specimen["requests"]),
        "threads_logged_per_request": float(specimen["threads_logged"] / specimen["requests"]),
        **looked_at_closely(run),
    }


def looked_at_closely(run):
    """What requests cost and where the time goes; nothing where the run was not looked at closely."""
    notes = run.metrics
    loops = notes[notes["source"] == "loop"]
    if loops.empty:
        return {}
    loops = loops.set_index("who")
    rounds = notes[notes["source"] == "round"]
    mine, base = rounds[rounds["who"] == "client"], rounds[rounds["who"] == "baseline"]
    cost, base_cost = cpu_ms(mine), cpu_ms(base)
    profiled = notes[notes["source"] == "profile"].set_index("event")
    wall = (run.folder / "wall.collapsed").read_text()
    return {
        "cpu_ms_per_request": float(cost.median()),
        "cpu_ratio": against(cost, base_cost),
        "ms_per_request": float(mine["elapsed_ns"].sum() / mine["requests"].sum() / 1e6),
        "time_ratio": against(mine["elapsed_ns"], base["elapsed_ns"]),
        "loop_ms_per_request": float(1000 * loops.loc["client", "seconds"] / loops.loc["client", "requests"]),
        "loop_ratio": float(loops.loc["client", "seconds"] / loops.loc["baseline", "seconds"]),
        "method_samples_per_request": per_request(profiled.loc["method"], "samples"),
        "finish_handshake_per_request": finishing(run) / int(profiled.loc["method", "requests"]),
        "function_samples_per_request": per_request(profiled.loc["function"], "samples"),
        "plain_made_not_entrant": number(profiled.loc["plain", "made_not_entrant"]),
        "method_made_not_entrant": number(profiled.loc["method", "made_not_entrant"]),
        "function_made_not_entrant": number(profiled.loc["function", "made_not_entrant"]),
        "socket_read_share": sum(plots.share_of_samples(wall, "ClientController", read) for read in READS),
        "handshake_wait_share": sum(plots.share_of_samples(wall, "ClientController", "startHandshake", read) for read in READS),
    }


def finishing(run):
    """Samples of Thread.start within the end of a handshake."""
    return plots.samples((run.folder / "method.collapsed").read_text(), "TransportContext.finishHandshake")


def per_request(row, what):
    """None where it was not measured."""
    return None if number(row[what]) is None else float(row[what] / row["requests"])


def number(value):
    """A count as a whole number; None where there is none (pandas has NaN for it)."""
    return None if value != value else int(value)


def cpu_ms(rounds):
    """CPU of client and server together, in milliseconds a request, round by round."""
    return (rounds["cpu_ns"] + rounds["server_cpu_ns"]) / rounds["requests"] / 1e6


def against(rounds, baseline):
    """Each round against the two of the baseline around it: the median of the ratios."""
    before, after = baseline.to_numpy()[:-1], baseline.to_numpy()[1:]
    return float(np.median(rounds.to_numpy() / ((before + after) / 2)))
