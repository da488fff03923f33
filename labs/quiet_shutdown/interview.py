"""What an interview over this case is made of; its text is in INTERVIEW.md."""

from workbench import exercise, lab
from workbench.exercise import Case
from workbench.interviews.asking import (
    Cause,
    Evidence,
    Proof,
    both_hellos,
    end_of_one,
    ending_frames,
    handshakes_between,
    hello_frames,
    of_exercise,
)
from workbench.interviews.evidence import Kept
from workbench.interviews.live import Live

questions = lab.load("quiet_shutdown").part("questions")

CHECKED, BY_HAND, NGINX = questions.SPECIMEN, questions.HANDS, questions.NGINX
#: What hosts and ports are called in an interview.
HOSTS = {
    "haproxy": ["edge-01", "ingress", "frontal", "gateway"],
    "specimen": ["accounts", "payments", "shipping", "invoices"],
    "nginx": ["media", "pages", "files", "stock"],
    "java": ["core", "apps", "bulk", "crew"],
}
PORTS = {8443: [7443, 6443], CHECKED: [9444, 7444], BY_HAND: [9445, 7445], NGINX: [8843, 10443]}
#: Recorded runs that may be the evidence, and what goes on in each.
ORIGINS = {
    "broken": "forgotten",
    "two_threads": "forgotten",
    "session_cache": "forgotten",
    "jdk_11_0_13": "forgotten",
    "haproxy_2_2": "forgotten",
    "haproxy_3_0": "forgotten",
    "httpchk": "well",
    "jetty_9_4_12": "well",
    "no_ssl_reuse": "not_offered",
}
#: Which of the causes is the incident, and words that would tell which one it is before anybody has looked.
INCIDENT = "forgotten"
TELLING = ["quiet shutdown", "quiet_shutdown", "no_ssl_reuse", "close_notify.c"]
#: About how many of the connections another recording would not have.
THINNED = 0.03
#: Whose connections are beside these: plain TCP, opened and reset.
BESIDE = [("health_check_storm", "full_size_track"), ("health_check_storm", "track")]
#: The live form: the broken stack, without what only other scenarios need.
LIVE = Live(
    brings=["haproxy/haproxy.cfg", "haproxy/start.sh", "haproxy/Dockerfile", "java", "nginx"],
    words={
        "jetty.fixed": "jetty.another",
    },
    cut={
        "haproxy/Dockerfile": [r"ARG TOOLS=.*\n", r"FROM \$\{TOOLS\} AS preload\n(?:.+\n)+\n", r"COPY --from=preload .*\n"],
        "haproxy/start.sh": [r".*PRELOAD.*\n"],
        "compose.yaml": [r" +PRELOAD: .*\n", r", TOOLS: [^}]*\}\"(?=\})"],
    },
)
KEPT = Kept(
    says=(
        "`key_rate` is how many TLS keys haproxy computes a second for connections to its servers, `connections` how many it has "
        "opened, and `lines_up` how many servers it takes for well."
    ),
    counters={
        "haproxy": ["key_rate", "connections", "lines_up"],
        "usage.haproxy": ["cpu_seconds"],
        "usage.java": ["cpu_seconds"],
        "usage.specimen": ["cpu_seconds"],
        "usage.nginx": ["cpu_seconds"],
    },
    config={
        "haproxy.cfg": ("haproxy", "/usr/local/etc/haproxy/haproxy.cfg", "haproxy/haproxy.cfg"),
        "nginx.conf": ("nginx", "/etc/nginx/nginx.conf", "nginx/nginx.conf"),
    },
    variables={"specimen": ["JRE", "JETTY", "JAVA_OPTS"]},
    versions=["haproxy", "java", "jetty", "nginx", "openssl"],
    hosts={
        "haproxy": "the load balancer; openssl s_client was called beside it once",
        "specimen": f"a Java service, four servers; also listens at :{BY_HAND}, which nobody checks",
        "java": "the other Java services, a few hundred servers",
        "nginx": "a service that is not Java, four servers",
    },
)


