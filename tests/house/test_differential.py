"""The differential lane can fail: its comparer, list and recorder run on made-up outcomes."""

from __future__ import annotations

import datetime
import struct
import time
from typing import Any

from cassandra.cluster import NoHostAvailable
from cassandra.migrate.table import BY_KEY, DIFFERENCES
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
from tests.differential.defended import DEFENDED
from tests.differential.page import PAGE, table
from tests.differential.recorder import Frames, Requests, without_compression
from tests.differential.worker import canonical
from tests.programs.environments import ROOT

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


def test_statements_in_any_order_are_the_same_for_a_program_that_says_so() -> None:
    free = {**SAME, "has_order": False}
    assert differences_to({**free, "statements": ["QUERY | b", "QUERY | a"]}, free) == []


def test_ours_may_do_as_either_driver_where_two_differ() -> None:
    other = {**SAME, "printed": "x"}
    assert differences_to(SAME, SAME, other) == []
    assert differences_to(SAME, other, SAME) == []
    assert differences_to(SAME, other, other) == [("printed", "x", "<nothing>")]


def test_an_error_may_be_of_further_classes_and_not_of_fewer() -> None:
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
    for theirs, ours, same in cases:
        assert is_same(theirs, ours) is same


HERE = Difference("core.program[7]", "show:rows", "cassandra-driver", "[1]", "[2]")


def test_an_entry_of_the_list_matches_from_the_start() -> None:
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


def test_a_difference_that_is_not_in_the_list_is_told() -> None:
    entry = Defended("what", "why", (Seen(r"other\."),))
    verdict = judge([HERE], [entry], is_whole=True)
    assert verdict.undefended == [HERE]
    assert verdict.stale == [entry.seen[0]]


def test_a_defended_difference_is_counted() -> None:
    entry = Defended("what", "why", (Seen(r"core\."), Seen(r"core\.program\[7\]")))
    verdict = judge([HERE], [entry], is_whole=True)
    assert (verdict.undefended, verdict.stale, verdict.counts) == ([], [], {"what": 1})


def test_an_entry_that_nothing_differs_for_any_more_is_told_in_the_whole_form_only() -> None:
    entry = Defended("what", "why", (Seen(r"core\.gone"),))
    assert judge([], [entry], is_whole=True).stale == [entry.seen[0]]
    assert judge([], [entry], is_whole=False).stale == []


def test_the_list_has_a_reason_for_each_entry_and_where_it_is_seen() -> None:
    for entry in DEFENDED:
        assert entry.what.endswith("."), entry
        assert entry.why.endswith("."), entry
        assert entry.seen or entry.test, entry


class Word(str):
    pass


def test_values_of_different_types_have_different_texts() -> None:
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


def test_values_that_are_equal_have_one_text() -> None:
    assert canonical({2, 1, 3}) == canonical({3, 1, 2}) == "{1, 2, 3}"
    assert canonical(float("nan")) == "nan"
    assert canonical(UNSET_VALUE) == "UNSET_VALUE"
    assert canonical(OrderedMapSerializedKey.__mro__[0]) == "class OrderedMapSerializedKey"
    assert canonical(named_tuple_factory(["k", "v"], [(1, "a")])) == "[Row(k=1, v='a')]"


def test_errors_are_told_by_the_classes_that_catch_them() -> None:
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


def test_the_recorder_knows_the_text_of_a_prepared_statement() -> None:
    requests = Requests()
    assert requests.read(4, 0, 9, 0x09, text("INSERT")) == "PREPARE | INSERT"
    requests.answered(0, 9, 0x08, struct.pack(">iH", 4, 2) + b"id")
    body = struct.pack(">H", 2) + b"id" + struct.pack(">HB", 1, 0x01) + struct.pack(">Hi", 1, -2)
    assert requests.read(4, 0, 1, 0x0A, body) == "EXECUTE cl=ONE values=[unset] | INSERT"


def test_the_recorder_leaves_out_what_drivers_ask_for_themselves() -> None:
    requests = Requests()
    body = text("SELECT * FROM system.local") + struct.pack(">HB", 1, 0)
    assert requests.read(4, 0, 1, 0x07, body) is None
    assert requests.read(4, 0, 1, 0x05, b"") is None


def test_the_recorder_finds_envelopes_in_segments() -> None:
    cases: list[int] = [1, 7, 1000]
    for step in cases:
        payload = envelope(5, 0x05, b"") + envelope(5, 0x07, b"body")
        segments = b"".join(
            (len(part) | 1 << 17).to_bytes(3, "little") + b"crc" + part + b"crc4"
            for part in (payload[:12], payload[12:])
        )
        frames = Frames(is_segmented=True)
        seen = []
        for position in range(0, len(segments), step):
            frames.feed(segments[position : position + step])
            seen += [(envelope[3], envelope[4]) for envelope in frames.envelopes()]
        assert seen == [(0x05, b""), (0x07, b"body")]


def test_the_recorder_takes_compression_out_of_the_offer() -> None:
    def short(value: str) -> bytes:
        return struct.pack(">H", len(value)) + value.encode()

    rest = short("CQL_VERSION") + struct.pack(">H", 1) + short("3.4.7")
    offered = short("COMPRESSION") + struct.pack(">H", 2) + short("lz4") + short("snappy")
    body = struct.pack(">H", 2) + offered + rest
    left = struct.pack(">H", 2) + short("COMPRESSION") + struct.pack(">H", 0) + rest
    assert without_compression(body) == left


def test_places_tell_equal_labels_apart() -> None:
    assert list(places({"shown": [["a", "1"], ["a", "2"]]})) == ["show:a", "show:a#2"]


def test_the_page_of_differences_is_that_of_the_list() -> None:
    assert PAGE.read_text() == table(DIFFERENCES), "run: python -m tests.differential.page"
    assert f".. include:: {PAGE.name}" in (PAGE.parent / "upgrading.rst").read_text()


def test_each_difference_that_users_are_told_is_guarded() -> None:
    assert sorted(entry.key for entry in DEFENDED if entry.key) == sorted(BY_KEY)


def test_each_difference_that_the_lane_cannot_see_has_a_test() -> None:
    for entry in DEFENDED:
        assert not entry.test or (ROOT / entry.test).exists(), entry.test
