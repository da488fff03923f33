"""What an interview over this case is made of; its text is in INTERVIEW.md."""

from workbench import lab
from workbench.interviews.asking import Cause, Evidence, Finding, Proof, both_hellos, hello_frames, of_exercise
from workbench.interviews.evidence import Kept
from workbench.interviews.live import Live

questions = lab.load("slow_dh").part("questions")
PORT = 8443
#: RFC 5246, 7.4.3.
SERVER_KEY_EXCHANGE = "12"

#: What hosts and ports are called in an interview.
HOSTS = {
    "gateway": ["edge-01", "ingress", "frontal", "conduit"],
    "operator": ["partners", "senders1", "visitors"],
}
PORTS = {PORT: [9443, 7443, 10443]}
#: Recorded runs that may be the evidence, and what goes on in each.
ORIGINS = {
    "broken": "primes",
    "more_threads": "primes",
    "egd": "primes",
    "flag_too_late": "primes",
    "flag_at_start": "well",
    "in_java_security": "well",
    "bouncycastle_last": "well",
    "without_bouncycastle": "well",
    "long_keys": "long_keys",
}
#: Which of the causes is the incident, and words that would tell which one it is before anybody has looked.
INCIDENT = "primes"
TELLING = ["slow dh", "predefined"]
#: About how many of the connections another recording would not have.
THINNED = 0.08
#: Whose connections are beside these: plain TCP, opened and reset.
BESIDE = [("health_check_storm", "full_size_track"), ("health_check_storm", "track")]
#: The live form: the application as it was, without what may be done in its code. What makes a newer JVM like those of its time
#: is no part of the question, and says in base64 what it reaches for.
_SERVER = "java/server/src/main/java/incidentlabs/server/"
_STAMPS = "java/wss4j{0}/src/main/java/incidentlabs/wss4j{0}/Wss4j{0}.java"
_LEFT_ALONE = r"\n  @Override\n  public void leaveProvidersAlone\(\) \{\n.*\n  \}\n"
LIVE = Live(
    brings=[
        "gateway",
        *(f"java/{name}" for name in ("start.sh", "load.sh", "dump.sh", "pom.xml", ".mvn", "load/pom.xml", "load/src/main")),
        *(f"{_SERVER}{name}.java" for name in ("AckServer", "MessageServlet", "Providers", "Stamps", "TextServlet")),
        "java/server/pom.xml",
        *(f"java/{name}" for name in ("wss4j1/pom.xml", "wss4j1/src/main", "wss4j2/pom.xml", "wss4j2/src/main")),
        *(f"java/{name}" for name in ("agent/pom.xml", "agent/src/main")),
    ],
    words={
        "enum Providers {\n": "final class Providers {\n  private Providers() {}\n\n",
        # Who puts the shorter text back puts the longer one back.
        "PROVIDERS: as-they-come\n      DH_BITS: 1024": "DH_BITS: 1024",
        "PredefinedParameters": "OlderParameters",
        '"sun.security.ssl.PredefinedDHParameterSpecs"': (
            'new String(java.util.Base64.getDecoder().decode("c3VuLnNlY3VyaXR5LnNzbC5QcmVkZWZpbmVkREhQYXJhbWV0ZXJTcGVjcw=="))'
        ),
        '"definedParams"': 'new String(java.util.Base64.getDecoder().decode("ZGVmaW5lZFBhcmFtcw=="))',
    },
    cut={
        "java/start.sh": [r'if \[ "\$PROVIDERS"(?:.*\n)+?fi\n', r' "\$PROVIDERS"$'],
        f"{_SERVER}AckServer.java": [
            r"    Providers providers;\n    try \{\n(?:.*\n)+?    \}\n",
            r", \(\) -> providers\.afterMessage\(stamps\)",
        ],
        f"{_SERVER}MessageServlet.java": [
            r"  private final transient Runnable afterwards;\n",
            r", Runnable afterwards",
            r" +this\.afterwards = afterwards;\n",
            r" +afterwards\.run\(\);\n",
        ],
        f"{_SERVER}Providers.java": [
            r"import java\.util\.Locale;\n",
            r"  /\*\* Nothing\. \*/\n(?:.*\n)+?(?=  /\*\* The names)",
            r"\n  @Override\n  public String toString(?:.*\n){3}",
        ],
        f"{_SERVER}Stamps.java": [r"\n  /\*\* Tells wss4j not(?:.*\n){2}"],
        **{_STAMPS.format(each): [_LEFT_ALONE, r"import org\..*WSSConfig;\n"][: 3 - each] for each in (1, 2)},
    },
)
KEPT = Kept(
    says=(
        "`took` and `status` are of a request that a partner's node began at that time (milliseconds; 403: his gateway gave up), "
        "`way` says whether it asked for a new session or for a resumed one. `stamped` tells of the message with WS-Security, "
        "`names` which security providers the server's Java has, in their order."
    ),
    counters={
        "usage.server": ["cpu_seconds", "memory_bytes"],
        "usage.gateway": ["cpu_seconds"],
        "request": ["way", "took", "status"],
        "message": ["stamped"],
        "providers": ["names"],
    },
    logs={"gateway.log": "gateway.log"},
    config={"gateway.conf": ("gateway", "/etc/nginx/nginx.conf", "gateway/nginx.conf")},
    variables={"server": ["JRE", "WSS4J", "BOUNCYCASTLE", "DH_BITS", "THREADS", "JAVA_OPTS"]},
    versions=["java", "tomcat", "wss4j", "bouncycastle", "nginx"],
    hosts={
        "gateway": "the partner's gateway: passes on over HTTPS what he sends, and gives up after a while",
        "server": "our application, which takes acknowledgements over HTTPS; the recording is from here",
        "operator": "the partner's nodes",
    },
)