def _hellos(case: Case, port: int, kind: str, *, offered: bool) -> list[int]:
    """Both Hellos: what is offered stands in the one, and what becomes of it in the other."""
    table = exercise.finished(case, port)
    streams = table.loc[(table["handshake"] == kind) & (table["session_offered"] == offered), "stream"]
    return both_hellos(case, streams)


def _silent_ends(evidence: Evidence) -> list[int]:
    return [frame for sign in ("FIN", "RST") for frame in ending_frames(evidence.case, CHECKED, "client", sign)]


def _nothing_offered(evidence: Evidence) -> list[int]:
    """ClientHellos of the checks without a session."""
    table = evidence.case.connections
    return hello_frames(evidence.case, table.loc[table["server_port"].isin([CHECKED, NGINX]) & ~table["session_offered"], "stream"])


def diagnose(evidence: Evidence) -> str:
    """Which of the causes it is, by the evidence alone."""
    checks = exercise.finished(evidence.case, CHECKED)
    if (checks["handshake"] == "resumed").mean() > 0.5:
        return "well"
    return "forgotten" if checks["session_offered"].mean() > 0.3 else "not_offered"


CAUSES = {
    "forgotten": Cause(
        "The load balancer ends each check without a close_notify; the Java services then throw the session away, and the next "
        "check offers it in vain.",
        (
            Proof("a check ends without a close_notify", _silent_ends),
            Proof("a session is offered and declined", lambda found: _hellos(found.case, CHECKED, "full", offered=True)),
        ),
    ),
    "not_offered": Cause(
        "The load balancer offers no session at all in its checks; whoever offers one to the same services resumes it.",
        (
            Proof(
                "a check that offers nothing", lambda found: _nothing_offered(found) + found.matching("haproxy.cfg", "no-ssl-reuse")
            ),
            Proof("the same Java resumes for somebody else", lambda found: _hellos(found.case, BY_HAND, "resumed", offered=True)),
        ),
    ),
    "well": Cause(
        "Nothing is wrong with the checks: they resume their sessions.",
        (
            Proof(
                "a check of a Java service is resumed, or no key is computed",
                lambda found: [
                    *_hellos(found.case, CHECKED, "resumed", offered=True),
                    *found.matching("counters.csv", "key_rate,0"),
                ],
            ),
        ),
    ),
    "no_cache": Cause("The Java services keep no sessions, so that nobody can resume one with them."),
    "tickets": Cause("The services encrypt session tickets with keys of their own each, and cannot read each other's."),
    "too_many": Cause("The handshakes fail and are tried again: each check needs several before one comes to its end."),
}
#: Changes to choose from, by the scenario that makes it, where one does.
CHANGES = {
    "httpchk": "checks that ask for a page over HTTP and read the answer",
    "jetty_9_4_12": "Jetty 9.4.12 in place of the Jetty that is there",
    "session_cache": "more room in Java's session cache",
    "two_threads": "another thread for the load balancer",
    "ecdsa": "certificates with an elliptic curve",
    "reuse": "taking `no-ssl-reuse` out of the load balancer's configuration, if it is there",
    "nothing": "nothing: the checks are as cheap as they can be",
}
#: What each cause is cured by; of the incident it is the verdicts of the recorded runs that say so.
CURES = {"forgotten": None, "not_offered": {"reuse"}, "well": {"nothing"}}


def findings(case, random):
    return [
        handshakes_between(case, random, "specimen", CHECKED),
        of_exercise(
            questions,
            "offers",
            f"In how many of the finished handshakes with specimen:{CHECKED} does the client offer a session, by an id "
            "or a ticket that is not empty?",
            lambda case: hello_frames(case, exercise.finished(case, CHECKED).query("session_offered")["stream"]),
        ),
        of_exercise(
            questions,
            "declined",
            "Which frame is the first in which a server declines a session that it was offered, on whichever port?",
        ),
        end_of_one(case, random, "specimen", CHECKED),
        of_exercise(
            questions,
            "ending_nginx",
            f"How do the connections to nginx:{NGINX} end, mostly: which side begins to end them, and with what (its first "
            "alert, FIN or RST; an encrypted alert is a close_notify)?",
            lambda case: [frame for sign in ("FIN", "RST", "close_notify") for frame in ending_frames(case, NGINX, "client", sign)],
        ),
    ]
