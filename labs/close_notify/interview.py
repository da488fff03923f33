"""What an interview over this case is made of; its text is in INTERVIEW.md."""

from workbench import exercise, lab
from workbench.connections import CERTIFICATE, CLIENT_HELLO, SERVER_HELLO
from workbench.interviews.asking import Cause, Evidence, Finding, Proof, end_of_one, handshakes_between, hello_frames, of_exercise
from workbench.interviews.evidence import Kept
from workbench.interviews.live import Live

questions = lab.load("close_notify").part("questions")
PORT = 8443
#: What the client logs of TLS, and its words for having closed before the server.
LOG, UNREAD = "application.log", "closing inbound before receiving"

#: What hosts and ports are called in an interview.
HOSTS = {"specimen": ["accounts", "payments", "shipping"]}
PORTS = {PORT: [9443, 7443, 10443]}
#: Recorded runs that may be the evidence, and what goes on in each.
ORIGINS = {
    "http_client": "unread",
    "jdk_11_0_10": "unread",
    "httpclient_4_5_14": "unread",
    "httpcore_4_4_15": "well",
    "jdk_11_0_13": "well",
    "drain_patch": "well",
    "no_common_secret": "not_offered",
}
#: Which of the causes is the incident, and words that would tell which one it is before anybody has looked.
INCIDENT = "unread"
TELLING = ["drain", "reflective"]
#: About how many of the connections another recording would not have.
THINNED = 0.0
#: Whose connections are beside these: plain TCP, opened and reset.
BESIDE = [("health_check_storm", "full_size_track"), ("health_check_storm", "track")]
#: The live form: the client after its change, with the senders that libraries bring, and without those that were written to cure.
_JAVA = "java/{0}/src/main/java/incidentlabs/{1}"
LIVE = Live(
    shows="http_client",
    brings=[
        "java/start.sh",
        "java/pom.xml",
        "java/.mvn",
        *(f"java/{module}/pom.xml" for module in ("server", "client", "apache4", "apache5")),
        _JAVA.format("server", "server"),
        _JAVA.format("client", "client"),
        _JAVA.format("apache4", "client/apache4/Apache4Senders.java"),
        _JAVA.format("apache5", "client/apache5"),
    ],
    words={
        "urn:incident-labs:": "urn:platform:",
        "boot.modern": "boot.newer",
    },
    cut={
        "java/start.sh": [r"opened=''\n.*\n", r"(?<=\$common )\$opened "],
        _JAVA.format("apache4", "client/apache4/Apache4Senders.java"): [
            r"  @Bean\n  NamedSender reflective(?:.*\n){3}\n",
            r"  @Bean\n  NamedSender drain(?:.*\n){3}\n",
        ],
    },
)
KEPT = Kept(
    says=("All requests were made one after another."),
    logs={LOG: "specimen.txt"},
    counters={"usage.specimen": ["cpu_seconds"], "usage.server": ["cpu_seconds"]},
    variables={"specimen": ["JRE", "HTTPCLIENT", "HTTPCORE", "TLS", "URL"], "server": ["JRE", "CONNECTION"]},
    versions=["client_java", "server_java", "spring_boot", "spring_ws"],
    hosts={
        "specimen": "our application, which calls the partner's; the recording is from the partner's",
        "server": "the partner's",
    },
)


def _hellos(evidence: Evidence, message: str, *, offered: bool, handshake: str) -> list[int]:
    table = exercise.finished(evidence.case)
    streams = table.loc[(table["session_offered"] == offered) & (table["handshake"] == handshake), "stream"]
    return hello_frames(evidence.case, streams, message)


def diagnose(evidence: Evidence) -> str:
    """Which of the causes it is, by the evidence alone."""
    if (exercise.finished(evidence.case)["handshake"] == "resumed").mean() > 0.5:
        return "well"
    return "unread" if evidence.matching(LOG, UNREAD) else "not_offered"


CAUSES = {
    "unread": Cause(
        "The client closes connections before it has read the server's close_notify; its Java takes that for an attack and throws "
        "the session away, so that it has none to offer next time.",
        (
            Proof("the client says that it closed before the server's close_notify", lambda found: found.matching(LOG, UNREAD)),
            Proof(
                "the next connection offers no session",
                lambda found: _hellos(found, CLIENT_HELLO, offered=False, handshake="full"),
            ),
        ),
    ),
    "not_offered": Cause(
        "The client closes properly and keeps its sessions, but offers none: it resumes only those with an extended master secret, "
        "of which the server knows nothing.",
        (
            Proof(
                "a ClientHello offers no session, though its Java keeps them",
                lambda found: _hellos(found, CLIENT_HELLO, offered=False, handshake="full"),
            ),
            Proof(
                "a ServerHello without the extension",
                lambda found: _hellos(found, SERVER_HELLO, offered=False, handshake="full"),
            ),
        ),
    ),
    "well": Cause(
        "Nothing is wrong with the handshakes: connections resume the session of an earlier one.",
        (
            Proof(
                "a session is offered and resumed",
                lambda found: [
                    *_hellos(found, CLIENT_HELLO, offered=True, handshake="resumed"),
                    *_hellos(found, SERVER_HELLO, offered=True, handshake="resumed"),
                ],
            ),
        ),
    ),
    "declined": Cause("The server does not know the sessions that it is offered: several machines answer to one name."),
    "expired": Cause("Sessions are offered too late: they live shorter than the time between two requests."),
    "untrusted": Cause("The client does not trust the server's certificate, and begins each connection twice."),
}
#: Changes to choose from: the scenario that makes it, or a name of its own where none does.
CHANGES = {
    "httpcore_4_4_15": "httpcore 4.4.15 in place of the httpcore that is there",
    "jdk_11_0_13": "Java 11.0.13 for the client",
    "jdk_11_0_10": "Java 11.0.10 for the client",
    "httpclient_4_5_14": "HttpClient 4.5.14 on the same httpcore",
    "keep_alive_alone": "HttpsURLConnection in place of HttpClient, and a server that answers with keep-alive",
    "secret": "an extended master secret for the server as well, or a client that does without",
    "nothing": "nothing: it is well",
}
#: What each cause is cured by; of the incident it is the verdicts of the recorded runs that say so.
CURES = {"unread": None, "not_offered": {"secret"}, "well": {"nothing"}}


def findings(case, random) -> list[Finding]:
    return [
        handshakes_between(case, random, "server", PORT),
        of_exercise(
            questions,
            "certificates",
            "In how many packets does the server send its Certificate?",
            lambda case: hello_frames(case, case.connections["stream"], CERTIFICATE),
        ),
        of_exercise(
            questions,
            "ids",
            "In how many of the finished handshakes is the session id in the ClientHello empty?",
            lambda case: hello_frames(case, exercise.finished(case).query("session_id_offered == ''")["stream"]),
        ),
        of_exercise(questions, "alert", "In which frame does the client send an alert for the first time?"),
        end_of_one(case, random, "server", PORT),
    ]
