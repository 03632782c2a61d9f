"""Reads randomly damaged secure connect bundles and responses of Astra's metadata service.

    python -m tests.fuzz.fuzz_bundles [--count N] [--seed S] [--no-parity]

The driver must read a bundle, or raise a ValueError with its own message. A response must contain
the names of nodes, or make the driver raise DriverException. No temporary file may be left, and no
input may take long. Only one implementation exists, so --no-parity has no effect.
"""

from __future__ import annotations

import functools
import io
import json
import random
import sys
import tempfile
import time
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cassandra.client import cloud
from cassandra.errors import DriverException
from tests.fuzz.kept import Shapes, keep, lines, numbers
from tests.fuzz.running import run
from tests.unit.security.certificates import Authority

# This is the limit in seconds for one input. An undamaged one takes a few milliseconds.
LONGEST = 5.0

# The undamaged config.json of a bundle, and the undamaged answer of the metadata service.
CONFIG = {"host": "127.0.0.1", "port": 29080, "username": "ada", "password": "x", "keyspace": "k"}
ANSWER = {
    "version": 1,
    "contact_info": {
        "type": "sni_proxy",
        "contact_points": [f"00000000-0000-0000-0000-{n:012}" for n in range(3)],
        "sni_proxy_address": "proxy.example.com:29042",
    },
}
# Values that replace a value of an undamaged document.
ODD: list[Any] = [
    None, True, 0, -1, 1 << 70, 1e308, "", "\0", "\ud800", "a" * 300, "..", "[", "é", [], {},
    [[]] * 3, {"a": {}}, "1e5", " 7 ", "\u0667",
]  # fmt: skip
STATUS = b"HTTP/1.1 200 OK\r\n"


@functools.cache
def bundle_files() -> dict[str, bytes]:
    """Return the files of an undamaged bundle: their contents by name."""
    with tempfile.TemporaryDirectory() as directory:
        authority = Authority(Path(directory))
        certificate, key = authority.issue("client")
        return {
            "config.json": json.dumps(CONFIG).encode(),
            "ca.crt": Path(authority.path).read_bytes(),
            "cert": Path(certificate).read_bytes(),
            "key": Path(key).read_bytes(),
        }