#: Whoever waits for longer than this waits long, in seconds: resumed sessions are answered within a few milliseconds.
LATE = 0.05
#: From how many seconds on it is not for a computation with long numbers that new sessions wait.
SEARCHES = 1


def _hellos(evidence: Evidence, *, offered: bool, late: bool) -> list[int]:
    """Both Hellos of the connections that offer a session or do not, and whose ClientHello waits long or does not."""
    table = questions.waited(evidence.case)
    table = table[(table["session_offered"] == offered) & ((table["hello_wait"] > LATE) == late)]
    if not late:
        table = table[table["server_hello_time"].notna()]
    return both_hellos(evidence.case, table["stream"])


def _after_the_first_late(evidence: Evidence, frames: list[int]) -> list[int]:
    first = questions.first_long(evidence.case, LATE)
    return [frame for frame in frames if first is not None and frame > first]


def _keys(evidence: Evidence) -> list[int]:
    """Where a server sends its Diffie-Hellman key."""
    return hello_frames(evidence.case, evidence.case.connections["stream"], SERVER_KEY_EXCHANGE)


def diagnose(evidence: Evidence) -> str:
    """Which of the causes it is, by the evidence alone."""
    table = questions.waited(evidence.case)
    new = table.loc[~table["session_offered"], "hello_wait"]
    if (new > LATE).mean() < 0.2:
        return "well"
    return "primes" if new.max() > SEARCHES else "long_keys"


CAUSES = {
    "primes": Cause(
        "The server generates primes for the Diffie-Hellman keys of each new session, since another provider makes its keys: new "
        "sessions wait for seconds, resumed ones do not.",
        (
            Proof("a new session's ClientHello waits", lambda found: _hellos(found, offered=False, late=True)),
            Proof(
                "a resumed session is answered meanwhile, or another provider has come before the JDK's",
                lambda found: [
                    *_after_the_first_late(found, _hellos(found, offered=True, late=False)),
                    *found.matching("counters.csv", "names,SUN BC"),
                ],
            ),
        ),
    ),
    "long_keys": Cause(
        "The server's Diffie-Hellman keys are far longer than they have to be, and each new session computes with them.",
        (
            Proof("a new session's ClientHello waits", lambda found: _hellos(found, offered=False, late=True)),
            Proof("how long the key is", lambda found: _keys(found) + found.matching("variables.txt", "DH_BITS")),
        ),
    ),
    "well": Cause(
        "Nothing is wrong with the handshakes: new sessions are answered soon, before the message and after it.",
        (Proof("a new session is answered soon", lambda found: _hellos(found, offered=False, late=False)),),
    ),
    "threads": Cause("The server has too few threads: connections are taken, and nobody reads from them."),
    "randomness": Cause("The server waits for the kernel's randomness."),
    "impatient": Cause("The gateway gives up too soon: the server answers, a little later than the gateway waits."),
}
#: Changes to choose from: the scenario that makes it, or a name of its own where none does.
CHANGES = {
    "flag_at_start": "the application tells wss4j at its start to leave the security providers alone",
    "without_bouncycastle": "the server without BouncyCastle's jar",
    "flag_too_late": "the application tells wss4j so after its first message",
    "more_threads": "400 threads for the server in place of 200",
    "egd": "another source of randomness for the JVM",
    "bouncycastle_1_46": "BouncyCastle 1.46",
    "shorter": "keys of 2048 bits, if they are longer now",
    "nothing": "nothing: it is well",
}
#: What each cause is cured by; of the incident it is the verdicts of the recorded runs that say so.
CURES = {"primes": None, "long_keys": {"shorter"}, "well": {"nothing"}}


def findings(case, random) -> list[Finding]:
    ms = round(1000 * LATE)
    return [
        of_exercise(
            questions,
            "longest",
            "Which frame holds the ClientHello that waited longest for its ServerHello, of those that got one at all?",
        ),
        Finding(
            "share",
            f"What share of the connections whose ClientHello offers no session waits for more than {ms} ms, answered or not?",
            "share",
            lambda case: questions.long_share(case, LATE),
            lambda case: _hellos(Evidence(case), offered=False, late=True),
        ),
        Finding(
            "resumed",
            f"How many of the connections whose ClientHello offers a session wait for more than {ms} ms?",
            "count",
            lambda case: questions.resumed_long(case, LATE),
            lambda case: _hellos(Evidence(case), offered=True, late=True),
        ),
        Finding(
            "first",
            f"Which frame holds the first ClientHello that has to wait for more than {ms} ms?",
            "frame",
            lambda case: questions.first_long(case, LATE),
            lambda case: [frame] if (frame := questions.first_long(case, LATE)) else [],
        ),
        of_exercise(
            questions,
            "unanswered",
            "How many ClientHellos get no ServerHello at all?",
            lambda case: hello_frames(case, questions.waited(case).query("server_hello_time.isna()")["stream"]),
        ),
    ]
