"""What an interview over this case is made of; its text is in INTERVIEW.md."""

from workbench import lab
from workbench.interviews.asking import Cause, Evidence, Finding, Proof, both_hellos, end_of_one, frames_of, of_exercise
from workbench.interviews.evidence import Kept
from workbench.interviews.live import Live

questions = lab.load("nbproc_ssl").part("questions")
PLAIN, TLS = questions.PLAIN, questions.TLS

#: What hosts and ports are called in an interview.
HOSTS = {
    "haproxy": ["edge-01", "ingress", "frontal", "gateway"],
    "load": ["apps", "crew", "mall", "shop"],
    "probe": ["pulse", "watch", "ticks", "timer"],
}
PORTS = {PLAIN: [8080, 8088, 3128], TLS: [8443, 9443, 10443]}
#: Recorded runs that may be the evidence, and what goes on in each.
ORIGINS = {
    "broken": "in_line",
    "maxconn": "in_line",
    "nice": "in_line",
    "runqueue_depth": "in_line",
    "nbproc": "well",
    "threads_2_2": "well",
    "ecdsa": "well",
    "slow_page": "slow_page",
}
#: Which of the causes is the incident, and words that would tell which one it is before anybody has looked.
INCIDENT = "in_line"
TELLING = ["head-of-line", "slow page"]
#: About how many of the connections another recording would not have.
THINNED = 0.08
#: Whose connections are beside these: plain TCP, opened and reset.
BESIDE = [("health_check_storm", "full_size_track"), ("health_check_storm", "track")]
KEPT = Kept(
    says=("`sockets.txt` is what `ss -tplen` says at haproxy."),
    counters={"usage.haproxy": ["cpu_seconds"], "usage.nginx": ["cpu_seconds"]},
    logs={"sockets.txt": "ss.txt"},
    config={
        "haproxy.cfg": ("haproxy", "/usr/local/etc/haproxy/haproxy.cfg", "haproxy/haproxy.cfg"),
        "nginx.conf": ("nginx", "/etc/nginx/nginx.conf", "nginx/nginx.conf"),
    },
    versions=["haproxy", "openssl", "nginx"],
    hosts={
        "haproxy": "passes on plain HTTP and HTTPS to nginx beside it, at 127.0.0.1:81; the recording is from here",
        "load": "clients over TLS",
        "probe": "asks for the page over plain HTTP, fifty times a second, and over TLS now and then",
    },
)
#: The live form: the broken stack, without what only other scenarios need.
LIVE = Live(
    brings=["haproxy", "nginx/nginx.conf", "nginx/start.sh", "clients"],
    words={},
    cut={},
)
#: Milliseconds in which a ClientHello is answered at once, and from how many times the median of those alone on a request has
#: waited, and up to how many it has not.
AT_ONCE, WAITED, SOON = 5, 25, 5


def _requests(evidence: Evidence):
    """The plain requests beside TLS, and how many times as long as those alone each of them took."""
    asked, load = questions.asked(evidence.case), questions.load(evidence.case)
    alone = asked.loc[asked["start"] < load["start"].min(), "ms"].median()
    beside = asked[asked["start"].between(load["start"].min(), load["end"].max())]
    return beside, beside["ms"] / alone


def _waiting(evidence: Evidence) -> list[int]:
    beside, times = _requests(evidence)
    return frames_of(evidence.case, beside.index[times >= WAITED])


def _soon(evidence: Evidence) -> list[int]:
    beside, times = _requests(evidence)
    return frames_of(evidence.case, beside.index[times <= SOON])


def _hellos(evidence: Evidence, late: bool) -> list[int]:
    """Both Hellos of the load's full handshakes whose ClientHello waits, or those of the others."""
    load = questions.load(evidence.case)
    streams = load.loc[(load["handshake"] == "full") & ((1000 * load["hello_wait"] > AT_ONCE) == late), "stream"]
    return both_hellos(evidence.case, streams)


