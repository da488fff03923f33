"""Subnets for new stacks: free ones, whatever else uses the machine; and answers that are none."""

import ipaddress
import itertools

import httpx
import pytest

from workbench import engine

#: /proc/net/route of a host: the default route, a wide private one, and one of 64 addresses.
ROUTES = """Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT
eth0\t00000000\t0101A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0
vpn0\t0000D50A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0
box0\t00001DAC\t00000000\t0001\t0\t0\t0\tC0FFFFFF\t0\t0\t0
"""


@pytest.fixture
def subnets(monkeypatch):
    """The first free subnets beside the networks and routes given."""

    def ask(*taken: str, routes: str = "") -> list[str]:
        networks = [{"IPAM": {"Config": [{"Subnet": subnet}]}} for subnet in taken] + [{"IPAM": {"Config": None}}]
        monkeypatch.setattr(engine.Engine, "networks", lambda self: networks)
        monkeypatch.setenv("HOST_ROUTES", routes)
        return list(itertools.islice(engine.Engine().free_subnets(), 3))

    return ask


def test_they_are_small_and_touch_one_another_nowhere(subnets):
    assert subnets() == ["10.213.0.0/26", "10.213.0.64/26", "10.213.0.128/26"]


def test_a_network_of_the_engine_is_left_alone_whatever_its_size(subnets):
    assert subnets("10.213.0.0/26", "10.213.0.136/30", "fd00::/64") == ["10.213.0.64/26", "10.213.0.192/26", "10.213.1.0/26"]
    assert subnets("10.0.0.0/8")[0] == "172.29.0.0/26"


def test_a_route_of_the_host_is_left_alone_but_not_the_default_route(subnets):
    assert subnets(routes=ROUTES)[0] == "172.29.0.64/26"


def test_where_everything_is_taken_there_is_none(subnets):
    assert subnets(*engine.POOLS) == []
    assert all(ipaddress.ip_network(pool).is_private for pool in engine.POOLS)


def test_an_answer_that_is_none_is_an_error_of_the_engine(monkeypatch):
    """As an engine gives it for the statistics of a container that goes meanwhile: success, and nothing."""
    asked = engine.Engine()
    empty = httpx.MockTransport(lambda _: httpx.Response(200))
    monkeypatch.setattr(asked, "_client", httpx.Client(transport=empty, base_url="http://engine"))
    with pytest.raises(engine.EngineError, match="answers /containers/x/stats with no JSON"):
        asked.get("/containers/x/stats")


def test_an_engine_that_is_silent_is_an_error_of_the_engine(monkeypatch):
    def late(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("timed out", request=request)

    asked = engine.Engine()
    monkeypatch.setattr(asked, "_client", httpx.Client(transport=httpx.MockTransport(late), base_url="http://engine"))
    with pytest.raises(engine.EngineError, match="does not answer /info: timed out"):
        asked.get("/info")
