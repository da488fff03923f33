"""The model of case 4 against what can be worked out by hand, and against what was measured."""

import pytest

from workbench import lab, recording

simulation = lab.load("health_check_storm").part("simulation")
Checks, Tracking, grown, simulate = simulation.Checks, simulation.Tracking, simulation.grown, simulation.simulate
FOREVER = float("inf")


def test_as_many_checks_as_nodes_and_services_ask_for():
    rows = simulate(grown(6, 6, 0), 60)
    assert rows["accepted"][4:].mean() == pytest.approx(6 * 70 / 2, rel=0.02)
    assert rows["lost"].sum() == rows["down"].sum() == 0


def test_it_tips_when_the_reserve_is_used_up():
    """Seven nodes ask for 245 a second, 20 more than the tracking bears: a reserve of 450 lasts for 22 s."""
    rows = simulate(grown(6, 7, 10), 80)
    assert simulation.first_lost(rows) == pytest.approx(10 + 450 / 20, abs=3)
    assert rows["down"].max() > 0.9 * 7 * 70


def test_after_the_node_has_left_nobody_is_down():
    rows = simulate(grown(6, 7, 10, until=60), 110)
    assert rows["down"][:60].max() > 400
    assert rows["down"][95:].max() == 0


def test_checked_once_there_are_as_many_times_fewer_as_services():
    often, once = simulate(grown(32, 32, 0), 30, tracking=Tracking(rate=None)), simulate(grown(32, 32, 0), 30, Checks(services=1))
    assert often["accepted"][4:].mean() / once["accepted"][4:].mean() == pytest.approx(70, rel=0.1)


def test_a_penalty_stops_all_but_a_trickle():
    rows = simulate([(0, FOREVER)] * 20, 14)
    stopped = rows[rows["lost"] > 0][1:10]
    assert stopped["accepted"].max() <= 2


def test_what_falls_after_ten_is_never_down_in_a_penalty_of_12_s():
    rows = simulate(grown(6, 7, 0), 120, Checks(fall=10))
    assert rows["lost"].sum() > 0
    assert rows["down"].max() == 0


def test_a_syn_is_sent_again_until_the_check_is_given_up():
    """With nothing let through each check costs as many SYNs as its timers allow."""
    closed = Tracking(rate=0.001, burst=0, penalty=1000, trickle=0.001)
    once, twice = (simulate([(0, FOREVER)], 200, Checks(connect=connect), closed)["lost"].sum() for connect in (0.9, 1.9))
    assert twice / once == pytest.approx(2 * (2 + 0.9) / (2 + 1.9), rel=0.05)


def test_it_comes_to_what_was_measured():
    """One node more, in every recorded round: when the first SYN is lost, and how many services are DOWN."""
    rounds = recording.published("health_check_storm", "broken").meta["rounds"]
    rows = simulate(grown(6, 7, 0), 60)
    for measured in rounds:
        assert simulation.first_lost(rows) == pytest.approx(measured["lost_after_s"], rel=0.3)
        assert rows["down"].max() == pytest.approx(measured["services_down"], rel=0.05)