def _nearest(case, table, waits, right) -> list[int]:
    """The connection that waits about as long as the median."""
    return frames_of(case, [table.index[(waits - right).abs().argmin()]])


def diagnose(evidence: Evidence) -> str:
    """Which of the causes it is, by the evidence alone."""
    _, times = _requests(evidence)
    if times.median() < WAITED / 2:
        return "well"
    hello_wait = 1000 * questions.load(evidence.case)["hello_wait"].median()
    return "in_line" if hello_wait > AT_ONCE else "slow_page"


CAUSES = {
    "in_line": Cause(
        "One event loop does everything, one after another: whatever is ready waits until the TLS handshakes before it are "
        "computed, plain HTTP as well.",
        (
            Proof("a plain request waits beside TLS", _waiting),
            Proof(
                "a ClientHello waits as well, for those before it, or there is but one loop",
                lambda found: _hellos(found, late=True) + found.matching("haproxy.cfg", "nbthread 1"),
            ),
        ),
    ),
    "slow_page": Cause(
        "The page behind the load balancer is late as soon as many ask for it, whichever way they come; the handshakes are quick.",
        (
            Proof("a plain request waits beside TLS", _waiting),
            Proof(
                "a ClientHello is answered at once meanwhile, or the page is held back",
                lambda found: _hellos(found, late=False) + found.matching("nginx.conf", "limit_req"),
            ),
        ),
    ),
    "well": Cause(
        "Nothing is wrong with plain HTTP: it takes about as long beside TLS as alone.",
        (Proof("a plain request beside TLS is answered soon", _soon),),
    ),
    "too_many": Cause("The load balancer has no room for more connections, and those that are too many wait outside."),
    "lost": Cause("Packets are lost when the line is full, and have to be sent again."),
    "renewed": Cause("Plain requests are sent on to HTTPS, and each of them pays a handshake."),
}
#: Changes to choose from: the scenario that makes it, or a name of its own where none does.
CHANGES = {
    "nbproc": "processes of their own for TLS, each with a socket, and one for plain HTTP, on the same core",
    "threads_2_2": "a thread for plain HTTP and six for TLS, on the same core",
    "nbthread_2": "a second thread, which does the same as the first",
    "nice": "`nice` on the sockets, so that plain HTTP goes first among what is ready",
    "maxconn": "five times as many connections allowed",
    "runqueue_depth": "at most two tasks before the sockets are polled again",
    "page": "a page that answers as fast as it is asked",
    "nothing": "nothing: plain HTTP is as quick as it was",
}
#: What each cause is cured by; of the incident it is the verdicts of the recorded runs that say so.
CURES = {"in_line": None, "slow_page": {"page"}, "well": {"nothing"}}


def findings(case, random) -> list[Finding]:
    return [
        of_exercise(
            questions,
            "alone",
            f"How long does a plain request to haproxy:{PLAIN} take before load's first connection: the median of the time from "
            "its SYN to the first byte of its answer?",
            lambda case: _nearest(case, questions.asked(case), questions.asked(case)["ms"], questions.alone(case)),
        ),
        of_exercise(
            questions,
            "beside",
            "And from the first packet of load's connections to their last?",
            lambda case: _nearest(case, questions.asked(case), questions.asked(case)["ms"], questions.beside(case)),
        ),
        of_exercise(
            questions,
            "longest",
            f"Which frame holds the SYN of the plain request to haproxy:{PLAIN} that took longest, of those that were answered?",
        ),
        of_exercise(
            questions,
            "hello",
            f"How long is a ClientHello of load's to haproxy:{TLS} not answered: the median of the time to its ServerHello?",
            lambda case: _nearest(
                case, questions.load(case).set_index("stream"), 1000 * questions.load(case)["hello_wait"], questions.hello(case)
            ),
        ),
        end_of_one(case, random, "haproxy", TLS),
    ]
