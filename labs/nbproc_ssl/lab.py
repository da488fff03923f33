"""Probes with plain HTTP, first alone and then beside clients over TLS; where asked to look closely, what else the layout does."""

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor

import pandas as pd

from workbench import connections, console, packets
from workbench.oracle import ratio, share
from workbench.stack import StackError

#: Seconds: the probe alone, and so where a verdict is all that is wanted; and beside the load, whose first second is nobody's.
QUIET, QUIET_BRIEFLY, LOADED, RISES = 6, 4, 8, 1
#: Seconds that each further burst takes.
BURST = 4
#: How long it is waited for until HAProxy passes requests on, in seconds.
READY = 30 * console.PATIENCE
#: Asks once; what it asks for and how it tells comes after it.
CURL = ["curl", "--silent", "--insecure", "--max-time", "5"]
#: Clients of each burst, as load.sh has them; and which share of them has to resume, to be called so.
CLIENTS, RESUMED = 20, 0.95
#: A plain request is blocked when so many requests over TLS are answered before it, and it takes so many times as long as alone.
AHEAD, TIMES = 4, 25
#: How often a session is offered again.
OFFERED = 20
#: Of the load about so many connections are kept; where they are few and long, so many seconds of some of them.
KEPT, KEPT_SECONDS = 30, 0.02
PLAIN, TLS = 80, 443
PID = re.compile(r"pid=(\d+)")
#: From how many bits of an RSA key on it is as hard to guess as a symmetric key, by NIST SP 800-57, part 1, table 2.
RSA_STRENGTH = {3072: 128, 2048: 112, 1024: 80}


def drive(stack, recorder):
    """The probe alone, and beside the load, while both are recorded. Closely: who is resumed by which process, the price of each
    kind of request, and who gets how many connections."""
    load = stack.environment("load")["LOAD"]
    quiet = QUIET if recorder.closely else QUIET_BRIEFLY
    wait_until_ready(stack)
    with recorder.capture():
        with ThreadPoolExecutor() as pool:
            recorder.phase("quiet")
            probed = pool.submit(tell, stack, "probe", "python3", "/opt/probe.py", str(quiet + LOADED), "haproxy")
            time.sleep(quiet)
            recorder.phase("loaded")
            made = burst(stack, recorder, "loaded", "load", load, LOADED - 1)
            over = recorder.phase("over")
            recorder.note("probe", **probed.result()[0])
        if recorder.closely:
            offer_again(stack, recorder)
        note_balance(stack, recorder, "held")
        if recorder.closely:
            look_closely(stack, recorder)
    note_who_is_told_what(stack, recorder)
    recorder.keep("ss.txt", stack.exec("haproxy", ["ss", "-tplen"], check=False))
    recorder.note("keep", **kept(load, made, over))


