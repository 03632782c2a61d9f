"""`ReplayNode`: a node that sends the responses of a recording."""

from __future__ import annotations

import json
import os
from collections import deque
from typing import Any

from cassandra.testing.fake.answers import error
from cassandra.testing.fake.node import FakeNode
from cassandra.testing.fake.refusals import ErrorCode
from cassandra.testing.fake.requests import Request
from cassandra.testing.replay.addresses import with_own_address, without_other_ports
from cassandra.testing.replay.meaning import ANSWERED, Meaning, masked_meaning, meaning_of, shown
from cassandra.testing.replay.recording import Exchange, Recording
from cassandra.testing.replay.sniffing import prepared_id, used_keyspace
from cassandra.testing.wire import Reader

_NEAREST = 3  # maximum number of recorded requests that an error lists


class ReplayNode(FakeNode):
    """A fake node that sends the responses of a recording. Connect to it as to a real node.

    The node finds the recorded response by the CQL, values, keyspace, consistency level and page of
    a request; the order of requests does not matter. If the same request was recorded several
    times, the node sends the responses in the recorded order, and then repeats the last response. A
    request that was not recorded gets an `InvalidRequest` error, which names the request and the
    file. The error's message is also added to `refused`, and `check` raises an error with all these
    messages.

    The node does not lead a client to other nodes: it removes other addresses from the responses,
    and offers no shard-aware port.

    :param recording: the path of the file, or a `Recording`.
    :param port: the port to listen on; 0 for a free port.
    :raises RecordingError: if the file is not a recording.
    :raises OSError: if the file cannot be read.

    .. versionadded:: 4.0
    """

    def __init__(self, recording: Recording | str | os.PathLike[str], port: int = 0) -> None:
        self.path = "the recording"
        if not isinstance(recording, Recording):
            self.path = os.fspath(recording)
            recording = Recording.load(recording)
        version = recording.protocol_version or 5
        super().__init__(port=port, max_version=version)
        self.supported = without_other_ports(recording.supported)
        self.recording = recording
        self.refused: list[str] = []
        self._texts: dict[bytes, str] = {}  # the CQL of prepared statements, by id
        # Maps the key of a meaning to the recorded (number, exchange) pairs with this meaning, in
        # order. The number is the exchange's index in the recording.
        self._answers: dict[str, deque[tuple[int, Exchange]]] = {}
        # Maps the number of an exchange to the events that were recorded after this exchange.
        self._events: dict[int, list[Exchange]] = {}
        self._index_recording(recording)

    def _index_recording(self, recording: Recording) -> None:
        """Index the exchanges and events of the recording."""
        last_number = -1  # the key of events before the first exchange
        for number, exchange in enumerate(recording.exchanges):
            if exchange.request is None:
                self._events.setdefault(last_number, []).append(exchange)
                continue
            last_number = number
            meaning = masked_meaning(exchange.request)
            self._answers.setdefault(_key(meaning), deque()).append((number, exchange))
            if meaning["kind"] == "PREPARE":
                # The items after the request are the opcode, the flags and the body.
                query_id = prepared_id(*exchange[1:])
                if query_id is not None:
                    self._texts[query_id] = meaning["text"]

    @property
    def contact_points(self) -> list[str]:
        """The address to connect to."""
        return [self.address]

    @property
    def is_replay(self) -> bool:
        """True, because the responses come from a recording. `Recorder.is_replay` is False."""
        return True

    def start(self) -> ReplayNode:
        """Start to listen. The port stays the same when the node is started again."""
        super().start()
        return self

    def __enter__(self) -> ReplayNode:
        return self.start()

    def text_of(self, query_id: bytes) -> str | None:
        """Return the CQL of a statement that was prepared in the recording.

        :param query_id: the id of the statement.
        """
        return self._texts.get(query_id)

    def check(self) -> None:
        """Raise an error if the node got requests that were not recorded.

        :raises AssertionError: if there are such requests. The message has all of them.
        """
        if self.refused:
            raise AssertionError("\n".join(self.refused))

    def _answer(self, request: Request) -> None:
        """Answer with the response that was recorded for a request with the same meaning."""
        connection = request.connection
        if request.opcode not in ANSWERED or not connection.ready:
            super()._answer(request)
            return
        # A prime takes precedence over the recording.
        prime = self._script.matching(request)
        if prime is not None:
            self._script.use(prime).perform(request)
            return
        meaning = meaning_of(request, connection.keyspace, self.recording.is_masked)
        answers = self._answers.get(_key(meaning))
        if not answers:
            self._refuse(request, meaning)
            return
        # Use each response once, except the last response, which also answers all further requests.
        number, exchange = answers[0]
        if len(answers) > 1:
            answers.popleft()
        connection.keyspace = used_keyspace(*exchange[1:]) or connection.keyspace
        # Clients must connect to this node, and not to the addresses that were recorded.
        answer = with_own_address(exchange[1:], self.address, self.port)
        connection.send(request.stream, *answer)
        # Send the events that arrived after this response when it was recorded.
        for event in self._events.pop(number, ()):
            self._push(Reader(event.body).string(), event.body)

    def _refuse(self, request: Request, meaning: Meaning) -> None:
        """Respond with an error to a request that was not recorded, and add it to `refused`."""
        text = f"not in {self.path}: {shown(meaning)}"
        if request.version != self.recording.protocol_version:
            text += (
                f"; it was recorded with protocol version {self.recording.protocol_version}, and "
                f"this is version {request.version}"
            )
        similar = self._similar_requests(meaning)
        if similar:
            text += "; recorded with this text: " + " | ".join(similar)
        self.refused.append(text)
        error(ErrorCode.INVALID, text).perform(request)

    def _similar_requests(self, meaning: Meaning) -> list[str]:
        """Describe the recorded requests with the same CQL, for the error about a request."""
        text: Any = meaning.get("text")
        recorded = [
            masked_meaning(exchange.request)
            for exchange in self.recording.exchanges
            if exchange.request is not None and text
        ]
        same = [
            shown(request)
            for request in recorded
            if request.get("text") == text and request["kind"] == meaning["kind"]
        ]
        return list(dict.fromkeys(same))[:_NEAREST]


def _key(meaning: Meaning) -> str:
    return json.dumps(meaning, sort_keys=True)


ReplayNode.__module__ = "cassandra.testing"
