"""Sends acknowledgements through the gateway, has one WS-Security message come, and reads how long handshakes take after it."""

import json
import re
import statistics
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from workbench import connections
from workbench.oracle import ratio, share
from workbench.stack import StackError

#: Seconds of load before anything is recorded, before the message, and after it, as far as a verdict looks; and before it and
#: after it where a verdict is all that is wanted.
WARM_UP, QUIET, AFTER = 6, 10, 24
QUIET_BRIEFLY, AFTER_BRIEFLY = 6, 12
#: The gateway has a way for each of these, in seconds; and that on which nobody has to hurry.
PATIENCE = (1, 2, 3, 5, 8, 13, 20, 30, 60)
LONG = PATIENCE[-1]
#: It gives up after so many times the quiet median.
TIMES = 30
#: Between two thread dumps, and what JFR listens for, in seconds.
DUMP_EVERY, LISTEN = 4, 6
#: A handshake that took so many times the quiet median has stalled.
STALLED = 10
#: Seconds in which each client begins its first handshake after the message. Whoever makes the key pair has classes to load then,
#: once, and that is not what is asked: those that begin later count, unless fewer than this do, because all still wait.
FIRST, FEWEST = 1, 4
#: The article's measurement: threads that make one key pair each, and how long they are waited for, in ms.
PAIRS, PAIRS_PATIENCE = 4, 10_000
#: Enough threads for a queue at a lock, how long they are watched each time, in ms, and what they draw from: one source for
#: all or one for each, in an order that is fair to both.
CROWD, CROWD_PATIENCE, CROWD_TURNS = 32, 4_000, ("one", "each", "each", "one")
#: Stacks of each state that are kept of a thread dump.
KEPT = 6


def drive(stack, recorder):
    """Warms up; then, recorded: load, the first message with WS-Security, and the same load after it. Looked at closely,
    key pairs are made without any TLS first."""
    clients = int(stack.environment("operator")["CLIENTS"])
    after = int(stack.environment("operator")["GO_ON"] or (AFTER if recorder.closely else AFTER_BRIEFLY))
    if recorder.closely:
        key_pairs(stack, recorder)
    load(stack, "new", clients, WARM_UP, LONG)
    with recorder.capture():
        note_providers(stack, recorder)
        quiet = side_by_side(stack, recorder, clients, QUIET if recorder.closely else QUIET_BRIEFLY, LONG)
        patience = asked_for(stack) or enough(statistics.median(sample["took"] for sample in quiet) / 1000)
        message(stack, recorder, patience)
        with ThreadPoolExecutor() as pool:
            dumping = pool.submit(dumps, stack, after)
            listening = pool.submit(listen, stack, recorder)
            side_by_side(stack, recorder, clients, after, patience)
            note_dump(recorder, dumping.result())
            recorder.keep("who.txt", listening.result() + told(stack))
        note_providers(stack, recorder)
        broken = stack.exec("server", ["grep", "-c", "Broken pipe", "/run/service/jsse.log"], check=False)
        recorder.note("jsse", broken_pipes=int(broken.split()[0]))


def asked_for(stack):
    """The gateway's patience where the stack says it, in seconds; None where it hangs on the quiet median."""
    return int(stack.environment("operator")["PATIENCE"] or 0) or None


def enough(median):
    return next((each for each in PATIENCE if each >= TIMES * median), LONG)


def key_pairs(stack, recorder):
    """Key pairs by length, from the JDK's provider and from BouncyCastle in second place; then many threads that search
    with one source of randomness, and with one each."""
    server = stack.environment("server")
    bits = server["DH_BITS"]
    recorder.note("pairs", who="default", **made(stack, PAIRS, bits, PAIRS_PATIENCE, "default", "own"))
    if server["BOUNCYCASTLE"] == "none":
        return
    recorder.note("pairs", who="bouncycastle", **made(stack, PAIRS, bits, PAIRS_PATIENCE, "bouncycastle", "own"))
    for randomness in CROWD_TURNS:
        recorder.note("crowd", who=randomness, **made(stack, CROWD, bits, CROWD_PATIENCE, "bouncycastle", randomness))


def made(stack, threads, bits, patience, provider, randomness):
    words = [str(threads), str(bits), str(patience), provider, randomness]
    return json.loads(stack.exec("server", ["sh", "/opt/keypairs.sh", *words]).splitlines()[-1])


def listen(stack, recorder):
    """What JFR tells of key pairs, where this Java has the event; kept is the first, as it is printed."""
    if not recorder.closely or stack.environment("server")["JRE"].startswith(("11.", "17.")):
        return ""
    events = stack.exec("server", ["sh", "/opt/who.sh", str(LISTEN)]).split("\n\n")
    return events[0].strip() + "\n"


