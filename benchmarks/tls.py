"""What TLS adds to the cost of a request for the client, beside cassandra-driver.

    python -m benchmarks.tls

A relay in a process of its own speaks TLS in front of `_lib.null_server`; only the client's
own CPU is counted. Figures are those of `benchmarks.requests`, each plain and over TLS, then the
microseconds of client CPU and of wall time that opening a connection takes: plain, by a full
handshake, and by a resumed session, with and without a client certificate, for keys of several
kinds. The last table has the handshakes alone, in memory, by Python's ``ssl``: the part of an
opening that a resumed session can make cheaper.
"""

from __future__ import annotations

import argparse
import asyncio
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # started by its path

from benchmarks._lib import null_server, peers
from benchmarks._lib.requirements import need
from benchmarks.requests import Lane, measure, our_lanes

CASES = ["insert, 100 in flight", "page of 5,000 rows"]
OPENED = 300
PEER = "cassandra-driver"


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(1 << 18):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    writer.transport.abort()


async def relay(port: int, certificate: str, key: str, clients: str | None = None) -> None:
    """Accept TLS, and carry it to the null server at `port`; prints its own port.

    :param clients: the CA of the certificates that clients must have; None if they need none.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if clients is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(clients)

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, forth = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(_pipe(reader, forth), _pipe(back, writer))

    server = await asyncio.start_server(carry, "127.0.0.1", 0, ssl=context)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def tls_in_front(port: int, *files: str) -> Iterator[int]:
    """A relay in front of the null server at `port`, with the files of `relay`; gives its port."""
    command = [sys.executable, __file__, "--relay", str(port), *files]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.terminate()


async def opening(port: int, context: ssl.SSLContext | None, resumes: bool) -> tuple[float, float]:
    """Return microseconds of CPU and of wall time to open a connection."""
    from cassandra import aio
    from cassandra.ssl_session_cache import SSLSessionCache

    cache = SSLSessionCache() if resumes else None
    settings: Any = {"ssl_context": context, "ssl_session_cache": cache, "protocol_version": 4}
    async with aio.Cluster(["127.0.0.1"], port=port, compression=False, **settings) as cluster:
        await cluster.connect()
        core = cluster._core
        assert core is not None
        cpu = wall = 0.0
        for _ in range(OPENED):
            began, used = time.perf_counter(), time.thread_time()
            connection = await core.open_connection(cluster.endpoints_resolved[0])
            wall += time.perf_counter() - began
            cpu += time.thread_time() - used
            connection.close()
            await asyncio.sleep(0.001)
    return cpu / OPENED * 1e6, wall / OPENED * 1e6


def compare(lanes: list[Lane], rounds: int, plain: int, secure: int, certificate: str) -> None:
    best: dict[tuple[str, str, str], float] = {}
    for _ in range(rounds):
        for lane in lanes:
            protected = lane._replace(settings={**lane.settings, "TURBOCQL_BENCH_CA": certificate})
            for how, one, port in (("plain", lane, plain), ("TLS", protected, secure)):
                for case, found in measure(one, "127.0.0.1", port, CASES).items():
                    place = (case, lane.name, how)
                    best[place] = min(best.get(place, found["us"]), found["us"])
    print("us of client CPU".ljust(48) + "plain".rjust(10) + "TLS".rjust(10))
    for case, name, how in best:
        if how == "plain":
            figures = (best[case, name, "plain"], best.get((case, name, "TLS"), float("nan")))
            shown = "".join(f"{figure:.2f}".rjust(10) for figure in figures)
            print(f"{case} ({name})".ljust(48) + shown)


def compare_openings(folder: Path, plain: int) -> None:
    """Print what opening a connection takes, for keys of several kinds."""
    from tests.unit.security.certificates import Authority

    def row(name: str, *settings: Any) -> tuple[float, float]:
        found = asyncio.run(opening(*settings))
        print(name.ljust(48) + "".join(f"{figure:.0f}".rjust(10) for figure in found), end="")
        return found

    print("\nopening a connection, us".ljust(49) + "CPU".rjust(10) + "wall".rjust(10))
    row("plain", plain, None, False)
    print()
    for kind, bits in (("elliptic curve", None), ("RSA 2048", 2048), ("RSA 3072", 3072)):
        authority = Authority(folder, f"ca-{bits}", bits)
        for who, clients in (("", ()), (", client certificate", (authority.path,))):
            context = authority.client()
            if clients:
                context.load_cert_chain(*authority.issue("client"))
            with tls_in_front(plain, *authority.issue("127.0.0.1"), *clients) as port:
                full = row(f"TLS, {kind}{who}: full", port, context, False)
                print()
                resumed = row(f"TLS, {kind}{who}: resumed", port, context, True)
                ratios = zip(resumed, full, strict=True)
                print("".join(f"{after / before:.2f}".rjust(7) for after, before in ratios))


class _End:
    """One end of a handshake in memory, and the CPU that it has taken, in seconds."""

    def __init__(self, context: ssl.SSLContext, **settings: Any) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.cpu = 0.0
        self.finished = False
        self._step(lambda: self._wrap(context, settings))

    def _wrap(self, context: ssl.SSLContext, settings: dict[str, Any]) -> None:
        self.tls = context.wrap_bio(self._incoming, self._outgoing, **settings)

    def _step(self, call: Callable[[], Any]) -> None:
        began = time.thread_time()
        with suppress(ssl.SSLWantReadError):
            call()
        self.cpu += time.thread_time() - began

    def _shake(self) -> None:
        self.tls.do_handshake()
        self.finished = True

    def go_on(self, other: _End) -> None:
        """Take the next step, and hand what it wrote to the other end."""
        if not self.finished:
            self._step(self._shake)
        other._incoming.write(self._outgoing.read())

    def read(self) -> None:
        """Take in what has come behind the handshake: the tickets of TLS 1.3."""
        self._step(lambda: self.tls.read(16))


def bare_handshake(
    client: ssl.SSLContext, server: ssl.SSLContext, session: ssl.SSLSession | None
) -> tuple[_End, _End]:
    """Make a handshake in memory; return both ends."""
    ours = _End(client, server_hostname="127.0.0.1", session=session)
    theirs = _End(server, server_side=True)
    while not (ours.finished and theirs.finished):
        ours.go_on(theirs)
        theirs.go_on(ours)
    theirs.tls.write(b"x")
    theirs.go_on(ours)
    ours.read()
    return ours, theirs


def compare_bare_handshakes(folder: Path) -> None:
    """Print what handshakes alone take, full and resumed."""
    from tests.unit.security.certificates import Authority

    print(f"\nthe handshake alone, us of CPU ({ssl.OPENSSL_VERSION})".ljust(57), end="")
    print("client".rjust(8) + "server".rjust(8) + "both".rjust(8))
    for kind, bits in (("elliptic curve", None), ("RSA 2048", 2048), ("RSA 3072", 3072)):
        authority = Authority(folder, f"bare-{bits}", bits)
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.load_cert_chain(*authority.issue("127.0.0.1"))
        for version in (ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_2):
            client = authority.client()
            client.maximum_version = version
            session = bare_handshake(client, server, None)[0].tls.session
            for how, resumed in (("full", None), ("resumed", session)):
                ends = [bare_handshake(client, server, resumed) for _ in range(OPENED)]
                assert all(ours.tls.session_reused is (resumed is not None) for ours, _ in ends)
                took = [statistics.median(pair[i].cpu for pair in ends) * 1e6 for i in (0, 1)]
                shown = "".join(f"{figure:.0f}".rjust(8) for figure in (*took, sum(took)))
                print(f"{version.name}, {kind}: {how}".ljust(56) + shown)


def main() -> None:
    if sys.argv[1:2] == ["--relay"]:
        asyncio.run(relay(int(sys.argv[2]), *sys.argv[3:]))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--no-peers", action="store_true", help="this tree alone")
    parser.add_argument("--openings", action="store_true", help="only the opening of connections")
    options = parser.parse_args()
    need("geomet", "numpy", "uvloop", "cryptography")
    from tests.unit.security.certificates import Authority

    peers.cache().mkdir(parents=True, exist_ok=True)
    lanes = [lane for lane in our_lanes() if lane.name in ("aio", "blocking")]
    if not options.no_peers:
        lanes.append(Lane(PEER, str(peers.environment(PEER, ("numpy", "uvloop"))), {}, "blocking"))
    with tempfile.TemporaryDirectory() as folder, null_server.running() as (_, plain):
        authority = Authority(Path(folder))
        if not options.openings:
            with tls_in_front(plain, *authority.issue("127.0.0.1")) as secure:
                compare(lanes, options.rounds, plain, secure, authority.path)
        compare_openings(Path(folder), plain)
        compare_bare_handshakes(Path(folder))


if __name__ == "__main__":
    main()
