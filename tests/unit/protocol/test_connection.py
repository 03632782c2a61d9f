"""Test `ProtocolConnection`, the state machine for the client's side of the handshake.

The tests connect it to a test server, or pass wrong responses to it.
"""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.errors import (
    AuthenticationFailed,
    ConnectionException,
    LoginNotChecked,
    ProtocolError,
)
from cassandra.protocol import opcodes
from cassandra.protocol.connection import (
    Authenticated,
    AuthenticationWanted,
    Challenge,
    EnableSegments,
    Failed,
    ProtocolConnection,
    Ready,
    ScyllaExtensions,
    Send,
    SetCompression,
    State,
    VersionRefused,
    offered_versions,
)
from tests.conftest import Implementation
from tests.unit.protocol.server import LONG_NAME, Server
from tests.unit.protocol.wire import int32, string, string_multimap


class Client:
    """Performs the actions that a `ProtocolConnection` requests, and records them.

    The attribute `tokens` has the tokens to send in a login.
    """

    def __init__(self, implementation: Any, version: int, **settings: Any) -> None:
        self.protocol = ProtocolConnection(version, **settings)
        self.reader = implementation.frame.FrameReader(version)
        self.writer = implementation.frame.FrameWriter(version)
        self.actions: list[Any] = []
        self.tokens = [b"first", b"second", b"third"]

    def act(self, actions: list[Any]) -> bytes:
        """Perform the actions that `ProtocolConnection` requests; return the bytes to send."""
        to_send = b""
        for action in actions:
            self.actions.append(action)
            if isinstance(action, Send):
                self.writer.add(*action)
                to_send += self.writer.take()
            elif isinstance(action, SetCompression):
                self.reader.set_compression(action.algorithm)
                self.writer.set_compression(action.algorithm)
            elif isinstance(action, EnableSegments):
                self.reader.enable_segments()
                self.writer.enable_segments()
            elif isinstance(action, (AuthenticationWanted, Challenge)):
                # The server requests a token, so respond with the next token.
                to_send += self.act(self.protocol.respond(self.tokens.pop(0)))
        return to_send

    def run(self, server: Server) -> Any:
        """Run the handshake with `server`, and return its last action."""
        data = self.act(self.protocol.start())
        while data:
            received = self.reader.feed(server.receive(data))
            data = b"".join(self.act(self.protocol.receive(*envelope)) for envelope in received)
        return self.actions[-1]


# Each entry is (protocol version, setting `compression`, the compression that is negotiated).
SETTINGS: list[tuple[int, Any, str | None]] = [
    (3, None, None),
    (3, "snappy", "snappy"),
    (4, False, None),
    (4, True, "lz4"),
    (4, "lz4", "lz4"),
    (4, "snappy", "snappy"),
    (5, None, None),
    (5, True, "lz4"),
    (5, "lz4", "lz4"),
]


@pytest.mark.parametrize("challenges", [None, 0, 2])
@pytest.mark.parametrize(("version", "requested", "agreed"), SETTINGS)
def test_the_handshake_negotiates_version_compression_and_login(
    implementation: Implementation,
    version: int,
    requested: Any,
    agreed: str | None,
    challenges: int | None,
) -> None:
    """The handshake negotiates compression and login; then client and server exchange messages.

    :param requested: the setting `compression`.
    :param agreed: the compression that is negotiated; None for no compression.
    :param challenges: the number of challenges of the server; None if there is no login.
    """
    client = Client(
        implementation, version, compression=requested, startup_options={"DRIVER_NAME": "test"}
    )
    server = Server(implementation, challenges=challenges)
    ready = client.run(server)
    assert isinstance(ready, Ready)
    assert ready.compression == agreed
    assert client.protocol.state == State.READY
    assert ready.supported["COMPRESSION"] == ["snappy", "lz4"]
    expected_startup = {"CQL_VERSION": "3.4.7", "DRIVER_NAME": "test"}
    if agreed:
        expected_startup["COMPRESSION"] = agreed
    assert server.startup == expected_startup
    # In a login, the client must send one token more than the server sends challenges.
    token_count = 0 if challenges is None else challenges + 1
    assert server.tokens == [b"first", b"second", b"third"][:token_count]
    if challenges is not None:
        assert Authenticated(b"welcome") in client.actions
        assert AuthenticationWanted("org.example.Authenticator") in client.actions
    assert (EnableSegments() in client.actions) is (version >= 5)
    # After the handshake, messages must be framed and compressed as negotiated, in both directions.
    stream = 7
    client.writer.add(stream, opcodes.QUERY, 0, b"query " * 200)
    expected_body = int32(opcodes.RESULT_KIND_SET_KEYSPACE) + LONG_NAME
    assert client.reader.feed(server.receive(client.writer.take())) == [
        (stream, opcodes.RESULT, 0, expected_body, version)
    ]


