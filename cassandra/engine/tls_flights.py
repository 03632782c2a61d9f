"""Detects whether a server asked for a client certificate in a TLS handshake.

Python's ``ssl`` does not report this, but the records that the client sends show it. If the server
asks, the client must send a message of type Certificate, which is empty if the client has no
certificate. If the server does not ask, the client must not send that message. Up to TLS 1.2, the
message is not encrypted. In TLS 1.3 it is encrypted, but we know the length of the client's
encrypted records without that message, and compare.
"""

from __future__ import annotations

import ssl
import weakref
from collections.abc import Iterator

# The types of TLS records.
_CHANGE_CIPHER_SPEC = 20
_HANDSHAKE = 22
_APPLICATION_DATA = 23

# The type of the handshake message that contains the client's certificate.
_CERTIFICATE = 11

# The parts of a TLS 1.3 record with the message Finished, in bytes: the header of the message, a
# hash of the handshake (whose length depends on the cipher), the record's type, and the tag of the
# encryption.
_FINISHED_HEAD = 4
_RECORD_TYPE = 1
_TAG = 16


class FlightReader:
    """Reads the records that the client sends in a TLS handshake.

    :param tls_object: the client's end of the connection. Until the handshake has ended, its
        method `do_handshake` is replaced.
    :param outgoing: the buffer into which the TLS object writes.
    """

    def __init__(self, tls_object: ssl.SSLObject, outgoing: ssl.MemoryBIO) -> None:
        # The TLS object refers to this object, so a strong reference would make a cycle.
        self._tls_object = weakref.ref(tls_object)
        self._outgoing = outgoing
        self._sent = bytearray()
        self._has_ended = False
        vars(tls_object)["do_handshake"] = self._do_handshake

    def _do_handshake(self) -> None:
        tls_object = self._tls_object()
        assert tls_object is not None
        count_before = self._outgoing.pending
        try:
            type(tls_object).do_handshake(tls_object)
            self._has_ended = True
            del vars(tls_object)["do_handshake"]
        finally:
            # The buffer can only be read by emptying it, so write the bytes back.
            pending = self._outgoing.read()
            self._outgoing.write(pending)
            self._sent += pending[count_before:]

    def was_not_asked(self) -> bool:
        """Return True if the server has certainly not asked for a client certificate.

        False means that it has asked, or that we do not know.

        Call this after a full handshake.
        """
        tls_object = self._tls_object()
        if tls_object is None or not self._has_ended:
            return False
        cipher = tls_object.cipher()
        if cipher is None:
            return False
        records = list(_records(self._sent))
        if tls_object.version() == "TLSv1.3":
            encrypted = [len(body) for kind, body in records if kind == _APPLICATION_DATA]
            hash_length = 48 if cipher[0].endswith("SHA384") else 32
            # If the server did not ask, the only encrypted record is the message Finished. If there
            # are more records, or a longer record, the server has asked, or the record is padded:
            # we do not know which, and return False.
            return encrypted == [_FINISHED_HEAD + hash_length + _RECORD_TYPE + _TAG]
        messages = bytearray()
        for kind, body in records:
            if kind == _CHANGE_CIPHER_SPEC:
                return _CERTIFICATE not in _message_types(messages)
            if kind == _HANDSHAKE:
                messages += body
        return False


def _records(data: bytes | bytearray) -> Iterator[tuple[int, bytes | bytearray]]:
    """Yield the type and the body of each TLS record."""
    position = 0
    while position + 5 <= len(data):
        body_start = position + 5
        position = body_start + int.from_bytes(data[position + 3 : body_start], "big")
        yield data[body_start - 5], data[body_start:position]


def _message_types(data: bytes | bytearray) -> Iterator[int]:
    """Yield the types of handshake messages that are not encrypted."""
    position = 0
    while position + 4 <= len(data):
        yield data[position]
        position += 4 + int.from_bytes(data[position + 1 : position + 4], "big")
