"""The questions of this case. Their answers are computed from the capture in hand."""

import pandas as pd

from workbench import exercise, plots
from workbench.exercise import COUNT, Question

#: The recorded run that the questions are asked of.
OPENS = "broken"
PORT = 8443


def symptom(run):
    """How long the clients took, one after another."""
    clients = run.metrics[run.metrics["source"] == "client"]
    data = pd.DataFrame({"scenario": "this run", "second": clients["number"], "took": clients["took"]})
    return plots.over_time(data, "took", "seconds", "What each client took for its connections")


def offers(case):
    return int(exercise.finished(case, PORT)["session_offered"].sum())


def about_offers(case, given, right):
    if given == len(exercise.finished(case, PORT)):
        return "That is all of them. Asked is how many offer a session."
    return "Look into each ClientHello: a session is offered where its session id is not empty."


QUESTIONS = [
    Question("offers", "In how many finished handshakes does the client offer a session?", COUNT, offers, about_offers),
    exercise.tried(
        "change",
        "Each of these changes was made alone to the stack that has the incident, and the run recorded. Which one helps?",
        {"a": ("longer_timeout", "sessions that are good for an hour"), "b": ("session_cache", "a place to keep them")},
    ),
]
