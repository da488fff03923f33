"""Facts of any packets at all, written as tables in place of captures."""

import hashlib

import pandas as pd
from expect import check_consistent, together
from hypothesis import given, settings
from hypothesis import strategies as st
from traffic import ACK, FIN, RST, SYN

from workbench import connections, packets

many = settings(max_examples=50, deadline=None, database=None)

HELLO = {"record_types": "22", "record_lengths": "200"}
HELLO_12 = HELLO | {"messages": "1", "version": "0x0303", "extensions": "10,35", "extension_lengths": "8,0"}
HELLO_13 = HELLO_12 | {"supported_versions": "0x0304,0x0303", "session_id": "ab" * 32}
CHOICE_12 = HELLO | {"messages": "2", "version": "0x0303", "cipher": "0xc02c", "random": "11" * 32}
CHOICE_13 = CHOICE_12 | {"supported_versions": "0x0304", "cipher": "0x1302"}
EVENTS = {
    "syn": {"flags": SYN},
    "syn_ack": {"flags": SYN | ACK},
    "ack": {},
    "fin": {"flags": FIN | ACK},
    "reset": {"flags": RST},
    "hello_12": HELLO_12,
    "hello_ticket": HELLO_12 | {"extension_lengths": "8,180"},
    "hello_session_id": HELLO_12 | {"session_id": "cd" * 32},
    "hello_13": HELLO_13,
    "hello_psk": HELLO_13 | {"extensions": "10,41", "extension_lengths": "8,90"},
    "hello_of_no_version": HELLO_12 | {"version": "", "supported_versions": "0x7f1c"},
    "choice_12": CHOICE_12,
    "choice_13": CHOICE_13,
    "choice_psk": CHOICE_13 | {"extensions": "43,41", "extension_lengths": "2,2"},
    "choice_unknown": CHOICE_12 | {"version": "0x7f1c", "cipher": "0xfafa"},
    "retry": CHOICE_13 | {"random": hashlib.sha256(b"HelloRetryRequest").hexdigest()},
    "certificate": HELLO | {"messages": "11,12,14"},
    "key_exchange": {"record_types": "22,20,22", "record_lengths": "66,1,40", "messages": "16"},
    "switch": {"record_types": "20", "record_lengths": "1"},
    "alert": {"record_types": "21", "record_lengths": "2", "alert": "40"},
    "alert_unknown": {"record_types": "21", "record_lengths": "2", "alert": "199"},
    "alert_encrypted": {"record_types": "21", "record_lengths": "26"},
    "data": {"record_types": "23", "record_lengths": "100"},
    "sealed_alert": {"record_lengths": "19"},
    "sealed_finished": {"record_types": "20", "record_lengths": "1,69"},
    "finished": {"record_types": "20,22", "record_lengths": "1,52", "messages": "20"},
}
COLUMNS = [name for name in packets.FIELDS if name not in ("src6", "dst6")]
SENT = st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.sampled_from(list(EVENTS))), max_size=30)


def synthetic(sent: list[tuple[int, bool, str]], first_stream: int = 0) -> pd.DataFrame:
    """A table as packets.table gives it, of (stream, whether the client sends, one of EVENTS)."""
    rows = []
    for number, (stream, by_client, event) in enumerate(sent):
        ends = [("10.0.0.1", 40000 + stream), ("10.0.0.2", 443)]
        (src, sport), (dst, dport) = ends if by_client else reversed(ends)
        row = dict.fromkeys(COLUMNS, "") | {"frame": number + 1, "time": float(number), "stream": first_stream + stream}
        row |= {"src": src, "dst": dst, "sport": sport, "dport": dport, "flags": ACK, "bytes": 0}
        rows.append(row | EVENTS[event])
    return pd.DataFrame(rows, columns=COLUMNS)


@given(sent=SENT)
@many
def test_facts_of_any_packets_are_consistent(sent: list[tuple[int, bool, str]]) -> None:
    table = connections.from_packets(synthetic(sent))
    found = connections.facts(table)
    check_consistent(found)
    assert found["tcp_connections"] == len({stream for stream, _, _ in sent})
    assert found["client_resets"] + found["server_resets"] <= sum(event == "reset" for _, _, event in sent)
    for side in ("client", "server"):
        assert (found[f"{side}_alerts"] is None) == bool(table[f"{side}_hidden"].any())


@given(first=SENT, second=SENT)
@many
def test_facts_of_any_packets_add_up(first: list[tuple[int, bool, str]], second: list[tuple[int, bool, str]]) -> None:
    parts = [synthetic(first), synthetic(second, first_stream=10)]
    found = [connections.facts(connections.from_packets(part)) for part in parts]
    assert connections.facts(connections.from_packets(pd.concat(parts))) == together(found)


@given(sent=SENT, shuffled=st.randoms())
@many
def test_facts_do_not_depend_on_the_order_of_connections(sent: list[tuple[int, bool, str]], shuffled) -> None:
    # The packets of one connection stay in order, those of different ones mix anyhow.
    left = {stream: [packet for packet in sent if packet[0] == stream] for stream, _, _ in sent}
    turns = [stream for stream, _, _ in sent]
    shuffled.shuffle(turns)
    mixed = [left[stream].pop(0) for stream in turns]
    tables = [connections.from_packets(synthetic(packets)) for packets in (sent, mixed)]
    assert connections.facts(tables[0]) == connections.facts(tables[1])