def kept(load, made, over):
    """What to keep of the load: some connections whole, or else the first requests of all of them."""
    if load == "keep-alive":
        return {"each": 4, "end": over - made["seconds"] + KEPT_SECONDS}
    return {"each": max(1, made["requests"] // KEPT), "end": over}


def wait_until_ready(stack):
    """Until HAProxy has seen nginx up: before, it answers with errors of its own. Who does not answer over TLS is measured."""
    deadline = time.monotonic() + READY
    while True:
        said = [stack.exec("operator", curl(url), check=False) for url in ("http://haproxy/", "https://haproxy/")]
        if all(each.startswith(("2", "3")) for each in said):
            return
        if time.monotonic() > deadline:
            if said[0].startswith(("2", "3")):
                return
            raise StackError(f"haproxy: does not answer within {READY} s: {said}")
        time.sleep(0.2)


def curl(url, *options):
    """Asks once: prints the status, how many redirects were followed, and what came."""
    return [*CURL, "--write-out", "%{http_code} %{num_redirects}", "--output", "/dev/null", *options, url]


def tell(stack, service, *command):
    """What a program tells, as a list of its lines."""
    return [json.loads(line) for line in stack.exec(service, list(command)).splitlines()]


def burst(stack, recorder, name, service, kind, seconds, url="https://haproxy/"):
    """Clients that ask as fast as they are answered, and HAProxy's CPU meanwhile."""
    used = stack.usage(stack.container("haproxy"))
    (made,) = tell(stack, service, "sh", "/opt/load.sh", kind, str(seconds), url)
    cpu = stack.usage(stack.container("haproxy"))["cpu_seconds"] - used["cpu_seconds"]
    recorder.note("burst", name=name, cpu_seconds=cpu, **made)
    return made


def offer_again(stack, recorder):
    """One session again and again, by its id and by a ticket."""
    for by in ("id", "ticket"):
        recorder.phase(f"offered by {by}")
        stack.exec("probe", ["python3", "/opt/resume.py", by, str(OFFERED), "haproxy"], check=False)
    recorder.phase("offered")


def look_closely(stack, recorder):
    """The load beside as many clients without TLS; what each kind of request costs by itself; who gets how many connections."""
    with ThreadPoolExecutor() as pool:
        both = [
            pool.submit(burst, stack, recorder, f"both, {scheme}", "operator", "full", BURST, f"{scheme}://haproxy/")
            for scheme in ("https", "http")
        ]
        for each in both:
            each.result()
    burst(stack, recorder, "plain", "operator", "full", BURST, "http://haproxy/")
    before = balance_of(stack, "so-far")
    burst(stack, recorder, "full", "operator", "full", BURST)
    for line, earlier in zip(balance_of(stack, "so-far"), before, strict=True):
        recorder.note("balance", way="busy", process=line["process"], connections=line["connections"] - earlier["connections"])
    for kind in ("resumed", "keep-alive"):
        burst(stack, recorder, kind, "operator", kind, BURST)
    note_balance(stack, recorder, "sparse")


def note_balance(stack, recorder, way):
    for line in balance_of(stack, way):
        recorder.note("balance", way=way, **line)


def balance_of(stack, way):
    return tell(stack, "operator", "python3", "/opt/balance.py", way, "haproxy")


def note_who_is_told_what(stack, recorder):
    """What nginx is told of a client, over either protocol and either family of addresses; and where a client ends that follows."""
    for scheme in ("http", "https"):
        # Whoever asks over IPv6 is HAProxy's neighbour: the box has no other.
        for family, service, own, host in ((4, "load", stack.addresses("load")[0], "haproxy"), (6, "operator", "::1", "[::1]")):
            said = stack.exec(service, [*CURL, f"{scheme}://{host}/"], check=False)
            told = dict(zip(("proto", "address"), said.split(), strict=False)) if len(said.split()) == 2 else {}
            recorder.note("told", scheme=scheme, family=family, own=own, **told)
    followed = stack.exec("operator", curl("http://haproxy/", "--location", "--max-redirs", "5"), check=False)
    found = re.match(r"(\d+) (\d+)", followed)
    recorder.note("followed", status=int(found[1]) if found else 0, redirects=int(found[2]) if found else 0)
    # Somebody beside HAProxy, who says that he came over TLS.
    said = stack.exec("operator", [*CURL, "--haproxy-protocol", "http://127.0.0.1:84/"], check=False)
    recorder.note("pretended", believed=said.startswith("https"))


def facts(run):
    """How long plain HTTP waits, alone and beside the load, what the load paid, and what was told of the rest."""
    notes = run.metrics
    began = run.phases()
    rows = packets.table(run.capture)
    waited = waits(rows[rows["src"].eq(run.meta["addresses"]["probe"]) | rows["dst"].eq(run.meta["addresses"]["probe"])])
    quiet = waited.loc[waited["start"] < began["loaded"] - 0.1, "ms"]
    loaded = waited.loc[waited["start"].between(began["loaded"] + RISES, began["over"] - RISES), "ms"]
    bursts = {row["name"]: row for _, row in notes[notes["source"] == "burst"].iterrows()}
    made = bursts["loaded"]
    cores = ratio(made["cpu_seconds"], made["seconds"])
    (probe,) = (row for _, row in notes[notes["source"] == "probe"].iterrows())
    return {
        "probes_quiet": len(quiet),
        "probes_loaded": len(loaded),
        "quiet_p50_ms": middle(quiet, 0.5),
        "loaded_p50_ms": middle(loaded, 0.5),
        "quiet_p99_ms": middle(quiet, 0.99),
        "loaded_p99_ms": middle(loaded, 0.99),
        "slower": ratio(loaded.median(), quiet.median()),
        "probe_answered_share": ratio(probe["answered"], probe["sent"]),
        **paid(run, began),
        "loaded_requests": int(made["requests"]),
        "loaded_failed_share": ratio(made["failed"], made["requests"]),
        "https_a_second": ratio(made["requests"], made["seconds"]),
        "haproxy_cores": cores,
        "busier_core": max(cores, cores_of_the_others(run, began)),
        **blocked(quiet, loaded, made),
        "tls": next((each["tls"] for each in bursts.values() if each["tls"]), None),
        "key_bits": key_bits(bursts),
        "tls_processes": len({pid for line in listening(run, TLS) for pid in PID.findall(line)}),
        "plain_processes": len({pid for line in listening(run, PLAIN) for pid in PID.findall(line)}),
        "tls_sockets": len(listening(run, TLS)),
        "v6only_sockets": sum("v6only:1" in line for port in (PLAIN, TLS) for line in listening(run, port)),
        **prices(bursts),
        **resumed_by(run, began),
        **balance(notes),
        **told_of_clients(notes),
    }


def waits(rows):
    """Each plain HTTP request on the wire, by its stream: `start` (seconds since the epoch), `frame` of its SYN, and `ms` from
    then to the first byte that answers it; NaN where none came."""
    syn = rows[(rows["dport"] == PLAIN) & ((rows["flags"] & (connections.SYN | connections.ACK)) == connections.SYN)]
    asked = syn.drop_duplicates("stream").set_index("stream")
    answered = rows[(rows["sport"] == PLAIN) & (rows["bytes"] > 0)].groupby("stream")["time"].min()
    waited = 1000 * (answered.reindex(asked.index) - asked["time"])
    return pd.DataFrame({"start": asked["time"], "frame": asked["frame"], "ms": waited})


def blocked(quiet, loaded, made):
    """How many of the load's requests are answered while the probe's median request waits, beyond what it waits for alone; and the
    share of the probe's requests that are blocked. Neither does it count that others used the machine, which slows the load down as
    well, nor that very short requests of the load's go first, of which nobody takes notice."""
    if quiet.dropna().empty or loaded.dropna().empty:
        return {"handshakes_ahead": None, "blocked_share": None}
    ahead = (loaded - quiet.median()) / 1000 * made["requests"] / made["seconds"]
    return {
        "handshakes_ahead": max(0.0, float(ahead.median())),
        "blocked_share": share((ahead >= AHEAD) & (loaded >= TIMES * quiet.median()) | loaded.isna()),
    }


def middle(values, quantile):
    return float(values.quantile(quantile)) if len(values.dropna()) else None


def cores_of_the_others(run, began):
    """What those who share the other core used of it beside the load, with what the machine's others did."""
    used = [run.cpu_cores(service, began["loaded"], began["over"]) for service in ("load", "nginx", "probe")]
    return sum(each or 0.0 for each in used) + run.meta["cpu_of_others"]


def paid(run, began):
    """What the load's connections were, of those that are recorded, and how long a ClientHello was not answered. Those of the last
    moments are cut off, and do not count."""
    table = connections.table(run.capture)
    load = table[(table["client"] == run.meta["addresses"]["load"]) & (table["server_port"] == TLS) & (table["client_syns"] > 0)]
    load = load[load["start"] < began["over"] - RISES]
    return {
        "handshakes": len(connections.finished(load)),
        "full_share": share(load["handshake"] == "full"),
        "hello_wait_ms": middle(1000 * load["hello_wait"], 0.5),
    }


def key_bits(bursts):
    """How strong the certificate's key is, in bits of a symmetric key that is as hard to guess; None where no client told."""
    for each in bursts.values():
        if found := re.match(r"TLSv1\.\d,ECDHE-(RSA|ECDSA)\S*,(\d+),\d+$", str(each["tls"])):
            kind, length = found[1], int(found[2])
            if kind == "ECDSA":
                return length // 2
            return next((bits for least, bits in RSA_STRENGTH.items() if length >= least), 0)
    return None


def listening(run, port):
    """The sockets that listen on a port, as `ss -tplen` tells: a line each, with the processes that have it."""
    return [line for line in (run.folder / "ss.txt").read_text().splitlines() if re.search(rf":{port}\s", line)]


def prices(bursts):
    """Requests a second, and HAProxy's CPU for each, by kind; None where none was sent by itself."""
    names = {"plain": "plain", "full": "full", "resumed": "resumed", "keep-alive": "keep_alive"}
    told = {}
    for burst_name, name in names.items():
        each = bursts.get(burst_name)
        # Where sessions are offered in vain it is another price.
        of_its_kind = each is not None and (name != "resumed" or each["resumed"] > RESUMED * each["requests"])
        told[f"{name}_cpu_ms"] = ratio(1000 * each["cpu_seconds"], each["requests"]) if of_its_kind else None
    for scheme in ("http", "https"):
        each = bursts.get(f"both, {scheme}")
        told[f"both_{scheme}_a_second"] = None if each is None else ratio(each["requests"], each["seconds"])
        told[f"both_{scheme}_ms"] = None if each is None else ratio(1000 * CLIENTS * each["seconds"], each["requests"])
    return told | {"full_to_plain": ratio(told["full_cpu_ms"], told["plain_cpu_ms"]) if told["plain_cpu_ms"] else None}


def resumed_by(run, began):
    """What share of the sessions that the probe offered again was resumed; None where none was offered."""
    if "offered" not in began:
        return dict.fromkeys(("resumed_by_id_share", "resumed_by_ticket_share"))
    table = connections.table(run.capture)
    mine = table[(table["client"] == run.meta["addresses"]["probe"]) & (table["server_port"] == TLS) & table["session_offered"]]
    spans = {"id": ("offered by id", "offered by ticket"), "ticket": ("offered by ticket", "offered")}
    return {
        f"resumed_by_{by}_share": share(mine.loc[mine["start"].between(began[first], began[last]), "handshake"] == "resumed")
        for by, (first, last) in spans.items()
    }


def balance(notes):
    """Of clients that stay the share that was answered; and the share of connections that the busiest process got (all where
    there is one): of twenty clients at once, of one that comes again and again, and of those that stay. None where it was not
    looked at."""
    rows = notes[notes["source"] == "balance"]
    held = rows[rows["way"] == "held"]
    told = {"held_answered_share": ratio(held["answered"].sum(), held["opened"].sum())}
    for way in ("busy", "sparse", "held"):
        made = rows.loc[rows["way"] == way, "connections"].dropna() if "connections" in rows else rows["way"].iloc[:0]
        told[f"busiest_{way}_share"] = ratio(made.max(), made.sum()) if len(made) else None
    return told


def told_of_clients(notes):
    """Whether nginx is told how each client came, and from where; and how often one is sent on that follows."""
    told = notes[notes["source"] == "told"]
    followed = notes[notes["source"] == "followed"].iloc[-1]
    return {
        "asked_of_clients": len(told),
        "proto_known_share": share(told["proto"] == told["scheme"]) if "proto" in told else 0.0,
        "address_known_share": share(told["address"] == told["own"]) if "address" in told else 0.0,
        "followed_status": int(followed["status"]),
        "redirects": int(followed["redirects"]),
        "pretence_believed": int(notes.loc[notes["source"] == "pretended", "believed"].iloc[-1]),
    }