@pytest.mark.parametrize("version", [4, 5])
def test_a_version_that_the_server_does_not_speak(
    implementation: Implementation, version: int
) -> None:
    """If the server refuses the protocol version, the handshake returns VersionRefused.

    It has the versions that the client may try, the server's version, and the server's message.
    """
    refused = Client(implementation, version).run(Server(implementation, versions=(3,)))
    assert isinstance(refused, VersionRefused)
    assert refused.server_version == 3
    assert refused.offered == (5, 4, 3)
    assert "unsupported protocol version" in refused.message


def test_a_beta_version_that_is_not_opted_in_to() -> None:
    """If a server refuses a beta version of the protocol, the handshake returns VersionRefused.

    With `allow_beta`, the client sets the beta flag, with which the server would accept the
    version.
    """
    protocol = ProtocolConnection(6)
    protocol.start()
    # 0x0A is the code of a protocol error.
    body = int32(0x0A) + string(
        "Beta version of the protocol used (6/v6-beta), but USE_BETA flag is unset"
    )
    (refusal,) = protocol.receive(0, opcodes.ERROR, 0, body, 6)
    assert isinstance(refusal, VersionRefused)
    assert ProtocolConnection(6, allow_beta=True).start() == [
        Send(0, opcodes.OPTIONS, opcodes.USE_BETA_FLAG, b"")
    ]
    assert ProtocolConnection(5, allow_beta=True).start() == [Send(0, opcodes.OPTIONS, 0, b"")]


def test_a_wrong_password(implementation: Implementation) -> None:
    """With a wrong password, the handshake fails with the server's error."""
    client = Client(implementation, 5)
    client.tokens = [b"wrong"]
    failed = client.run(Server(implementation, challenges=0))
    assert isinstance(failed.error, AuthenticationFailed)
    assert "incorrect" in str(failed.error)


# The reason that a server gives if it could not read the roles to check a login.
LOCAL_QUORUM_FAILED = "Cannot achieve consistency level LOCAL_QUORUM"


@pytest.mark.parametrize(
    ("code", "text", "error_class"),
    [
        (0x0100, "Provided username u and/or password are incorrect", AuthenticationFailed),
        (0x0100, "Username and/or password are incorrect", AuthenticationFailed),
        (0x0100, "u is not permitted to log in", AuthenticationFailed),
        (0x000A, "Unexpected message AUTH_RESPONSE", AuthenticationFailed),
        (0x0100, f"Unable to perform authentication: {LOCAL_QUORUM_FAILED}", LoginNotChecked),
        (0x0100, "Error performing internal authentication of user u : ...", LoginNotChecked),
        (0x0100, "Cannot achieve consistency level for cl QUORUM. Requires 2", LoginNotChecked),
        (0x0100, "Could not verify password", LoginNotChecked),
        (0x0000, "java.lang.NullPointerException", LoginNotChecked),
        (0x1001, "busy", LoginNotChecked),
    ],
)
def test_a_login_that_is_not_checked_is_not_refused(
    code: int, text: str, error_class: type[Exception]
) -> None:
    """If the server cannot check a login, the error is LoginNotChecked, not AuthenticationFailed.

    AuthenticationFailed is for a wrong password.
    """
    protocol = in_state(State.AUTH_SENT)
    (failed,) = protocol.receive(0, opcodes.ERROR, 0, int32(code) + string(text))
    assert isinstance(failed, Failed)
    assert type(failed.error) is error_class
    assert text in str(failed.error)


@pytest.mark.parametrize(
    ("version", "requested", "offered", "match"),
    [
        (4, "lz4", ["snappy"], "offers snappy"),
        (5, "snappy", ["snappy", "lz4"], "version 5"),
        (4, "lz4", [], "offers none"),
    ],
)
def test_a_compression_that_the_server_does_not_have(
    implementation: Implementation, version: int, requested: str, offered: list[str], match: str
) -> None:
    """If the server lacks the requested compression, the handshake fails and the error says why."""
    failed = Client(implementation, version, compression=requested).run(
        Server(implementation, options={"COMPRESSION": offered})
    )
    assert isinstance(failed.error, ConnectionException)
    assert match in str(failed.error)


def test_optional_compression_is_none_without_a_common_algorithm(
    implementation: Implementation,
) -> None:
    """With `compression=True`, a handshake without a common algorithm succeeds without compression.

    Protocol version 5 does not allow snappy.
    """
    for version, offered in ((4, "zip"), (5, "snappy")):
        client = Client(implementation, version, compression=True)
        ready = client.run(Server(implementation, options={"COMPRESSION": [offered]}))
        assert ready.compression is None


