"""The code of the differential tests itself: the comparison, the list of differences, the recorder.

These tests use invented outcomes and requests, and need no node.
"""

from __future__ import annotations

import datetime
import struct
import time
from typing import Any

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
from tests.differential.recorder import Frames, Requests, without_compression
from tests.differential.worker import canonical

OPTIONS, QUERY = 0x05, 0x07  # opcodes

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
    for changed, expected in cases:
        assert [difference[0] for difference in differences_to({**SAME, **changed})] == [expected]


def test_the_order_of_statements_does_not_matter_after_any_order() -> None:
    free = {**SAME, "has_order": False}
    assert differences_to({**free, "statements": ["QUERY | b", "QUERY | a"]}, free) == []


def test_ours_may_agree_with_either_driver_if_they_differ() -> None:
    other = {**SAME, "printed": "x"}
    assert differences_to(SAME, SAME, other) == []
    assert differences_to(SAME, other, SAME) == []
    assert differences_to(SAME, other, other) == [("printed", "x", "<nothing>")]


def test_an_error_may_have_further_base_classes_but_not_fewer() -> None:
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


HERE = Difference("core.program[7]", "show:rows", "cassandra-driver", "[1]", "[2]")


def test_patterns_of_an_entry_match_from_the_start() -> None:
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
    assert (verdict.undefended, verdict.stale, verdict.counts) == ([], [], {"what": 1})


def test_an_entry_without_a_difference_is_stale_only_if_all_programs_have_run() -> None:
    entry = Defended("what", "why", (Seen(r"core\.gone"),))
    assert judge([], [entry], is_whole=True).stale == [entry.seen[0]]
    assert judge([], [entry], is_whole=False).stale == []


class Word(str):
    pass


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
    return struct.pack(">BBhBi", version, flags, stream, opcode, len(body)) + body


def text(value: str) -> bytes:
    return struct.pack(">i", len(value)) + value.encode()


def test_the_recorder_reads_a_query() -> None:
    body = text("SELECT k FROM t WHERE k = ?") + struct.pack(">HI", 10, 0x01 | 0x04 | 0x20)
    body += struct.pack(">Hi", 1, 4) + b"\0\0\0\7" + struct.pack(">iq", 50, int(time.time() * 1e6))
    assert Requests().read(5, 0, 1, 0x07, body) == (
        "QUERY cl=LOCAL_ONE values=[0x00000007] page=50 timestamp=now | SELECT k FROM t WHERE k = ?"
    )


def test_the_recorder_shows_the_cql_of_a_prepared_statement() -> None:
    requests = Requests()
    assert requests.read(4, 0, 9, 0x09, text("INSERT")) == "PREPARE | INSERT"
    requests.note_response(0, 9, 0x08, struct.pack(">iH", 4, 2) + b"id")
    body = struct.pack(">H", 2) + b"id" + struct.pack(">HB", 1, 0x01) + struct.pack(">Hi", 1, -2)
    assert requests.read(4, 0, 1, 0x0A, body) == "EXECUTE cl=ONE values=[unset] | INSERT"


def test_the_recorder_leaves_out_queries_of_system_tables() -> None:
    requests = Requests()
    body = text("SELECT * FROM system.local") + struct.pack(">HB", 1, 0)
    assert requests.read(4, 0, 1, 0x07, body) is None
    assert requests.read(4, 0, 1, 0x05, b"") is None


def test_the_recorder_finds_envelopes_in_segments() -> None:
    cases: list[int] = [1, 7, 1000]
    for step in cases:  # how many bytes arrive at once
        payload = envelope(5, OPTIONS, b"") + envelope(5, QUERY, b"body")
        segments = b"".join(
            # The length of the payload, the flag "self-contained", and checksums that are not read.
            (len(half) | 1 << 17).to_bytes(3, "little") + b"crc" + half + b"crc4"
            for half in (payload[:12], payload[12:])
        )
        frames = Frames(is_segmented=True)
        seen = []
        for position in range(0, len(segments), step):
            frames.feed(segments[position : position + step])
            seen += [(envelope[3], envelope[4]) for envelope in frames.envelopes()]
        assert seen == [(OPTIONS, b""), (QUERY, b"body")]


def test_the_recorder_removes_compression_from_supported() -> None:
    def encode_string(value: str) -> bytes:
        return struct.pack(">H", len(value)) + value.encode()

    cql_version = encode_string("CQL_VERSION") + struct.pack(">H", 1) + encode_string("3.4.7")
    compression = (
        encode_string("COMPRESSION")
        + struct.pack(">H", 2)
        + encode_string("lz4")
        + encode_string("snappy")
    )
    body = struct.pack(">H", 2) + compression + cql_version
    expected = (
        struct.pack(">H", 2) + encode_string("COMPRESSION") + struct.pack(">H", 0) + cql_version
    )
    assert without_compression(body) == expected


def test_places_number_equal_labels() -> None:
    assert list(places({"shown": [["a", "1"], ["a", "2"]]})) == ["show:a", "show:a#2"]