def told(stack):
    """What the server was asked to tell of providers, by JAVA_OPTS: who inserts one, and which one makes key pairs."""
    inserted = [line for line in stack.logs("server").splitlines() if "WSSConfig" in line or line.startswith("security provider ")]
    served = stack.exec("server", ["grep", "KeyPairGenerator.DiffieHellman algorithm from", "/run/service/jsse.log"], check=False)
    return "\n".join([*inserted, *served.splitlines()]) + "\n"


def side_by_side(stack, recorder, clients, seconds, patience):
    """Clients that need a new session for each request, and one that resumes its own; returns what the former met."""
    with ThreadPoolExecutor(2) as pool:
        new = pool.submit(load, stack, "new", clients, seconds, patience)
        resumed = pool.submit(load, stack, "resumed", 1, seconds, patience)
        made = {"new": new.result(), "resumed": resumed.result()}
    for way, samples in made.items():
        for sample in samples:
            recorder.note("request", way=way, patience=patience, **sample)
    return made["new"]


def load(stack, way, clients, seconds, patience):
    """Lets clients send for some seconds; every request: when it began (epoch, ms), how long it took (ms), its status."""
    address = f"http://gateway:8080/{way}/{patience}/ack"
    command = ["sh", "/opt/load.sh", address, str(clients), str(seconds), str(1000 * patience), "each"]
    return json.loads(stack.exec("operator", command))


def message(stack, recorder, patience):
    """The first message with WS-Security."""
    began = time.time()
    answer = stack.exec("operator", ["curl", "--silent", f"http://gateway:8080/resumed/{LONG}/ws"])
    recorder.note("message", began=began, stamped=answer.count("<wsu:Timestamp"), patience=patience)


def note_providers(stack, recorder):
    said = {what: ask(stack, what) for what in ("providers", "dh-bits")}
    bits = said["dh-bits"]
    # JSSE knows words for lengths, too, and each of them may be a short one.
    recorder.note("providers", names=said["providers"], dh_bits=int(bits) if bits.isdigit() else 0)


def ask(stack, what):
    """The server's port without TLS, which tells of itself."""
    return stack.exec("operator", ["curl", "--silent", "--fail", f"http://server:8080/{what}"]).strip()


def dumps(stack, seconds):
    """What the server's threads are doing, every now and then; the dump in which most of them make primes, as threads."""
    most = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(DUMP_EVERY)
        try:
            threads = re.split(r"\n\s*\n", stack.exec("server", ["sh", "/opt/dump.sh"]))
        except StackError:
            # A JVM that is very busy may take too long to answer; the next dump tells.
            continue
        most = max(threads, most, key=lambda each: len(making_primes(each)))
    return most


def making_primes(threads):
    """Those that make Diffie-Hellman parameters within a handshake."""
    return [text for text in threads if "DHParameters" in text and "sun.security.ssl" in text]


def note_dump(recorder, threads):
    making = making_primes(threads)
    waiting = [text for text in making if "State: BLOCKED" in text]
    locks = Counter(re.findall(r"waiting to lock <(\w+)>", "\n".join(waiting)))
    counting = [text for text in making if text not in waiting]
    recorder.note(
        "threads",
        making_primes=len(making),
        # On the one that most wait for.
        blocked=max(locks.values(), default=0),
        looking_up_names=sum("java.net.InetAddress.getHost" in text for text in threads),
        waiting_for_the_kernel=sum("readFully" in text for text in making),
    )
    recorder.keep("threads.txt", "\n\n".join([*counting[:KEPT], *waiting[:KEPT]]) + "\n")


