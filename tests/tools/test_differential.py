"""Test the code of the differential tests: the comparison, the list of differences, the recorder.

The tests use invented outcomes and requests, and need no node.
"""

from __future__ import annotations

import datetime
import socket
import struct
import time
from typing import Any

import pytest

from cassandra.cluster import NoHostAvailable
from cassandra.query import UNSET_VALUE, dict_factory, named_tuple_factory
from cassandra.util import Date, OrderedMapSerializedKey, SortedSet
from tests.differential.compare import (
    Defended,
    Difference,
    Seen,
    differences,
    is_same,
    judge,
    places,
)
from tests.differential.recorder import Frames, Recorder, Requests, without_compression
from tests.differential.worker import canonical
from tests.waiting import WAIT

# These are opcodes of the protocol.
OPTIONS, QUERY, RESULT, PREPARE, EXECUTE = 0x05, 0x07, 0x08, 0x09, 0x0A
# These are consistency levels.
ONE, LOCAL_ONE = 0x01, 0x0A
# These are flags of the parameters of a request.
VALUES, PAGE_SIZE, TIMESTAMP = 0x01, 0x04, 0x20
# This is the kind of RESULT with which a node responds to PREPARE.
PREPARED = 4
# This is the length of a value that is not set.
UNSET = -2

# The outcome of a program with one driver: the values that the program recorded ("shown"), its
# error, warnings and output, the requests that the node received, and the rows in the tables.
SAME: dict[str, Any] = {
    "shown": [["rows", "[Row(k=1)]"], ["rows", "[]"]],
    "error": None,
    "warnings": ["DeprecationWarning"],
    "printed": "",
    "has_order": True,
    "statements": ["QUERY | a", "QUERY | b"],
    "tables": {"t[k=1]": '{"k": 1, "v": "a"}'},
}


