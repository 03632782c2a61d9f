"""Answers of a fake node, compared with bytes written by hand from the protocol specifications."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from cassandra.cluster import Cluster
from cassandra.protocol import InvalidPagingState
from cassandra.query import SimpleStatement
from cassandra.testing import wire
from cassandra.testing.fake import (
    ErrorCode,
    FakeNode,
    Message,
    Opcode,
    Request,
    delay,
    error,
    hold,
    message,
    paged,
    rows,
    schema_change,
    sequence,
    set_keyspace,
    void,
)

from .client import RawClient, ask, envelope, in_segment, query

VOID = bytes.fromhex("00000001")  # the body of a RESULT of kind Void

# flags of envelopes (native_protocol_v5.spec, section 2.4.1.2)
COMPRESSED_FLAG = 0x01
TRACING_FLAG = 0x02
CUSTOM_PAYLOAD_FLAG = 0x04
WARNING_FLAG = 0x08


def answer_body(node: FakeNode, client: RawClient, answer: Any) -> tuple[int, bytes]:
    """Let the node answer a query with `answer`; return the opcode and body of its response."""
    node.prime("Q", answer, times=1)
    _, _, _, opcode, body = ask(client, "Q")
    return opcode, body


def test_results(node: FakeNode, client: RawClient) -> None:
    """The node encodes each kind of result as the specification describes it."""
    # The kind Set_keyspace (3), and the string "ks" after its length in two bytes.
    assert answer_body(node, client, set_keyspace("ks")) == (
        Opcode.RESULT,
        bytes.fromhex("00000003 0002 6b73"),
    )
    # The kind Schema_change (5), and four strings, each after its length.
    table_created = schema_change("CREATED", "TABLE", "ks", "t")
    assert answer_body(node, client, table_created) == (
        Opcode.RESULT,
        bytes.fromhex("00000005 0007")
        + b"CREATED"
        + bytes.fromhex("0005")
        + b"TABLE"
        + bytes.fromhex("0002 6b73 0001 74"),
    )
    opcode, body = answer_body(
        node, client, rows([("k", "int")], [(7,), (None,)], paging_state=b"\xaa")
    )
    assert opcode == Opcode.RESULT
    # The kind Rows (2). The metadata: the flags 3 (Global_tables_spec and Has_more_pages), one
    # column, the paging state aa, the table ks.t, and the column k with the type 9 (int). Then two
    # rows: an int of 4 bytes, and a null (length -1).
    assert body == bytes.fromhex(
        "00000002 00000003 00000001 00000001 aa 0002 6b73 0001 74 0001 6b 0009 "
        "00000002 00000004 00000007 ffffffff"
    )


def test_rows_without_metadata_and_with_changed_metadata(node: FakeNode) -> None:
    """Rows have no metadata if the client has the current metadata.

    If the client sends the current metadata id, rows have the flag No_metadata, and also the flag
    Global_tables_spec, as Cassandra sends it. Otherwise they have the flag Metadata_changed and the
    new id (native_protocol_v5.spec, section 4.2.5.2).
    """
    node.prime_prepare("S", [], [("k", "int")], query_id=b"i")
    node.prime("S", rows([("k", "int")], [(7,)], metadata_id=b"new"))
    prepare = in_segment(envelope(5, Opcode.PREPARE, bytes.fromhex("00000001 53 00000000")))

    def execute(client: RawClient, metadata_id: bytes) -> bytes:
        """Send an EXECUTE with this metadata id, and return the body of the response."""
        query_id = b"\0\1i"
        consistency_and_flags = bytes.fromhex("0001 00000002")
        body = query_id + bytes((0, len(metadata_id))) + metadata_id + consistency_and_flags
        client.send(in_segment(envelope(5, Opcode.EXECUTE, body)))
        # Leave out the header of the envelope, which has 9 bytes.
        return client.segment()[9:]

    with RawClient(node) as client:
        client.start(5)
        client.send(prepare)
        client.segment()
        # The flags of the metadata are 00000005: No_metadata (4) and Global_tables_spec (1).
        assert execute(client, b"new") == bytes.fromhex(
            "00000002 00000005 00000001 00000001 00000004 00000007"
        )
        # The flags are 00000009: Metadata_changed (8) and Global_tables_spec (1). The id follows.
        assert execute(client, b"old") == bytes.fromhex(
            "00000002 00000009 00000001 0003 6e6577 0002 6b73 0001 74 0001 6b 0009 "
            "00000001 00000004 00000007"
        )


def test_pages(node: FakeNode, client: RawClient) -> None:
    """A `paged` answer returns one page after the other, with paging states between the pages."""
    node.prime("Q", paged([("k", "tinyint")], [(value,) for value in range(5)]))

    def read_page(state: bytes | None) -> tuple[list[bytes | None], bytes | None]:
        """Request a page of two rows; return its cells, and the paging state of the next page."""
        # 0x04 is the flag "page size follows", and 0x08 is the flag "paging state follows".
        flags = b"\x0c" if state is not None else b"\x04"
        query_and_consistency = b"\0\0\0\1Q\0\1"
        page_size = b"\0\0\0\2"
        body = query_and_consistency + flags + page_size
        if state is not None:
            body += len(state).to_bytes(4, "big") + state
        answer = client.ask(envelope(4, Opcode.QUERY, body)).body
        # Skip the kind of the result.
        reader = wire.Reader(answer[4:])
        # 0x2 is the flag Has_more_pages.
        has_more = reader.int32() & 0x2
        # Skip the number of columns.
        reader.int32()
        next_state = reader.blob() if has_more else None
        return [row["k"] for row in wire.decode_rows(answer)], next_state

    cells, state = read_page(None)
    while state is not None:
        more_cells, state = read_page(state)
        cells += more_cells
    assert cells == [b"\0", b"\1", b"\2", b"\3", b"\4"]


@pytest.mark.parametrize("forged", [b"\0\0\0\2", b"", b"nonsense", b"another table"])
def test_a_forged_paging_state_is_refused(node: FakeNode, forged: bytes) -> None:
    """A real node refuses a paging state that it did not make, and so does a `paged` answer."""
    columns = [("k", "int")]
    node.prime("SELECT k FROM t", paged(columns, [(1,), (2,), (3,)]))
    node.prime("SELECT k FROM u", paged(columns, [(1,), (2,), (3,)], table="u"))
    statement = SimpleStatement("SELECT k FROM t", fetch_size=2)
    with Cluster([node.address], port=node.port) as cluster, cluster.connect() as session:
        state = session.execute(statement).paging_state
        assert state is not None
        assert session.execute(statement, paging_state=state).all() == [(3,)]
        if forged == b"another table":
            other = SimpleStatement("SELECT k FROM u", fetch_size=2)
            forged = session.execute(other).paging_state or b""
        with pytest.raises(InvalidPagingState):
            session.execute(statement, paging_state=forged)
        with pytest.raises(InvalidPagingState):
            session.execute(statement, paging_state=state[:-1])
        # A column that was added between two pages does not matter.
        node.prime("SELECT k FROM t", paged([*columns, ("v", "int")], [(1, 1), (2, 2), (3, 3)]))
        assert session.execute(statement, paging_state=state).all() == [(3, 3)]


def test_warnings_and_payload_precede_the_body(node: FakeNode, client: RawClient) -> None:
    """Warnings come first in the body, then the custom payload, and then the result.

    The flags in the header say which of these parts the body has.
    """
    node.prime("Q", void().having(warnings=["w"], custom_payload={"a": b"b"}))
    assert ask(client, "Q")[1:] == (
        WARNING_FLAG | CUSTOM_PAYLOAD_FLAG,
        0,
        Opcode.RESULT,
        bytes.fromhex("0001 0001 77 0001 0001 61 00000001 62") + VOID,
    )


def test_a_primed_prepare_in_version_5(node: FakeNode) -> None:
    """In version 5, the response to PREPARE has two ids, the bind markers and the columns."""
    node.prime_prepare(
        "S", [("k", "int")], [("v", "text")], pk_indexes=[0], query_id=b"i", metadata_id=b"m"
    )
    with RawClient(node) as client:
        client.start(5)
        client.send(in_segment(envelope(5, Opcode.PREPARE, bytes.fromhex("00000001 53 00000000"))))
        body = client.segment()[9:]
    # The kind Prepared (4), and the ids "i" and "m". The bind markers: the flag 1
    # (Global_tables_spec), one marker, one key index (0), the table ks.t, and k with the type 9
    # (int). The columns: the flag 1, one column, ks.t, and v with the type 0d (text).
    assert body == bytes.fromhex(
        "00000004 0001 69 0001 6d 00000001 00000001 00000001 0000 0002 6b73 0001 74 0001 6b 0009"
        "00000001 00000001 0002 6b73 0001 74 0001 76 000d"
    )


# -- errors ----------------------------------------------------------------------------------------

# Each entry is an answer, the body of its response in version 4, and in version 5. A body has the
# error code, the message "m" after its length, and the fields of this error.
ERRORS = [
    (error(ErrorCode.SYNTAX_ERROR, "m"), "00002000 0001 6d", "00002000 0001 6d"),
    (error(ErrorCode.UNAVAILABLE, "m", consistency=4, required=3, alive=1),
     "00001000 0001 6d 0004 00000003 00000001", "00001000 0001 6d 0004 00000003 00000001"),
    (error(ErrorCode.WRITE_TIMEOUT, "m", received=1, blockfor=2, write_type="CAS", contentions=5),
     "00001100 0001 6d 0001 00000001 00000002 0003 434153",
     "00001100 0001 6d 0001 00000001 00000002 0003 434153 0005"),
    (error(ErrorCode.READ_TIMEOUT, "m", data_present=True),
     "00001200 0001 6d 0001 00000000 00000001 01", "00001200 0001 6d 0001 00000000 00000001 01"),
    (error(ErrorCode.READ_FAILURE, "m", failures={"1.2.3.4": 2}),
     "00001300 0001 6d 0001 00000000 00000001 00000001 00",
     "00001300 0001 6d 0001 00000000 00000001 00000001 04 01020304 0002 00"),
    (error(ErrorCode.WRITE_FAILURE, "m", write_type="BATCH"),
     "00001500 0001 6d 0001 00000000 00000001 00000000 0005 4241544348",
     "00001500 0001 6d 0001 00000000 00000001 00000000 0005 4241544348"),
    (error(ErrorCode.FUNCTION_FAILURE, "m", keyspace="k", function="f", arg_types=["int"]),
     "00001400 0001 6d 0001 6b 0001 66 0001 0003 696e74",
     "00001400 0001 6d 0001 6b 0001 66 0001 0003 696e74"),
    (error(ErrorCode.CAS_WRITE_UNKNOWN, "m"), "00001700 0001 6d 0001 00000000 00000001",
     "00001700 0001 6d 0001 00000000 00000001"),
    (error(ErrorCode.ALREADY_EXISTS, "m", keyspace="k", table="t"),
     "00002400 0001 6d 0001 6b 0001 74", "00002400 0001 6d 0001 6b 0001 74"),
    (error(ErrorCode.UNPREPARED, "m", query_id=b"i"),
     "00002500 0001 6d 0001 69", "00002500 0001 6d 0001 69"),
    (error(ErrorCode.RATE_LIMITED, "m", op_type=1, rejected_by_coordinator=True),
     "00004321 0001 6d 01 01", "00004321 0001 6d 01 01"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "body_in_4", "body_in_5"), ERRORS)
def test_errors(node: FakeNode, answer: Message, body_in_4: str, body_in_5: str) -> None:
    """Error responses have the fields that versions 4 and 5 of the protocol specify."""
    node.prime("Q", answer)
    with RawClient(node) as client:
        client.start(4)
        assert ask(client, "Q")[3:] == (Opcode.ERROR, bytes.fromhex(body_in_4))
    with RawClient(node) as client:
        client.start(5)
        client.send(in_segment(query("Q", 5)))
        assert client.segment()[9:] == bytes.fromhex(body_in_5)


def test_an_error_has_no_other_fields() -> None:
    """`error` refuses a field that the error does not have in the protocol."""
    with pytest.raises(
        TypeError, match=r"0x1000 has no field table; it has consistency, required, alive"
    ):
        error(ErrorCode.UNAVAILABLE, "m", table="t")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("OVERLOADED", "write ErrorCode.OVERLOADED, not 'OVERLOADED' (str)"),
        ("invalid", "write ErrorCode.INVALID, not 'invalid' (str)"),
        (None, "write ErrorCode.OVERLOADED, not None (NoneType)"),
    ],
)
def test_a_code_that_is_not_a_number(code: Any, message: str) -> None:
    """If an error code is not a number, the error suggests a constant of ErrorCode."""
    with pytest.raises(TypeError) as raised:
        error(code, "busy")
    assert str(raised.value) == f"the code of an error is a number: {message}"


# -- other answers ---------------------------------------------------------------------------------


def test_sequences_and_functions(node: FakeNode, client: RawClient) -> None:
    """A prime accepts a sequence or a function as its answer, and refuses other objects."""

    def keyspace_of_stream(request: Request) -> Message:
        return set_keyspace(str(request.stream))

    node.prime("Q", sequence(error(ErrorCode.OVERLOADED), keyspace_of_stream))
    # The sequence has an error for the first request, and a function for the second request.
    refusal, *bodies = [ask(client, "Q", stream).body for stream in (1, 2, 3)]
    error_code, _ = wire.decode_error(refusal)
    assert error_code == ErrorCode.OVERLOADED
    # When a sequence is used up, the node repeats its last answer for all later requests.
    assert bodies[0].endswith(b"2")
    assert bodies[1].endswith(b"3")
    with pytest.raises(TypeError, match="neither"):
        node.prime("Q", "an answer")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no answers"):
        sequence()


def test_any_opcode_can_be_sent(node: FakeNode, client: RawClient) -> None:
    """`message` sends any opcode and body, even an opcode that the protocol does not have."""
    node.prime("Q", message(0x7F, b"?"))
    assert ask(client, "Q")[3:] == (0x7F, b"?")


@pytest.mark.parametrize(
    ("columns", "refused"),
    [
        (["k", "v"], "'k'"),
        ("kv", "'kv'"),
        (["kv"], "'kv'"),
        ({"k": "int"}, "'k'"),
        ([("k",)], "('k',)"),
        ([5], "5"),
    ],
)
def test_columns_that_are_not_pairs(columns: Any, refused: str) -> None:
    """If columns are not pairs of name and type, the error shows how to write them."""
    message = f"columns are (name, type) pairs: [('k', 'int')], not {refused}"
    for call in (rows, lambda columns: FakeNode().prime_prepare("Q", columns)):
        with pytest.raises(TypeError) as raised:
            call(columns)
        assert str(raised.value) == message


@pytest.mark.parametrize(
    ("type_name", "value", "error_type", "message"),
    [
        ("int", "one", TypeError, "'one' (str) cannot be encoded"),
        ("int", 1 << 40, ValueError, f"{1 << 40} (int) cannot be encoded: "),
        ("text", 5, TypeError, "5 (int) cannot be encoded"),
        ("ascii", 5, TypeError, "5 (int) cannot be encoded"),
        ("uuid", "x", ValueError, "'x' (str) cannot be encoded: "),
        ("decimal", "x", ValueError, "'x' (str) cannot be encoded: "),
        ("list<int>", ["x"], TypeError, "['x'] (list) cannot be encoded"),
    ],
)
def test_a_value_that_cannot_be_encoded(
    type_name: str, value: Any, error_type: type[Exception], message: str
) -> None:
    """If a value cannot be encoded, the error names the row, the column and the value."""
    with pytest.raises(error_type) as raised:
        rows([("k", type_name)], [(None,), {"k": value}])
    assert str(raised.value).startswith(f"row 1, column k ({type_name}): {message}")


@pytest.mark.parametrize(
    ("row", "error_type", "message"),
    [
        (5, TypeError, r"row 1 is 5 \(int\): a row is a sequence of the values of k, such as \("),
        ("a", TypeError, r"row 1 is 'a' \(str\)"),
        ({"kk": 5}, ValueError, "row 1 has a value for 'kk', but the columns are k"),
    ],
)
def test_a_row_that_is_none(row: Any, error_type: type[Exception], message: str) -> None:
    """A dict with a misspelt key, and a string instead of a row, raise an error.

    Without the check, the misspelt key would leave a null, and the string would be a row of
    characters.
    """
    for call in (rows, paged):
        with pytest.raises(error_type, match=message):
            call([("k", "text")], [("x",), row])


@pytest.mark.parametrize(
    ("answer", "advice"),
    [
        ([(1,)], r": write rows\(\[\(name, type\), \.\.\.\], \["),
        (None, r": write void\(\)"),
        (ValueError("x"), r": write error\(ErrorCode\.OVERLOADED, message\)"),
        (5, "is neither an answer nor a function of a request$"),
        ([void()], r": write sequence\(\*answers\)"),
        (void, r"void is a function that makes an answer: write void\(\.\.\.\)"),
        (rows, r"write rows\(\.\.\.\)"),
        (hold, r"write hold\(\.\.\.\)"),
    ],
)
def test_what_is_no_answer(answer: Any, advice: str) -> None:
    """`prime` refuses an object that is no answer, and says what to write instead."""
    with FakeNode() as node, pytest.raises(TypeError, match=advice):
        node.prime("Q", answer)


def test_arguments_in_the_wrong_order() -> None:
    """If the arguments of `prime` or `delay` are exchanged, the error says which comes first."""
    prime: Any = FakeNode().prime
    with pytest.raises(TypeError, match=r"the statement comes first: write prime\(statement, "):
        prime(void(), "Q")
    make_late: Any = delay
    with pytest.raises(TypeError, match=r"the seconds come first: write delay\(seconds, answer\)"):
        make_late(void(), 1)
    for seconds in ("1s", True):
        with pytest.raises(TypeError, match=f"a number of seconds, but is {seconds!r}"):
            make_late(seconds, void())


def test_a_number_of_requests_that_is_a_text() -> None:
    """`times` must be a number of requests, or None."""
    prime: Any = FakeNode().prime
    with pytest.raises(TypeError, match="times is a number of requests, or None for all, but is"):
        prime("Q", void(), times="1")


def test_a_function_that_does_not_take_the_request() -> None:
    """`prime` refuses a function that cannot be called with one argument, the request."""
    prime: Any = FakeNode().prime
    with pytest.raises(
        TypeError, match=r"gets the request: write lambda request: \.\.\. \(too man"
    ):
        prime("Q", lambda: void())


def test_a_text_with_the_signs_of_a_pattern_is_warned_of() -> None:
    """A string such as "SELECT.*" warns that a pattern must be compiled.

    There is no warning for a complete statement, although a string in it contains ".*".
    """
    node = FakeNode()
    with pytest.warns(
        RuntimeWarning, match=r"for a pattern, write re\.compile\('SELECT\.\*'\)"
    ) as seen:
        node.prime("SELECT.*", void())
    assert [warning.filename for warning in seen] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        node.prime("SELECT * FROM t WHERE v = 'a.*'", void())