def facts(run):
    """How long new sessions wait for their ServerHello before and after the message, and what else changes then."""
    notes = run.metrics
    message = notes[notes["source"] == "message"].iloc[-1]
    providers = notes.loc[notes["source"] == "providers", "names"]
    threads = notes[notes["source"] == "threads"].iloc[-1]
    who = (run.folder / "who.txt").read_text()
    asked = notes[notes["source"] == "request"]
    seconds = asked["began"] / 1000 - message["time"]
    later, long_after = seconds.between(0, AFTER), seconds > AFTER

    table = connections.table(run.capture)
    mine = table[(table["server"] == run.meta["addresses"]["server"]) & (table["server_port"] == 8443)]
    hello = mine[mine["client_hello_time"].notna()]
    gap = hello["hello_wait"]
    after = hello["client_hello_time"].between(message["time"], message["time"] + AFTER)
    before = hello["client_hello_time"] < message["began"]
    new = ~hello["session_offered"]
    again = hello["client_hello_time"] > hello.loc[new & after, "client_hello_time"].min() + FIRST
    counts = new & after & again
    quiet, late = gap[new & before], gap[counts if counts.sum() >= FEWEST else new & after]
    # Who was not answered, and had not left either, was sent away.
    refused = hello["server_hello_time"].isna() & (hello["server_alert"].notna() | hello["server_rst"])
    answers = status(asked, "new", later)
    return {
        "new_sessions_before": len(quiet),
        "new_sessions_after": len(late),
        "gap_before_ms": ms(quiet.median()),
        "gap_after_ms": ms(late.median()),
        "slow_gap_ratio": ratio(late.quantile(0.9), quiet.quantile(0.9)),
        "stalled_share": share(late > STALLED * quiet.median()),
        "unanswered_share": share(hello.loc[new & after, "server_hello_time"].isna()),
        "refused_share": share(refused[new & after]),
        "failed_share": share(~answers.isin([200, 403])),
        "success_before": share(status(asked, "new", seconds < 0) == 200),
        "success_after": share(answers == 200),
        # None where the load did not go on for so long.
        "success_long_after": share(status(asked, "new", long_after) == 200),
        "forbidden_after": int((answers == 403).sum()),
        "given_up_share": share(answers == 403),
        "resumed_success_after": share(status(asked, "resumed", later) == 200),
        "resumed_gap_before_ms": ms(gap[~new & before].median()),
        "resumed_gap_after_ms": ms(gap[~new & after].median()),
        "patience_s": float(message["patience"]),
        "stamped": int(message["stamped"]),
        "providers_before": providers.iloc[0],
        "providers_after": providers.iloc[-1],
        "bouncycastle_at": position(providers.iloc[-1]),
        "dh_bits": int(notes.loc[notes["source"] == "providers", "dh_bits"].min()),
        "broken_pipes": int(notes.loc[notes["source"] == "jsse", "broken_pipes"].iloc[-1]),
        "server_cores_before": run.cpu_cores("server", end=message["began"]),
        "server_cores_after": run.cpu_cores("server", begin=message["time"]),
        "threads_making_primes": int(threads["making_primes"]),
        "threads_blocked": int(threads["blocked"]),
        "threads_looking_up_names": int(threads["looking_up_names"]),
        "threads_waiting_for_the_kernel": int(threads["waiting_for_the_kernel"]),
        "insertions_by_wss4j": who.count("WSSConfig.loadProvider"),
        "pairs_from_bouncycastle": who.count("from: BC"),
        **without_tls(notes),
    }


def without_tls(notes):
    """What key pairs took without any TLS; None where they were not made, failed, or were made too fast to tell."""
    pairs = notes[notes["source"] == "pairs"]
    pairs = {row["who"]: row for _, row in pairs.iterrows()}
    default, theirs = pairs.get("default"), pairs.get("bouncycastle")
    if theirs is not None and theirs["made"] == 0 and theirs["milliseconds"] < PAIRS_PATIENCE:
        # None was ready, and none was waited for: they failed.
        theirs = None
    return {
        "pairs_asked_for": 0 if default is None else PAIRS,
        "pairs_default_ms": None if default is None else float(default["milliseconds"]),
        # Who was not ready had waited for as long as this.
        "pairs_bouncycastle_ms": None if theirs is None else float(theirs["milliseconds"]),
        "pairs_bouncycastle_made": None if theirs is None else int(theirs["made"]),
        "pairs_ratio": None if theirs is None else ratio(theirs["milliseconds"], default["milliseconds"]),
        **what_the_lock_costs(notes),
    }


def what_the_lock_costs(notes):
    """A crowd with one source of randomness for all against one for each: None where it did not have to search."""
    turns = notes[notes["source"] == "crowd"]
    told = ("crowd_blocked_share", "crowd_each_blocked_share", "crowd_cores")
    if turns.empty or not turns["drawn"].all() or not (turns["made"] < CROWD).all():
        return dict.fromkeys(told)
    total = turns.groupby("who")[["milliseconds", "cpu_ms", "blocked_ms"]].sum()
    blocked = total["blocked_ms"] / (CROWD * total["milliseconds"])
    busy = total["cpu_ms"] / total["milliseconds"]
    return dict(zip(told, map(float, (blocked["one"], blocked["each"], busy["one"])), strict=True))


def status(asked, way, when):
    return asked.loc[(asked["way"] == way) & when, "status"]


def position(names):
    """Where BouncyCastle stands among the providers, from 1; 0 where it is not."""
    return names.split().index("BC") + 1 if "BC" in names.split() else 0


def ms(seconds):
    return None if seconds != seconds else float(1000 * seconds)
