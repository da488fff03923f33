"""What an interview over this case is made of; its text is in INTERVIEW.md."""

from workbench import lab
from workbench.interviews.asking import Cause, Evidence, Finding, Proof, end_of_one, frames_of, of_exercise
from workbench.interviews.evidence import Kept
from workbench.interviews.live import Live

questions = lab.load("health_check_storm").part("questions")
PORT = 8080

#: What hosts and ports are called in an interview; a zone's letter follows.
HOSTS = {
    "grid": ["apps", "crew", "farm", "pool"],
    "mesh": ["relay", "router", "broker", "exchange"],
    "sg": ["inlet", "entry", "access"],
    "operator": ["frontend", "visitors", "customer"],
}
PORTS = {PORT: [8088, 3128, 80]}
#: Recorded runs that may be the evidence, and what goes on in each.
ORIGINS = {
    "broken": "checks",
    "spread_checks": "checks",
    "timeout_check": "checks",
    "inter_4s": "checks",
    "track": "well",
    "larger_instance": "well",
    "allow_all": "well",
    "worker_beside_checks": "one_client",
}
#: Which of the causes is the incident, and words that would tell which one it is before anybody has looked.
INCIDENT = "checks"
TELLING = ["storm", "tracking", "conntrack"]
#: About how many of the connections another recording would not have.
THINNED = 0.08
#: Whose connections are beside these: TLS between others.
BESIDE = [("quiet_shutdown", "httpchk"), ("quiet_shutdown", "jetty_9_4_12")]
#: The live form: what the provider does is sealed.
LIVE = Live(
    brings=["grid", "mesh", "sg", "operator/Dockerfile", "operator/clients.py", "operator/nodes.py", "operator/watch.py"],
    words={
        "COPY start.sh way.nft tracking.nft /opt/\n": (
            "COPY start.sh way.nft rules.nft /opt/\n"
            'RUN for each in /opt/*; do base64 -d "$each" >/tmp/plain && cp /tmp/plain "$each"; done\n'
        ),
        "tracking.nft": "rules.nft",
        # What it has counted, it keeps to itself.
        "  '\ndone\n": "  ' >/dev/null\ndone\n",
    },
    cut={},
    sealed=("sg/start.sh", "sg/way.nft", "sg/tracking.nft"),
)
_ZONES = ("a", "b", "c")
KEPT = Kept(
    says=(
        "`checks` are connections that a mesh has seen opened and ended without a byte, `down_a` how many services take mesh-a for "
        "dead, `took` the seconds that a request took which began at that time, and `by` the zone that answered it."
    ),
    counters={
        "nodes": ["nodes", "services", *(f"down_{zone}" for zone in _ZONES)],
        "request": ["zone", "by", "took"],
        **{f"mesh-{zone}": ["checks"] for zone in _ZONES},
        **{f"usage.mesh-{zone}": ["cpu_seconds"] for zone in _ZONES},
    },
    config={
        "haproxy.cfg": ("grid-a", "/usr/local/etc/haproxy/haproxy.cfg", "grid/haproxy.cfg"),
        "service.cfg": ("grid-a", "/usr/local/etc/haproxy/service.cfg", "grid/service.cfg"),
    },
    variables={"grid-a": ["ZONES", "SERVICES"]},
    versions=["haproxy"],
    hosts={
        "sg": "mesh-a, as the nodes reach it: the recording is made there, before anything is held back",
        "mesh-b": "the same for zone b",
        "mesh-c": "the same for zone c",
        "grid-a": "the first node of zone a; its fellows have addresses of the same network",
        "operator": "clients of the services, and applications of other teams",
    },
)


def _lost(evidence: Evidence) -> list[int]:
    """Every SYN of a connection that lost one."""
    rows = questions.syns(evidence.case)
    return [int(frame) for frame in rows.loc[rows["stream"].isin(questions.lost(evidence.case)["stream"]), "frame"]]


def _from_operator(evidence: Evidence) -> list[int]:
    rows = questions.syns(evidence.case)
    return [int(frame) for frame in rows.loc[rows["src"] == evidence.case.run.meta["addresses"]["operator"], "frame"]]


