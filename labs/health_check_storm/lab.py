"""Steady zones, one more node, and what comes of it; where nothing does, three times the nodes. Or workers that connect."""

import json
import time
from itertools import pairwise

from workbench import connections, console, packets
from workbench.oracle import ratio, share
from workbench.recording import rate

#: Seconds: at rest, how long a node more and the grown grid are watched, how much longer where nearly as much is asked for as
#: the instance bears (a little too much takes its time to fill the reserve), and the storm as it is left alone.
STEADY, MORE, GROWN, NEAR, STORM = 10, 20, 25, 90, 20
#: From what share of what the instance bears on.
NEARLY = 0.8
#: How long it is waited for at most: until all is well, the storm stops again, all is well again, a dead mesh is noticed.
SETTLE, STOPS, HEAL, NOTICE = (seconds * console.PATIENCE for seconds in (40, 30, 45, 30))
#: Seconds without a lost SYN after which a storm is over.
CALM = 5
#: The zone whose mesh is behind the tracking, and dies at the end.
TRACKED = "a"
#: A request is answered at once when it takes no longer, in seconds.
AT_ONCE = 2
#: Seconds that workers work, and connections that all of them make in a second in which hardly any gets through.
WORK, QUIET = 40, 1
#: Kept of the wire: seconds before and after the first SYN that is lost, and at most so many SYNs; where none is lost, so many
#: of them at the end, and so many seconds at most.
BEFORE, AFTER, MOST_SYNS, CALM_SYNS, CALM_LONGEST = 3, 9, 4200, 2000, 30
#: Whose port divided by 16 leaves this, is recorded whole (lab.toml, recording.filter). Linux gives even ports to who connects.
WHOLE = 2
#: From what share of services on that take it for dead a mesh is dark.
DARK = 0.1
#: Seconds that the live view looks back.
LIVE = 10


def drive(stack, recorder):
    """Goes through the plan's steps until one tips the zone, and heals it; then a mesh dies. Or has workers work."""
    operator = stack.environment("operator")
    steps = [map(int, step.split("-")) for step in operator["PLAN"].split()]
    plan = [dict(zip(operator["ZONES"].split(), step, strict=True)) for step in steps]
    began = time.time()
    if any(plan[0].values()):
        settle(stack, plan[0], SETTLE)
    ended = work(stack, recorder, operator["WORKERS"].split()) if operator["WORKERS"] else grow(stack, recorder, plan)
    note_told(stack, recorder, began, ended)


def grow(stack, recorder, plan):
    """Returns when the mesh died."""
    with recorder.capture():
        recorder.phase("steady")
        time.sleep(STEADY)
        for nodes in plan[1:]:
            last = nodes is plan[-1]
            recorder.phase("grown" if last else "more")
            if tips(stack, nodes, GROWN if last else MORE):
                recorder.phase("storm")
                time.sleep(STORM)
                # It stops and goes: the node is taken away when it has stopped.
                wait(STOPS, lambda: stopped(stack))
                recorder.phase("as before")
                settle(stack, plan[0], HEAL)
                break
        died = recorder.phase("a mesh dies")
        stack.exec(f"mesh-{TRACKED}", ["sh", "-c", "kill $(cat /run/service/pid)"])
        wait(NOTICE, lambda: noticed(stack))
        said = stack.exec("operator", ["python3", "/opt/clients.py"])
        recorder.phase("end")
    for line in said.splitlines():
        recorder.note("without", **json.loads(line))
    return died


def tips(stack, nodes, seconds):
    """Whether the zone begins to lose SYNs within so many seconds of having so many nodes; more where it is a close thing."""
    since = time.time()
    scale(stack, nodes)
    return wait(seconds, lambda: loses(stack, since)) or (near(stack) and wait(NEAR, lambda: loses(stack, since)))


def scale(stack, nodes):
    """As many nodes a zone."""
    stack.up(*(f"grid-{zone}" for zone in nodes), scale={f"grid-{zone}": count for zone, count in nodes.items()})


def settle(stack, nodes, seconds):
    """As many nodes a zone, and as long as it takes until all is well, but no longer than so many seconds."""
    scale(stack, nodes)
    since = time.time()
    wait(seconds, lambda: healed(stack, nodes, since))