def test_snappy_is_dropped_if_the_application_has_not_chosen_version_5(
    implementation: Implementation,
) -> None:
    """Nothing is compressed then, as in cassandra-driver. The server must offer Snappy."""
    for version, offered, agreed in ((5, ["snappy", "lz4"], None), (4, ["snappy"], "snappy")):
        client = Client(implementation, version, compression="snappy", is_version_chosen=False)
        server = Server(implementation, options={"COMPRESSION": offered})
        assert client.run(server).compression == agreed
        assert server.startup.get("COMPRESSION") == agreed
    client = Client(implementation, 5, compression="snappy", is_version_chosen=False)
    failed = client.run(Server(implementation, options={"COMPRESSION": ["lz4"]}))
    assert isinstance(failed.error, ConnectionException)


def test_an_unknown_compression_is_a_mistake_of_the_caller(implementation: Implementation) -> None:
    """An unknown name of a compression raises ValueError."""
    with pytest.raises(ValueError, match="'zip' is not known"):
        Client(implementation, 4, compression="zip").run(Server(implementation))


def test_a_cql_version_can_be_required(implementation: Implementation) -> None:
    """If the server does not support the required CQL version, the handshake fails."""
    server = Server(implementation)
    assert isinstance(Client(implementation, 4, cql_version="3.4.7").run(server), Ready)
    assert server.startup["CQL_VERSION"] == "3.4.7"
    failed = Client(implementation, 4, cql_version="9.9").run(Server(implementation))
    assert "3.4.7" in str(failed.error)


def test_scylla_extensions_are_negotiated(implementation: Implementation) -> None:
    """ScyllaDB offers extensions in SUPPORTED; STARTUP names extensions that the client uses."""
    options = {
        "SCYLLA_SHARD": ["3"], "SCYLLA_NR_SHARDS": ["12"],
        "SCYLLA_SHARDING_ALGORITHM": ["biased-token-round-robin"],
        "SCYLLA_SHARDING_IGNORE_MSB": ["12"], "SCYLLA_SHARD_AWARE_PORT": ["19042"],
        "SCYLLA_PARTITIONER": ["Murmur3"],
        "SCYLLA_LWT_ADD_METADATA_MARK": ["LWT_OPTIMIZATION_META_BIT_MASK=2147483648"],
        "SCYLLA_RATE_LIMIT_ERROR": ["ERROR_CODE=61440"], "TABLETS_ROUTING_V1": [""],
        "SCYLLA_USE_METADATA_ID": [""],
        "TABLETS_ROUTING_V2_EXPERIMENTAL_V2": [""],
    }  # fmt: skip
    server = Server(implementation, options=options)
    features = Client(implementation, 4).run(server).features
    assert features.shard_id == 3
    # (number of shards, partitioner, algorithm, ignored bits, shard-aware port, shard-aware TLS
    # port)
    assert features.sharding_info == (12, "Murmur3", "biased-token-round-robin", 12, 19042, None)
    assert features.lwt_info.meta_bit_mask == 0x80000000
    assert features.lwt_info.get_lwt_flag(0x80000001)
    assert not features.lwt_info.get_lwt_flag(1)
    assert features.rate_limit_error == 61440
    assert features.tablets_routing_v1
    assert {key for key in server.startup if key != "CQL_VERSION"} == {
        "SCYLLA_LWT_ADD_METADATA_MARK", "SCYLLA_RATE_LIMIT_ERROR", "TABLETS_ROUTING_V1"
    }  # fmt: skip
    # These two extensions change how EXECUTE is encoded. So they are only used if the settings say
    # that the encoder supports them.
    assert not features.tablets_routing_v2
    assert not features.use_metadata_id
    server = Server(implementation, options=options)
    client = Client(implementation, 4, extensions=ScyllaExtensions(use_metadata_id=True))
    assert client.run(server).features.use_metadata_id
    assert "SCYLLA_USE_METADATA_ID" in server.startup
    server = Server(implementation, options=options)
    client = Client(implementation, 4, extensions=ScyllaExtensions(tablets_routing_v2=True))
    assert client.run(server).features.tablets_routing_v2
    assert "TABLETS_ROUTING_V2_EXPERIMENTAL_V2" in server.startup


def test_extensions_that_cannot_be_parsed_are_ignored(implementation: Implementation) -> None:
    """ScyllaDB extensions with invalid values are ignored: the connection works without them."""
    options = {
        "SCYLLA_SHARD": ["x"],
        "SCYLLA_NR_SHARDS": ["0"],
        "SCYLLA_RATE_LIMIT_ERROR": ["ERROR_CODE=?"],
        "SCYLLA_LWT_ADD_METADATA_MARK": [],
    }
    features = Client(implementation, 4).run(Server(implementation, options=options)).features
    assert features.sharding_info is None
    assert features.rate_limit_error is None
    assert features.lwt_info is None