def _checks(evidence: Evidence, answered: bool) -> list[int]:
    """What begins and ends connections of nodes in which nobody sends a byte."""
    case = evidence.case
    table = questions.begun(case)
    table = table[(table["server_port"] == PORT) & (table["client"] != case.run.meta["addresses"]["operator"])]
    table = table[table["client_rst"] & (table["client_bytes"] == 0)]
    if answered:
        table = table[(table["client_syns"] == 1) & (table["server_syns"] > 0)]
    return frames_of(case, table["stream"])


def diagnose(evidence: Evidence) -> str:
    """Which of the causes it is, by the evidence alone."""
    table = questions.begun(evidence.case)
    lost = questions.lost(evidence.case)
    if lost.empty:
        return "well"
    # Who opens them in the last second in which none is lost? Whoever waits for a SYN opens nothing else meanwhile.
    before = table[table["start"].between(lost["start"].min() - 1, lost["start"].min(), inclusive="left")]
    by_operator = before["client"] == evidence.case.run.meta["addresses"]["operator"]
    return "one_client" if by_operator.mean() > 0.4 else "checks"


CAUSES = {
    "checks": Cause(
        "Each service on each node checks each zone's mesh for itself: so many new connections come of it that the way to mesh-a "
        "bears no more, and checks get lost though mesh-a is well.",
        (
            Proof("a SYN to mesh-a is lost", _lost),
            Proof(
                "a check: opened and reset without a byte, or how many services check for themselves",
                lambda found: [
                    *_checks(found, answered=False),
                    *found.matching("service.cfg", " check"),
                    *found.matching("variables.txt", "SERVICES"),
                ],
            ),
        ),
    ),
    "one_client": Cause(
        "One client opens so many connections to mesh-a by itself that the way there bears no more, and the nodes' checks get "
        "lost as well.",
        (
            Proof("a SYN to mesh-a is lost", _lost),
            Proof("a connection of that client's", _from_operator),
        ),
    ),
    "well": Cause(
        "Nothing is wrong with the way to mesh-a: whoever connects is answered.",
        (Proof("a check that is answered", lambda found: _checks(found, answered=True)),),
    ),
    "overloaded": Cause("mesh-a has too much to do, and answers too late."),
    "restarts": Cause("mesh-a ends and is started again: while it is away, its port answers with resets."),
    "slow_checks": Cause("The nodes' checks are answered, but later than they may be, and are taken for failed."),
}
#: Changes to choose from: the scenario that makes it, or a name of its own where none does.
CHANGES = {
    "track": "one backend on each node that checks each mesh once, and all services go by it",
    "spread_checks": "checks spread at random by half of their interval",
    "fastinter": "checks four times as often while a server is in doubt",
    "timeout_check": "a check that may take ten seconds",
    "fall_10": "ten failures in place of three before a server is taken for dead",
    "client": "the one client that opens most connections keeps one open, and uses it again",
    "nothing": "nothing: it is well",
}
#: What each cause is cured by; of the incident it is the verdicts of the recorded runs that say so.
CURES = {"checks": None, "one_client": {"client"}, "well": {"nothing"}}


def findings(case, random) -> list[Finding]:
    return [
        of_exercise(
            questions,
            "rate",
            "How many new connections, to whomever, begin in the first two seconds of the capture? (A SYN that is sent again "
            "begins none.)",
            lambda case: [
                int(frame) for frame in questions.syns(case).drop_duplicates("stream")["frame"].iloc[: questions.at_first(case)]
            ],
        ),
        of_exercise(
            questions,
            "lost",
            "Take the earliest connection that had to repeat its SYN, or was never answered. Which frame holds its first SYN?",
        ),
        of_exercise(
            questions,
            "again",
            "How many SYNs repeat an earlier SYN of the same connection (as Wireshark counts retransmissions)?",
            lambda case: [int(frame) for frame in questions.syns(case)[questions.syns(case)["stream"].duplicated()]["frame"]],
        ),
        of_exercise(
            questions,
            "share",
            "What share of all SYNs, also of those that are sent again, is not answered?",
            lambda case: _lost(Evidence(case)),
        ),
        end_of_one(case, random, "mesh-a", PORT),
    ]