def wait(seconds, come):
    """Whether it has come within so many seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if come():
            return True
        time.sleep(1)
    return False


def told(stack, service, since):
    """What a service has told since a moment, as a list of its lines."""
    return [json.loads(line) for line in stack.logs(service, since).splitlines() if line.startswith("{")]


def pace(before, after, counter):
    """What a counter gained a second from one line to a later one."""
    return (after[counter] - before[counter]) / (after["time"] - before["time"])


def looks(stack, since):
    return [line["zones"] for line in told(stack, "operator", since) if line["source"] == "nodes"]


def live(stack):
    """What `make live` shows of a stack that runs, a row a zone: its nodes, the checks that its mesh gets, by how many
    services on all nodes it is taken for dead, and by whom its clients were answered."""
    since = time.time() - LIVE
    lines = told(stack, "operator", since)
    looked = [line["zones"] for line in lines if line["source"] == "nodes"]
    if not looked:
        return []
    newest, rows = looked[-1], []
    services = sum(zone["services"] for zone in newest.values())
    for zone, there in newest.items():
        counted = told(stack, f"mesh-{zone}", since)[-2:]
        checks = [pace(before, after, "checks") for before, after in pairwise(counted)]
        answers = [line["by"] for line in lines if line["source"] == "request" and line["zone"] == zone]
        down = sum(other["down"][zone] for other in newest.values())
        rows.append(
            {
                "zone": zone,
                "nodes": there["nodes"],
                "checks a second": f"{checks[-1]:.0f}" if checks else "–",
                "DOWN": f"{down} of {services}",
                "wrong zone": share_of(answers, lambda by, zone=zone: by not in (zone, None)),
                "unanswered": share_of(answers, lambda by: by is None),
            }
        )
    return rows


def share_of(values, which):
    return f"{sum(map(which, values)) / len(values):.0%}" if values else "–"


def loses(stack, since):
    counted = told(stack, "sg", since)
    return bool(counted) and counted[-1]["lost"] > counted[0]["lost"]


def near(stack):
    """Whether new connections are nearly as many as the instance bears."""
    counted = told(stack, "sg", time.time() - 8)
    if len(counted) < 2:
        return False
    return pace(counted[0], counted[-1], "opened") > NEARLY * counted[-1]["bears"] > 0


def healed(stack, nodes, since):
    """Whether the latest look later than a moment finds all nodes and no service DOWN, and no SYN has been lost of late."""
    seen = looks(stack, max(since, time.time() - 3))
    up = bool(seen) and all(
        seen[-1][zone]["nodes"] == count and seen[-1][zone]["services"] and not any(seen[-1][zone]["down"].values())
        for zone, count in nodes.items()
    )
    return up and not loses(stack, time.time() - CALM)


def stopped(stack):
    """Whether hardly anything gets through just now, and services have seen it."""
    seen = looks(stack, time.time() - 3)
    return bool(seen) and (dead_share(seen[-1], TRACKED) or 0) > DARK and loses(stack, time.time() - CALM)


def noticed(stack):
    seen = looks(stack, time.time() - 3)
    return bool(seen) and dead_share(seen[-1], TRACKED) == 1


def dead_share(zones, mesh):
    """The share of all services on all nodes that take a mesh for dead."""
    return ratio(sum(zone["down"][mesh] for zone in zones.values()), sum(zone["services"] for zone in zones.values()))


def work(stack, recorder, paces):
    """Workers, a second after the recording has begun. Returns when they were done."""
    with recorder.capture():
        recorder.phase("steady")
        time.sleep(1)
        recorder.phase("more")
        said = stack.exec("operator", ["python3", "/opt/workers.py", str(WORK), *paces])
        ended = recorder.phase("end")
    for line in said.splitlines():
        recorder.note("worker", **json.loads(line))
    return ended


def note_told(stack, recorder, since, ended):
    """What nodes, clients, meshes and the way to the instance have told meanwhile, with their own times."""
    for line in told(stack, "operator", since):
        recorder.note(**(line if line["source"] == "request" else {"time": line["time"], "source": "nodes"} | seen(line["zones"])))
    counted = told(stack, "sg", since)
    for line in counted:
        recorder.note("sg", **line)
    for zone in stack.environment("operator")["ZONES"].split():
        for line in told(stack, f"mesh-{zone}", since):
            recorder.note(f"mesh-{zone}", **line)
    recorder.note("keep", **window([line for line in counted if recorder.window[0] <= line["time"] <= ended]))


def seen(zones):
    """A look at the nodes, flat: nodes and services of all zones, and for each mesh by how many it is taken for dead."""
    return {
        "nodes": sum(zone["nodes"] for zone in zones.values()),
        "services": sum(zone["services"] for zone in zones.values()),
        **{f"down_{mesh}": sum(zone["down"][mesh] for zone in zones.values()) for mesh in zones},
    }


def window(counted):
    """What to keep of the wire: around the first SYN that was lost, or else the last seconds."""
    for before, line in pairwise(counted):
        if line["lost"] > before["lost"]:
            begin = before["time"] - BEFORE
            few = [each["time"] for each in counted if since(counted, begin, each) <= MOST_SYNS]
            return {"begin": begin, "end": min(before["time"] + AFTER, max(few))}
    last = counted[-1]
    kept = min(CALM_LONGEST, CALM_SYNS / max(1, pace(counted[-CALM_LONGEST:][0], last, "opened")))
    return {"begin": last["time"] - kept, "end": last["time"]}


def since(counted, begin, line):
    """SYNs from a moment to a line of the counters."""
    first = next(each for each in counted if each["time"] >= begin)
    return line["opened"] + line["lost"] - first["opened"] - first["lost"]


def facts(run):
    """What the nodes took the tracked mesh for though it answered, which SYNs were lost on the way to it, and what clients
    met. What a run of this kind has not is None."""
    notes = run.window()
    began = run.phases()
    # In some runs nothing grows.
    grown = min((began[name] for name in ("more", "grown") if name in began), default=began["steady"])
    died = began.get("a mesh dies", began["end"])
    calm_again = began.get("as before", died)
    nodes, way = (notes[notes["source"] == source] for source in ("nodes", "sg"))
    way = way[way["time"] <= died]
    at_stake = nodes[nodes["time"].between(grown, calm_again) & (nodes["services"] > 0)]
    return {
        "nodes_at_first": most(nodes[nodes["time"] < grown], "nodes"),
        "nodes_at_most": most(at_stake, "nodes"),
        **taken_for_dead(at_stake),
        **without_it(run, nodes[nodes["time"] >= died]),
        "services_a_node": ratio(nodes["services"].sum(), nodes["nodes"].sum()),
        "mesh_answers_share": share(way["answers"] == 1),
        **on_the_wire(run, grown, died),
        "lost_after_s": lost_after(way, grown),
        "healed_after_s": healed_after(way, nodes[nodes["time"] <= died], began),
        **rates(notes, began, grown),
        **answered(notes, began, grown, calm_again),
        **paced(run.metrics),
        **sent_again(run),
        "mesh_cores": run.cpu_cores(f"mesh-{TRACKED}"),
    }


def most(rows, column):
    return None if rows.empty else int(rows[column].max())


def taken_for_dead(at_stake):
    """The look with most services that take the tracked mesh for dead."""
    told = dict.fromkeys(("looks", "services", "services_down", "services_down_share"))
    if at_stake.empty:
        return told | {"looks": 0}
    down = at_stake[f"down_{TRACKED}"]
    worst = at_stake.loc[down.idxmax()]
    return {
        "looks": len(at_stake),
        "services": int(worst["services"]),
        "services_down": int(down.max()),
        "services_down_share": ratio(down.max(), worst["services"]),
    }


def without_it(run, looks):
    """When the tracked mesh has died: by what share of services it is noticed, and what share of services, asked one by one
    then, is answered at once by another zone's."""
    looks = looks[looks["services"] > 0]
    asked = run.metrics[run.metrics["source"] == "without"]
    return {
        "dead_noticed_share": None if looks.empty else float((looks[f"down_{TRACKED}"] / looks["services"]).max()),
        "served_without_share": share(asked["by"].notna() & (asked["took"] <= AT_ONCE)) if len(asked) else None,
    }