def zipped(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip archive of these files.

    :param files: the contents by name.
    :param method: the compression method, a constant of `zipfile`.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


# -- mutations -------------------------------------------------------------------------------------


def with_damaged_bytes(data: bytes, rng: random.Random) -> bytes:
    """Return `data` in which a few bytes are changed, removed, repeated or inserted."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        offset, size = rng.randrange(len(changed) + 1), rng.choice((1, 2, 4, 40))
        damage = rng.choice(("change", "remove", "repeat", "overwrite", "insert"))
        if damage == "change":
            changed[offset : offset + 1] = bytes([rng.randrange(256)])
        elif damage == "remove":
            del changed[offset : offset + size]
        elif damage == "repeat":
            changed[offset:offset] = changed[offset : offset + size] * rng.choice((1, 3, 500))
        elif damage == "overwrite":
            changed[offset : offset + size] = rng.choice((b"\0", b"\xff")) * size
        else:
            changed[offset:offset] = rng.randbytes(size)
    return bytes(changed)


def with_odd_json(value: Any, rng: random.Random) -> bytes:
    """Replace a random value of a JSON document with a value of `ODD`, or delete its key.

    :param value: the document, which is not changed.
    :returns: the changed document as JSON.
    """
    # This is a deep copy.
    document = json.loads(json.dumps(value))
    container = document
    while True:
        if isinstance(container, dict):
            key = rng.choice([*container])
        else:
            key = rng.randrange(len(container))
        if isinstance(container[key], (dict, list)) and container[key] and rng.random() < 0.8:
            container = container[key]
            continue
        if isinstance(container, dict) and rng.random() < 0.2:
            del container[key]
        else:
            container[key] = rng.choice(ODD)
        return json.dumps(document).encode()


def damaged_bundle(rng: random.Random) -> bytes:
    """Return a damaged bundle, in which either the zip archive or one of its files is damaged."""
    files = dict(bundle_files())
    # Half of the bundles have a damaged file.
    damage = rng.choice(("archive", "missing file", "odd config", "file", "file", "file"))
    method = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    if damage == "archive":
        return with_damaged_bytes(zipped(files, method), rng)
    if damage == "missing file":
        del files[rng.choice([*files])]
    elif damage == "odd config":
        files["config.json"] = with_odd_json(CONFIG, rng)
    else:
        name = rng.choice([*files])
        files[name] = with_damaged_bytes(files[name], rng)
    return zipped(files, method)


def damaged_answer(rng: random.Random) -> bytes:
    """Return a damaged HTTP response of the metadata service.

    Two forms keep the HTTP headers correct, so that the driver reads the damaged JSON.
    """
    body = json.dumps(ANSWER).encode()
    form = rng.choice(("odd json", "damaged json", "chunked", "compressed", "damaged response"))
    if form == "odd json":
        body = with_odd_json(ANSWER, rng)
    elif form == "damaged json":
        body = with_damaged_bytes(body, rng)
    elif form == "chunked":
        chunks = b"".join(
            b"%x\r\n%b\r\n" % (1, body[index : index + 1]) for index in range(len(body))
        )
        head = STATUS + b"Transfer-Encoding: chunked\r\n\r\n"
        return with_damaged_bytes(head + chunks + b"0\r\n\r\n", rng)
    elif form == "compressed":
        return STATUS + b"Content-Encoding: deflate\r\n\r\n" + zlib.compress(body)
    response = STATUS + b"Content-Length: %d\r\n\r\n" % len(body) + body
    return with_damaged_bytes(response, rng) if form == "damaged response" else response


# -- rules -----------------------------------------------------------------------------------------


def read_bundle(data: bytes) -> str:
    """Let the driver read a bundle, and return "read" or the message of the ValueError.

    The driver gets a file if the size of `data` is odd, and a buffer otherwise.
    """
    with tempfile.NamedTemporaryFile(suffix=".zip") as file:
        file.write(data)
        file.flush()
        # Use both, because seeking in a damaged archive raises different errors for files and
        # buffers.
        bundle = file.name if len(data) % 2 else io.BytesIO(data)
        try:
            cloud.cloud_of({"secure_connect_bundle": bundle})
        except ValueError as error:
            refusal = error
        else:
            return "read"
    assert type(refusal) is ValueError, repr(refusal)
    assert str(refusal).startswith("the secure connect bundle"), repr(refusal)
    return str(refusal)


class FakeSocket:
    """A fake socket from which the driver reads `data`.

    It ignores everything that the driver sends.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data

    def sendall(self, data: bytes) -> None:
        pass

    def makefile(self, mode: str) -> io.BytesIO:
        return io.BytesIO(self._data)

    def close(self) -> None:
        pass


def read_answer(data: bytes) -> str:
    """Let the driver read `data` as the response of Astra's metadata service.

    :returns: "asked" if the driver could read it, otherwise the message of the DriverException.
    """

    class Connection(cloud._TimedConnection):
        def connect(self) -> None:
            """Use the fake socket instead of opening a connection."""
            self.sock = FakeSocket(data)

    original_class = cloud._TimedConnection
    cloud._TimedConnection = Connection  # type: ignore[misc]
    try:
        nodes = _cloud_of_good_bundle().ask()
    except DriverException as error:
        refusal = error
    else:
        assert 1 <= len(nodes) <= cloud.MOST_NODES
        return "asked"
    finally:
        cloud._TimedConnection = original_class  # type: ignore[misc]
    assert "metadata service" in str(refusal), repr(refusal)
    assert len(str(refusal)) < 2000, len(str(refusal))
    return str(refusal)


@functools.cache
def _cloud_of_good_bundle() -> cloud.Cloud:
    """Return the driver's object that sends requests to the metadata service.

    Its bundle is undamaged.
    """
    return cloud.cloud_of({"secure_connect_bundle": io.BytesIO(zipped(bundle_files()))})


# For each kind of input: the function that reads it, and the function that makes a damaged one.
READERS: dict[str, Callable[[bytes], str]] = {"bundle": read_bundle, "answer": read_answer}
MAKERS: dict[str, Callable[[random.Random], bytes]] = {
    "bundle": damaged_bundle,
    "answer": damaged_answer,
}


def check(kind: str, data: bytes) -> str:
    """Read one input, and return the outcome, a string from its function in `READERS`.

    :param kind: "bundle" or "answer".

    :raises AssertionError: if a check fails. The input is then added to the corpus and printed.
    """
    start_time = time.monotonic()
    try:
        outcome = READERS[kind](data)
        assert time.monotonic() - start_time < LONGEST, (
            f"{time.monotonic() - start_time:.1f} seconds"
        )
    except BaseException as error:
        keep("bundles", kind, data.hex())
        print(f"finding: {kind} {data[:4000].hex()}: {error!r}", flush=True)
        raise
    return outcome


def replay() -> int:
    """Read all inputs of the corpus again, and return their number."""
    inputs = lines("bundles")
    for kind, data in inputs:
        check(kind, bytes.fromhex(data))
    return len(inputs)


def fuzz(
    count: int, seed: int, both: bool = False, seconds: float | None = None, grow: bool = False
) -> Counter[str]:
    """Read `count` damaged inputs, or read damaged inputs for `seconds`.

    :param both: ignored, since there is only one implementation.
    :param grow: if True, add inputs with new outcomes to the corpus.
    :returns: how many inputs were "read" and how many "refused".
    """
    rng = random.Random(seed)
    shapes, outcome_counts = Shapes("bundles", grow), Counter[str]()
    with tempfile.TemporaryDirectory() as directory:
        previous_directory, tempfile.tempdir = tempfile.tempdir, directory
        try:
            for _ in numbers(count, seconds):
                kind = rng.choice([*MAKERS])
                data = MAKERS[kind](rng)
                outcome = check(kind, data)
                shapes.see(outcome, data, kind)
                outcome_counts["read" if outcome in ("read", "asked") else "refused"] += 1
            assert not [*Path(directory).iterdir()], "something was left in temporary files"
        finally:
            tempfile.tempdir = previous_directory
    return outcome_counts


if __name__ == "__main__":
    sys.exit(run(__doc__, fuzz, 1, "bundles and answers"))
