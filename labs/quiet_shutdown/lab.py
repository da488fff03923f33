"""Drives HAProxy's health checks against Java, and reads from the recording what each check paid."""

import csv
import io
import re
import time

import pandas as pd

from workbench import connections, console
from workbench.oracle import ratio, share
from workbench.recording import rate
from workbench.stack import StackError

#: Ports that HAProxy checks: the crowd's and the specimens' Java, and nginx. 8445 is Java's for one's own hands.
CROWD, SPECIMEN, HANDS, NGINX = 8443, 8444, 8445, 9443
PORT_OF = {"java": CROWD, "specimen": SPECIMEN, "nginx": NGINX}
#: Server lines of the backends that are not the crowd.
FEW = 4 + 4
#: Checks of each line to record after its first (the oracle wants 2), and seconds to wait for them at most.
ROUNDS, WAIT = 2.5, 60
#: Seconds after which many late checks, or any server that is not up, say something.
SOON, SETTLED = 3, 20
#: Seconds after which checks that have not begun will not.
IDLE = 10
FEWEST_LINES = 25
#: What HAProxy calls a server line without a health check.
UNCHECKED = "no check"


def drive(stack, recorder):
    """Waits until every line's first check is over, then records ROUNDS checks of each; reconnects by hand meanwhile."""
    lines = settle(stack, recorder)
    asked = int(stack.environment("haproxy")["LINES"]) + FEW
    recorder.note("stack", asked=asked)
    with recorder.capture():
        began, first = time.monotonic(), sample(stack, recorder)
        reconnect(stack, recorder)
        while (waited := (time.monotonic() - began) / console.PATIENCE) < WAIT:
            time.sleep(0.5)
            made = sample(stack, recorder) - first
            if made >= ROUNDS * lines or (not made and waited > IDLE):
                break
    recorder.note("log", invalidated=stack.logs("specimen").count("Invalidated session"))