def on_the_wire(run, since, until):
    """Every SYN to the tracked mesh that was sent between two moments, and those of them that nobody answered; and of the
    connections that were recorded whole and stood, those that were reset before a byte was sent."""
    table = to_the_mesh(run)
    table = table[table["start"] <= until]
    stood = table[(table["client_port"] % 16 == WHOLE) & (table["server_syns"] > 0)]
    table = table[table["start"] >= since]
    syns = int(table["client_syns"].sum())
    lost = syns - int((table["server_syns"] > 0).sum())
    return {
        "syns": syns,
        "syns_lost_share": ratio(lost, syns),
        "reset_without_a_byte_share": share(stood["client_rst"] & (stood["client_bytes"] == 0)),
    }


def to_the_mesh(run):
    table = connections.table(run.capture)
    return table[(table["server"] == run.meta["addresses"]["sg"]) & (table["server_port"] == 8080) & (table["client_syns"] > 0)]


def lost_after(way, grown):
    """Seconds from the first node more to the first SYN that was lost."""
    later = way[way["time"] >= grown]
    lost = later[later["lost"] > way["lost"].iloc[0]]
    return None if lost.empty else float(lost["time"].iloc[0] - grown)


def healed_after(way, nodes, began):
    """Seconds from the moment that the node was taken away until no SYN was lost and no service was DOWN any more."""
    if "as before" not in began:
        return None
    lost = way.loc[way["lost"].diff() > 0, "time"]
    down = nodes.loc[nodes[f"down_{TRACKED}"] > 0, "time"]
    return float(max(began["as before"], lost.max(), down.max()) - began["as before"])