def differences_to(ours: dict[str, Any], *others: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return (place, theirs, ours) of each difference between `ours` and other outcomes.

    Without `others`, `ours` is compared with SAME.
    """
    theirs = {f"driver {number}": outcome for number, outcome in enumerate(others or (SAME,))}
    return [
        (difference.place, difference.theirs, difference.ours)
        for difference in differences("p", theirs, ours)
    ]


def test_equal_outcomes_have_no_differences() -> None:
    assert differences_to(SAME) == []


def test_each_kind_of_difference_is_found() -> None:
    """If one part of an outcome changes, there must be one difference, at its place."""
    cases: list[tuple[dict[str, Any], str]] = [
        ({"shown": [["rows", "[Row(k=1.0)]"], ["rows", "[]"]]}, "show:rows"),
        ({"shown": [["rows", "[Row(k=1)]"], ["rows", "()"]]}, "show:rows#2"),
        ({"shown": [["rows", "[Row(k=1)]"]]}, "show:rows#2"),
        ({"error": "error(ValueError)"}, "error"),
        ({"error": "hangs"}, "error"),
        ({"warnings": []}, "warnings:DeprecationWarning"),
        ({"printed": "x"}, "printed"),
        ({"statements": ["QUERY | b", "QUERY | a"]}, "statements"),
        ({"tables": {"t[k=1]": '{"k": 1, "v": "b"}'}}, "table:t[k=1]"),
        ({"tables": {}}, "table:t[k=1]"),
        ({"broken": "Traceback"}, "broken"),
    ]
    for changed, place in cases:
        found_places = [difference[0] for difference in differences_to({**SAME, **changed})]
        assert found_places == [place]


def test_the_order_of_statements_does_not_matter_after_any_order() -> None:
    """If a program has called `allow_any_order`, the order of its requests must not count."""
    theirs = {**SAME, "has_order": False}
    ours = {**theirs, "statements": ["QUERY | b", "QUERY | a"]}
    assert differences_to(ours, theirs) == []


def test_ours_may_agree_with_either_driver_if_they_differ() -> None:
    other = {**SAME, "printed": "x"}
    assert differences_to(SAME, SAME, other) == []
    assert differences_to(SAME, other, SAME) == []
    assert differences_to(SAME, other, other) == [("printed", "x", "<nothing>")]


def test_an_error_may_have_further_base_classes_but_not_fewer() -> None:
    """An ``except`` clause that catches the other drivers' error must also catch our error.

    Outcomes show an error with its base classes, as ``error(BASE|CLASS)``.
    """
    cases: list[tuple[str, str, bool]] = [
        ("error(A|B)", "error(A|B|C)", True),
        ("error(A|B)", "error(A)", False),
        ("[error(A), 1]", "[error(A|B), 1]", True),
        ("[error(A), 1]", "[error(A|B), 2]", False),
        ("error(A)", "1", False),
        ("1", "error(A)", False),
        ("1", "1", True),
        ("[error(A)]", "[error(A), error(A)]", False),
    ]
    for theirs, ours, expected in cases:
        assert is_same(theirs, ours) is expected


# A difference in the case 7 of the program `core.program`: our driver shows [2], the other driver
# [1].
HERE = Difference("core.program[7]", "show:rows", "cassandra-driver", theirs="[1]", ours="[2]")


def test_patterns_of_an_entry_match_from_the_start() -> None:
    """The patterns of a `Seen` must match from the start of the string.

    The patterns are for the program, the place, the other driver's value and our value. An empty
    pattern matches everything.
    """
    cases: list[tuple[Seen, bool]] = [
        (Seen(r"core\.program"), True),
        (Seen(r"core\.program", "show:rows", r"\[1\]", r"\[2\]"), True),
        (Seen(r"program"), False),
        (Seen(r"core\.", "table:"), False),
        (Seen(r"core\.", "show:", r"\[2\]"), False),
        (Seen(r"core\.", "show:", "", r"\[1\]"), False),
    ]
    for seen, matches in cases:
        assert seen.matches(HERE) is matches


def test_a_difference_without_an_entry_is_undefended() -> None:
    entry = Defended("what", "why", (Seen(r"other\."),))
    verdict = judge([HERE], [entry], is_whole=True)
    assert verdict.undefended == [HERE]
    assert verdict.stale == [entry.seen[0]]


def test_a_defended_difference_is_counted() -> None:
    entry = Defended("what", "why", (Seen(r"core\."), Seen(r"core\.program\[7\]")))
    verdict = judge([HERE], [entry], is_whole=True)
    assert verdict.undefended == []
    assert verdict.stale == []
    # The difference must count once, although both patterns of the entry match it.
    assert verdict.counts == {"what": 1}


def test_an_entry_without_a_difference_is_stale_only_if_all_programs_have_run() -> None:
    entry = Defended("what", "why", (Seen(r"core\.gone"),))
    assert judge([], [entry], is_whole=True).stale == [entry.seen[0]]
    assert judge([], [entry], is_whole=False).stale == []


class Word(str):
    """A string of another class than `str`."""


def test_canonical_strings_of_different_values_differ() -> None:
    cases: list[tuple[object, object]] = [
        (1, 1.0),
        (1, True),
        ("a", b"a"),
        ("a", Word("a")),
        ([1], (1,)),
        ({1}, frozenset({1})),
        ({1}, SortedSet([1])),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (datetime.date(2020, 1, 1), Date("2020-01-01")),
        (
            datetime.datetime(2020, 1, 1),
            datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc),
        ),
        (None, UNSET_VALUE),
        (dict_factory(["k"], [(1,)]), named_tuple_factory(["k"], [(1,)])),
        (ValueError("x"), TypeError("x")),
        (0.0, -0.0),
    ]
    for value, other in cases:
        assert canonical(value) != canonical(other)


def test_canonical_strings_of_equal_values_are_equal() -> None:
    assert canonical({2, 1, 3}) == canonical({3, 1, 2}) == "{1, 2, 3}"
    assert canonical(float("nan")) == "nan"
    assert canonical(UNSET_VALUE) == "UNSET_VALUE"
    assert canonical(OrderedMapSerializedKey.__mro__[0]) == "class OrderedMapSerializedKey"
    assert canonical(named_tuple_factory(["k", "v"], [(1, "a")])) == "[Row(k=1, v='a')]"


def test_the_canonical_string_of_an_error_has_its_base_classes() -> None:
    assert canonical(NoHostAvailable("x", {})) == "error(DriverException|NoHostAvailable)"
    assert canonical(KeyError("x")) == "error(KeyError|LookupError)"


def envelope(version: int, opcode: int, body: bytes, stream: int = 3, flags: int = 0) -> bytes:
    """Return a request of a client: the header of its envelope, and the body."""
    return struct.pack(">BBhBi", version, flags, stream, opcode, len(body)) + body


def long_string(value: str) -> bytes:
    """Return the [long string] of the protocol for `value`."""
    return struct.pack(">i", len(value)) + value.encode()


def test_the_recorder_reads_a_query() -> None:
    """The recorder describes a query as a string with its parameters by name.

    For a timestamp near the clock's time, the string has "now", so that the strings of two runs are
    equal.
    """
    value_count, value = 1, struct.pack(">i", 7)
    page_size, microseconds = 50, int(time.time() * 1e6)
    body = long_string("SELECT k FROM t WHERE k = ?")
    body += struct.pack(">HI", LOCAL_ONE, VALUES | PAGE_SIZE | TIMESTAMP)
    body += struct.pack(">Hi", value_count, len(value)) + value
    body += struct.pack(">iq", page_size, microseconds)
    assert Requests().read(version=5, flags=0, stream=1, opcode=QUERY, body=body) == (
        "QUERY cl=LOCAL_ONE values=[0x00000007] page=50 timestamp=now | SELECT k FROM t WHERE k = ?"
    )


def test_the_recorder_shows_the_cql_of_a_prepared_statement() -> None:
    """The recorder must show the CQL of a prepared statement.

    EXECUTE has only the ID of the statement, which the response to PREPARE returned.
    """
    requests = Requests()
    body = long_string("INSERT")
    shown = requests.read(version=4, flags=0, stream=9, opcode=PREPARE, body=body)
    assert shown == "PREPARE | INSERT"
    # The ID follows its length.
    statement_id = struct.pack(">H", 2) + b"id"
    body = struct.pack(">i", PREPARED) + statement_id
    requests.note_response(flags=0, stream=9, opcode=RESULT, body=body)
    value_count = 1
    body = statement_id + struct.pack(">HBHi", ONE, VALUES, value_count, UNSET)
    shown = requests.read(version=4, flags=0, stream=1, opcode=EXECUTE, body=body)
    assert shown == "EXECUTE cl=ONE values=[unset] | INSERT"


def test_the_recorder_leaves_out_queries_of_system_tables() -> None:
    """The recorder must leave out OPTIONS and queries of system tables.

    Drivers send these at different times.
    """
    requests = Requests()
    no_flags = 0
    query = long_string("SELECT * FROM system.local") + struct.pack(">HB", ONE, no_flags)
    assert requests.read(version=4, flags=0, stream=1, opcode=QUERY, body=query) is None
    assert requests.read(version=4, flags=0, stream=1, opcode=OPTIONS, body=b"") is None


def test_the_recorder_finds_envelopes_in_segments() -> None:
    """The recorder must find envelopes in segments.

    An envelope may begin in one segment of protocol v5 and end in the next one.
    """
    cases: list[int] = [1, 7, 1000]
    # This number of bytes arrives at the same time.
    for step in cases:
        payload = envelope(5, OPTIONS, b"") + envelope(5, QUERY, b"body")
        segments = b"".join(
            # These are the length of the payload, the flag "self-contained", and checksums that are
            # not read.
            (len(part) | 1 << 17).to_bytes(3, "little") + b"crc" + part + b"crc4"
            # A header has nine bytes.
            for part in (payload[:12], payload[12:])
        )
        frames = Frames(is_segmented=True)
        seen = []
        for position in range(0, len(segments), step):
            frames.feed(segments[position : position + step])
            seen += [(opcode, body) for _, _, _, opcode, body, _ in frames.envelopes()]
        assert seen == [(OPTIONS, b""), (QUERY, b"body")]


def test_the_recorder_removes_compression_from_supported() -> None:
    """The recorder must remove the compression algorithms from SUPPORTED.

    If a node offers no algorithms, drivers send uncompressed requests, which the recorder can read.
    """

    def encode_string(value: str) -> bytes:
        return struct.pack(">H", len(value)) + value.encode()

    def encode_option(name: str, values: list[str]) -> bytes:
        count = struct.pack(">H", len(values))
        return encode_string(name) + count + b"".join(map(encode_string, values))

    option_count = struct.pack(">H", 2)
    cql_version = encode_option("CQL_VERSION", ["3.4.7"])
    body = option_count + encode_option("COMPRESSION", ["lz4", "snappy"]) + cql_version
    expected = option_count + encode_option("COMPRESSION", []) + cql_version
    assert without_compression(body) == expected


@pytest.mark.parametrize("node", ["127.0.0.1", "127.0.2.1"])
def test_the_recorder_relays_from_both_addresses(node: str) -> None:
    """The recorder must accept connections at 127.0.0.1 and at the node's address.

    Drivers connect to the contact point, and to the address in `system.local`.
    """
    with socket.create_server((node, 0)) as server:
        server.settimeout(WAIT)
        with Recorder((node, server.getsockname()[1])) as recorder:
            assert recorder.host == node
            for address in {"127.0.0.1", node}:
                with (
                    socket.create_connection((address, recorder.port), WAIT) as driver,
                    server.accept()[0] as connection,
                ):
                    connection.settimeout(WAIT)
                    driver.sendall(b"request")
                    assert connection.recv(7, socket.MSG_WAITALL) == b"request"


def test_places_number_equal_labels() -> None:
    """`places` must number values that a program has recorded under the same label.

    The second value with the same label gets ``#2`` after the label.
    """
    assert list(places({"shown": [["a", "1"], ["a", "2"]]})) == ["show:a", "show:a#2"]