def settle(stack, recorder):
    """Returns the number of server lines once all of them are up, with fewer where this machine cannot check so many.

    A line that is up has had its first check: HAProxy reports its result.
    """
    began = time.monotonic()
    while True:
        servers = show_stat(stack)
        checked = [row for row in servers if row["status"] != UNCHECKED]
        waiting = [row for row in checked if not row["status"].startswith("UP") or not row["check_status"].endswith("OK")]
        if not waiting:
            recorder.note("settled", lines=len(servers))
            return len(servers)
        waited = (time.monotonic() - began) / console.PATIENCE
        late = sum(row["check_status"] in ("L4TOUT", "L6TOUT", "L7TOUT") for row in servers)
        crowd = sum(row["pxname"] == "java" for row in servers)
        # Slow is not broken: where checks come late, this machine is asked for fewer of them.
        if late and waited > (SOON if late > crowd / 10 else SETTLED) and crowd // 2 >= FEWEST_LINES:
            recorder.note("too_many_lines", lines=crowd, late=late)
            console.err.print(f"  {crowd} lines are more than this machine checks in time ({late} late): trying {crowd // 2}")
            stack.up("haproxy", "operator", LINES=str(crowd // 2))
            began = time.monotonic()
        elif waited > SETTLED:
            states = ", ".join(sorted({f"{row['status']} {row['check_status']}" for row in waiting}))
            raise StackError(f"haproxy: {len(waiting)} of {len(servers)} servers are not up ({states})")
        time.sleep(0.5)


def show_stat(stack):
    """The rows of `show stat` that are servers."""
    return servers_of(ask(stack, "show stat"))


def ask(stack, commands):
    """What HAProxy answers on its stats socket."""
    return stack.exec("operator", ["sh", "-c", f"echo '{commands}' | socat -t 5 - TCP:127.0.0.1:9999"])


def servers_of(text):
    table = text[text.index("# pxname") + 2 :]
    return [row for row in csv.DictReader(io.StringIO(table)) if row["svname"] not in ("FRONTEND", "BACKEND", "")]


def sample(stack, recorder):
    """Notes HAProxy's own counters, as the article reads them; returns the TLS connections it has made so far."""
    text = ask(stack, "show info; show stat")
    info = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    servers = servers_of(text)
    recorder.note(
        "haproxy",
        key_rate=int(info["SslBackendKeyRate"]),
        connections=int(info["CumSslConns"]),
        lines_up=sum(row["status"].startswith("UP") or row["status"] == UNCHECKED for row in servers),
        lines_unchecked=sum(row["status"] == UNCHECKED for row in servers),
        **{f"lines_{backend}": sum(row["pxname"] == backend for row in servers) for backend in PORT_OF},
    )
    return int(info["CumSslConns"])


def reconnect(stack, recorder):
    """The article's red herring: OpenSSL's own client, five reconnects, while the checks go on."""
    command = f"echo Q | openssl s_client -connect specimen:{HANDS} -reconnect -tls1_2 2>/dev/null"
    answers = re.findall(r"^Reused, ", stack.exec("operator", ["sh", "-c", command], check=False), re.MULTILINE)
    recorder.note("s_client", reused=len(answers))


def facts(run):
    """What the checks paid: on the wire where the oracle is concerned, from counters where the report is."""
    window = run.window()
    haproxy = window[window["source"] == "haproxy"]
    s_client = window[window["source"] == "s_client"].iloc[-1]
    stack = run.metrics[run.metrics["source"] == "stack"].iloc[-1]
    lines = {backend: int(haproxy[f"lines_{backend}"].iloc[-1]) for backend in PORT_OF}
    every_line = sum(lines.values())
    check_rate = rate(haproxy, "connections")
    key_rate = float(haproxy["key_rate"].median())

    seen = {backend: checks_of(run, run.meta["addresses"][backend], port) for backend, port in PORT_OF.items()}
    # A published capture keeps the specimens only: count the lines whose checks are in it.
    kept = ["specimen"] if "kept" in run.meta else ["java", "specimen"]
    every_java = pd.concat([seen[backend] for backend in kept])
    java, nginx = connections.finished(every_java), connections.finished(seen["nginx"])
    specimen = connections.finished(seen["specimen"])
    specimen = specimen[specimen["client_fin"] | specimen["client_rst"]]
    whole = every_java[(every_java["client_syns"] > 0) & (every_java["client_fin"] | every_java["client_rst"])]
    return {
        "full_handshakes_per_check": share(java["handshake"] == "full"),
        "checks_per_line": ratio(len(java), sum(lines[backend] for backend in kept)),
        # Where the machine is slow, many handshakes are still going on when the recording ends: they are not unfinished.
        "unfinished_share": share(whole["handshake"].dropna() == "unfinished"),
        "lines": every_line,
        "lines_missing": int(stack["asked"]) - every_line,
        "lines_unchecked": int(haproxy["lines_unchecked"].iloc[-1]),
        "lines_up_share": ratio(float(haproxy["lines_up"].iloc[-1]), every_line),
        "fewest_checks_per_line": min(ratio(len(seen[backend]), lines[backend]) or 0.0 for backend in kept),
        "tls_share": share(whole["handshake"].notna()),
        "samples": len(haproxy),
        "check_rate": check_rate,
        "key_rate": key_rate,
        "keys_per_check": ratio(key_rate, check_rate),
        "close_notify_per_check": share(specimen["client_alert"].notna()),
        "session_offered_per_check": share(specimen["session_offered"]),
        "haproxy_cores": run.cpu_cores("haproxy"),
        "haproxy_cpu_ms_per_check": ratio(1000 * run.cpu_cores("haproxy"), check_rate),
        "java_cpu_ms_per_check": ratio(1000 * run.cpu_cores("java"), check_rate * (ratio(lines["java"], every_line) or 0.0)),
        "nginx_full_handshakes_per_check": share(nginx["handshake"] == "full"),
        "s_client_reused": int(s_client["reused"]),
        "invalidated_sessions": int(run.metrics.loc[run.metrics["source"] == "log", "invalidated"].iloc[-1]),
    }


def checks_of(run, address, port):
    """Connections to one service: its own address counts as well as its port, which another server might listen on."""
    table = connections.table(run.capture)
    return table[(table["server"] == address) & (table["server_port"] == port)]