# a valid body for the opcode of each response
EVERY_RESPONSE = {
    opcodes.ERROR: int32(0x2200) + string("no"),
    opcodes.READY: b"",
    opcodes.AUTHENTICATE: string("auth"),
    opcodes.SUPPORTED: string_multimap({}),
    opcodes.RESULT: int32(opcodes.RESULT_KIND_VOID),
    opcodes.EVENT: (string("STATUS_CHANGE") + string("UP") + b"\x04\x7f\x00\x00\x01" + int32(1)),
    opcodes.AUTH_CHALLENGE: int32(-1),
    opcodes.AUTH_SUCCESS: int32(-1),
    # This is an unknown opcode.
    0x77: b"",
}
# the responses that the client waits for in each state of the handshake
EXPECTED = {
    State.OPTIONS_SENT: {opcodes.SUPPORTED},
    State.STARTUP_SENT: {opcodes.READY, opcodes.AUTHENTICATE},
    State.AUTH_SENT: {opcodes.AUTH_CHALLENGE, opcodes.AUTH_SUCCESS},
}


def in_state(state: State) -> ProtocolConnection:
    """Return a protocol connection whose handshake has progressed to `state`."""
    protocol = ProtocolConnection(4)
    protocol.start()
    if state is not State.OPTIONS_SENT:
        protocol.receive(0, opcodes.SUPPORTED, 0, string_multimap({}))
    if state in (State.AUTH_SENT, State.AUTH_WANTED):
        protocol.receive(0, opcodes.AUTHENTICATE, 0, string("auth"))
    if state is State.AUTH_SENT:
        protocol.respond(b"token")
    assert protocol.state is state
    return protocol


def test_no_token_is_sent_as_an_empty_one() -> None:
    """The body of AUTH_RESPONSE is never a null, which Cassandra does not expect."""
    protocol = in_state(State.AUTH_WANTED)
    (send,) = protocol.respond(None)
    assert isinstance(send, Send)
    assert send.body == int32(0)


@pytest.mark.parametrize("state", [*EXPECTED, State.AUTH_WANTED])
@pytest.mark.parametrize("opcode", EVERY_RESPONSE)
def test_every_message_in_every_state_is_handled_or_fails(state: State, opcode: int) -> None:
    """A response that the client does not expect in its state ends the handshake with an error.

    The error is a ProtocolError. For an ERROR response, it is the server's error, which is
    AuthenticationFailed during a login.
    """
    protocol = in_state(state)
    actions = protocol.receive(stream=0, opcode=opcode, flags=0, body=EVERY_RESPONSE[opcode])
    # The client goes on if it has expected the response, and closes the connection otherwise.
    if opcode in EXPECTED.get(state, ()):
        assert not any(isinstance(action, Failed) for action in actions)
        return
    (failed,) = actions
    assert isinstance(failed, Failed)
    assert protocol.state is State.CLOSED
    error_type: type[Exception] = ProtocolError
    if opcode == opcodes.ERROR:
        is_login = state in (State.AUTH_SENT, State.AUTH_WANTED)
        error_type = AuthenticationFailed if is_login else ConnectionException
    assert isinstance(failed.error, error_type)


def test_malformed_responses_and_wrong_streams_fail_the_handshake() -> None:
    """A malformed response, or a response on another stream than 0, ends the handshake.

    The malformed map claims nine entries, but has none.
    """
    for stream, body in ((0, b"\x00\x09"), (5, string_multimap({}))):
        protocol = in_state(State.OPTIONS_SENT)
        (failed,) = protocol.receive(stream, opcodes.SUPPORTED, 0, body)
        assert isinstance(failed, Failed)
        assert isinstance(failed.error, ProtocolError)


def test_calls_in_a_wrong_state_are_runtime_errors() -> None:
    """A connection can be started once, and accepts responses and tokens only when it expects them.

    Other calls raise RuntimeError.
    """
    protocol = ProtocolConnection(4)
    with pytest.raises(RuntimeError, match="does not wait"):
        protocol.receive(0, opcodes.READY, 0, b"")
    protocol.start()
    with pytest.raises(RuntimeError, match="begun"):
        protocol.start()
    with pytest.raises(RuntimeError, match="no token"):
        protocol.respond(b"")


def test_offered_versions() -> None:
    """`offered_versions` must return the server's versions without beta versions, newest first."""
    supported = {"PROTOCOL_VERSIONS": ["3/v3", "4/v4", "5/v5", "6/v6-beta"]}
    assert offered_versions(supported) == (5, 4, 3)
    assert offered_versions({}) == ()
