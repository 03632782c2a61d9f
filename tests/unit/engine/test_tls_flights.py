"""Tests of `FlightReader`, which finds out whether a server asked for a client certificate."""

from __future__ import annotations

import gc
import ssl
import weakref
from contextlib import suppress
from typing import Any

import pytest

from cassandra.engine.tls_flights import FlightReader
from tests.unit.security.certificates import Authority

VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


def begin(client: ssl.SSLContext) -> tuple[ssl.SSLObject, ssl.MemoryBIO, ssl.MemoryBIO]:
    """Return a client's TLS object with its buffers."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    return client.wrap_bio(incoming, outgoing, server_hostname="127.0.0.1"), incoming, outgoing


def read_handshake(
    client: ssl.SSLContext, server: ssl.SSLContext, fragment: int = 1 << 16
) -> tuple[FlightReader, ssl.SSLObject]:
    """Make a handshake in memory, and return the reader of the client's records.

    The second result is the client's TLS object, which the reader needs.

    :param fragment: the client gets this many bytes at a time.
    """
    client_object, client_incoming, client_outgoing = begin(client)
    server_incoming, server_outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    server_object = server.wrap_bio(server_incoming, server_outgoing, server_side=True)
    reader = FlightReader(client_object, client_outgoing)
    assert not reader.was_not_asked()
    for _ in range(3):
        arrived = server_outgoing.read()
        for start in range(0, max(len(arrived), 1), fragment):
            client_incoming.write(arrived[start : start + fragment])
            with suppress(ssl.SSLWantReadError):
                client_object.do_handshake()
        server_incoming.write(client_outgoing.read())
        with suppress(ssl.SSLWantReadError):
            server_object.do_handshake()
    # The server must get the records although they were read.
    assert server_object.version() == client_object.version()
    assert "do_handshake" not in vars(client_object)
    return reader, client_object


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("ciphers", ["ECDHE+AES128", "ECDHE+AES256", "ECDHE+CHACHA20"])
@pytest.mark.parametrize(
    ("verify_mode", "has_certificate"),
    [
        (ssl.CERT_NONE, False),
        (ssl.CERT_NONE, True),
        (ssl.CERT_OPTIONAL, False),
        (ssl.CERT_OPTIONAL, True),
        (ssl.CERT_REQUIRED, True),
    ],
)
def test_the_question_is_noticed(
    authority: Authority,
    version: ssl.TLSVersion,
    ciphers: str,
    verify_mode: ssl.VerifyMode,
    has_certificate: bool,
) -> None:
    """The reader finds out whether the server has asked, with any cipher.

    It does so whether or not the client has a certificate.
    """
    server, client = authority.server("127.0.0.1", clients=authority.path), authority.client()
    server.verify_mode = verify_mode
    client.maximum_version = client.minimum_version = version
    client.set_ciphers(ciphers)  # of TLS 1.2
    if has_certificate:
        client.load_cert_chain(*authority.issue("client"))
    for fragment in (1 << 16, 7):
        reader, _client_object = read_handshake(client, server, fragment)
        assert reader.was_not_asked() is (verify_mode == ssl.CERT_NONE)


class FakeObject:
    """The client's end of a handshake of TLS 1.3, in which it sends the given bytes."""

    def __init__(self, sent: bytes, outgoing: ssl.MemoryBIO) -> None:
        self.sent = sent
        self.outgoing = outgoing

    def cipher(self) -> tuple[str, str, int]:
        return ("TLS_AES_256_GCM_SHA384", "TLSv1.3", 256)

    def version(self) -> str:
        return "TLSv1.3"

    def do_handshake(self) -> None:
        self.outgoing.write(self.sent)


@pytest.mark.parametrize(
    ("lengths", "was_not_asked"),
    [([69], True), ([], False), ([68], False), ([70], False), ([77], False), ([25, 69], False)],
)
def test_if_in_doubt_the_server_has_asked(lengths: list[int], was_not_asked: bool) -> None:
    """Only if the length of the message Finished proves it, `was_not_asked` returns True.

    :param lengths: the lengths of the encrypted records.
    """
    records = [b"\x14\3\3\0\1\1", *(bytes([23, 3, 3, 0, n]) + bytes(n) for n in lengths)]
    outgoing = ssl.MemoryBIO()
    outgoing.write(b"earlier")  # bytes that are still there are not read again
    tls_object: Any = FakeObject(b"".join(records), outgoing)
    reader = FlightReader(tls_object, outgoing)
    tls_object.do_handshake()
    assert reader.was_not_asked() is was_not_asked
    assert outgoing.read() == b"earlier" + b"".join(records)


def test_a_reader_keeps_no_connection_alive(authority: Authority) -> None:
    """A connection that fails or is dropped during the handshake must be freed at once."""
    gc.disable()
    try:
        for arrives in (b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"):
            tls_object, incoming, outgoing = begin(authority.client())
            reader = FlightReader(tls_object, outgoing)
            incoming.write(arrives)
            with pytest.raises(ssl.SSLError):
                tls_object.do_handshake()
            assert outgoing.pending > 0
            reference = weakref.ref(tls_object)
            del tls_object
            assert reference() is None
            assert not reader.was_not_asked()
    finally:
        gc.enable()