def rates(notes, began, grown):
    """Checks that the meshes' kernels counted before the first node more, and SYNs on the way to the tracked one in the storm."""
    storm = began.get("as before")
    first = (began["steady"], grown if grown > began["steady"] else began.get("a mesh dies", began["end"]))
    counted = {mesh: notes[notes["source"] == f"mesh-{mesh}"] for mesh in (TRACKED, "c")}
    way = notes[notes["source"] == "sg"]
    return {
        "checks_a_second": a_second(counted[TRACKED], "checks", *first),
        "checks_a_second_of_another": a_second(counted["c"], "checks", *first),
        "accepted_a_second_in_storm": a_second(way, "opened", began["storm"], storm) if storm else None,
        "lost_a_second_in_storm": a_second(way, "lost", began["storm"], storm) if storm else None,
    }


def a_second(rows, counter, begin, end):
    """What a counter gained a second; None where it was read less than twice."""
    rows = rows[rows["time"].between(begin, end)]
    return rate(rows, counter) if len(rows) > 1 else None


def answered(notes, began, grown, calm_again):
    """Requests to nodes of the tracked zone: by whom they were answered, and how long they took."""
    asked = notes[(notes["source"] == "request") & (notes.get("zone") == TRACKED)]
    before = asked[asked["began"] < (grown if grown > began["steady"] else calm_again)] if len(asked) else asked
    later = asked[asked["began"].between(began.get("storm", grown), calm_again)] if len(asked) else asked
    return {
        "own_zone_share_before": share(before["by"] == TRACKED) if len(before) else None,
        "wrong_zone_share": share(later["by"].notna() & (later["by"] != TRACKED)) if len(later) else None,
        "unanswered_share": share(later["by"].isna()) if len(later) else None,
        "slowest_request_before_s": float(before["took"].max()) if len(before) else None,
        "slowest_request_s": float(later["took"].max()) if len(later) else None,
    }


def paced(notes):
    """Workers, how many of them came to less than half of their pace (of those that are faster than most, and of the others),
    and the seconds in which all together made hardly a connection. The pace of one that is as fast as it can is what the
    best of its like made in a second."""
    made = notes[notes["source"] == "worker"]
    if made.empty:
        return dict.fromkeys(("workers", "workers_held_up", "fast_workers_held_up", "slow_workers_held_up", "quiet_seconds_share"))
    paces = made.groupby("worker")["pace"].first()
    wanted = paces.where(paces > 0, made.loc[made["pace"] == 0, "connections"].max())
    held_up = made.groupby("worker")["connections"].mean() < wanted / 2
    fast = wanted > paces[paces > 0].median()
    a_second = made.groupby("second")["connections"].sum()
    return {
        "workers": len(held_up),
        "workers_held_up": int(held_up.sum()),
        "fast_workers_held_up": int((held_up & fast).sum()),
        "slow_workers_held_up": int((held_up & ~fast).sum()),
        "quiet_seconds_share": share(a_second <= QUIET),
    }


def sent_again(run):
    """After how many seconds a SYN was sent for the second, third and fourth time, as a rule."""
    rows = packets.table(run.capture)
    syns = rows[(rows["flags"] & (connections.SYN | connections.ACK) == connections.SYN) & (rows["dport"] == 8080)]
    after = syns["time"] - syns.groupby("stream")["time"].transform("min")
    turn = syns.groupby("stream").cumcount()
    return {f"sent_again_{number}_s": float(each.median()) if len(each := after[turn == number]) else None for number in (1, 2, 3)}
