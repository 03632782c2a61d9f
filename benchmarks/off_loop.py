"""Measures work that could move from the event loop's thread to another thread.

    python benchmarks/off_loop.py

An asyncio application receives pages of 5,000 rows, several of them in flight, and decodes their
rows. Each case does one step of this work (decompression, TLS, or decoding) either on the event
loop, as the driver does, or in a thread, while the loop goes on with other pages. lz4 and OpenSSL
release the GIL while they work; the decoder of rows holds it. Moving a step to a thread is
worthwhile only if the wall time of a page decreases.

The pages are in memory, so that only the client's work takes time. With a server and a network, the
gain is less.
"""

from __future__ import annotations

import asyncio
import ssl
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from benchmarks._lib.report import Benchmark
from benchmarks._lib.requirements import has
from benchmarks.compression import varied_page

RESULT = 8  # the opcode of a response with rows
VERSION = 4  # the version of the protocol
IN_FLIGHT = 8  # the number of pages in flight
TLS_READ = 1 << 18  # the size of a read in bytes

_Result = TypeVar("_Result")
# A function that runs a step of the work on a page, either on the event loop or in a thread.
Run = Callable[[Callable[[], _Result]], Awaitable[_Result]]


async def on_the_loop(step: Callable[[], _Result]) -> _Result:
    """Run a step in the thread of the loop."""
    return step()


def in_a_thread(pool: ThreadPoolExecutor) -> Run[Any]:
    """Return a function that runs a step in a thread of `pool`."""

    async def run(step: Callable[[], _Result]) -> _Result:
        return await asyncio.get_running_loop().run_in_executor(pool, step)

    return run


class Pages:
    """The pages that a case receives.

    :param count: the number of pages of one pass.
    """

    def __init__(self, count: int) -> None:
        from cassandra.protocol.messages.decode import decode_response
        from cassandra.query import tuple_factory

        self.count = count
        *_, self.body = varied_page()
        metadata = decode_response(RESULT, 0, self.body, VERSION).metadata

        def decode(body: bytes) -> object:
            message = decode_response(RESULT, 0, body, VERSION, None, None, metadata)
            rows: object = message.decode(tuple_factory)
            return rows

        self.decode = decode

    async def pass_of(self, receive: Callable[[], Awaitable[object]]) -> None:
        """Receive all pages of a pass, with IN_FLIGHT of them at the same time.

        :param receive: receives and decodes one page.
        """
        remaining = iter(range(self.count))

        async def receive_several() -> None:
            for _ in remaining:
                await receive()
                await asyncio.sleep(0)  # let the other receivers run, as in the driver's loop

        await asyncio.gather(*(receive_several() for _ in range(IN_FLIGHT)))

    def microseconds(self, receivers: Iterator[Callable[[], Awaitable[object]]]) -> float:
        """Return the wall time of a page, the least of all passes.

        :param receivers: the argument of `pass_of` for each pass.
        """
        best = float("inf")
        for receive in receivers:
            began = time.perf_counter()
            asyncio.run(self.pass_of(receive))
            best = min(best, time.perf_counter() - began)
        return best / self.count * 1e6


def compressed(pages: Pages, run: Run[Any], passes: int) -> float:
    """Return the wall microseconds of a compressed page, which `run` decompresses.

    :param run: runs a step on the event loop or in a thread.
    :param passes: the best of this many passes counts.
    """
    from cassandra.protocol.compression import compression

    lz4 = compression("lz4")
    data = lz4.compress_body(pages.body)

    async def receive() -> None:
        pages.decode(await run(lambda: lz4.decompress_body(data, 1 << 28)))

    return pages.microseconds(receive for _ in range(passes))


def decoded(pages: Pages, run: Run[Any], passes: int) -> float:
    """Return the wall microseconds of a page whose rows `run` decodes.

    :param run: runs a step on the event loop or in a thread.
    :param passes: the best of this many passes counts.
    """

    async def receive() -> None:
        await run(lambda: pages.decode(pages.body))

    return pages.microseconds(receive for _ in range(passes))


def encrypted(pages: Pages, run: Run[Any], passes: int) -> float:
    """Return the wall microseconds of a page that is received by TLS, which `run` decrypts.

    `run` must run the steps one after the other, because the records of a TLS connection must be
    decrypted in order.

    :param run: runs a step on the event loop or in a thread.
    :param passes: the best of this many passes counts.
    """
    with tempfile.TemporaryDirectory() as folder:
        return pages.microseconds(_tls_receivers(pages, run, passes, Path(folder)))


def _tls_receivers(
    pages: Pages, run: Run[Any], passes: int, folder: Path
) -> Iterator[Callable[[], Awaitable[None]]]:
    """Yield, for each pass, a function that receives a page on a new TLS connection."""
    from cassandra.testing.tls import Authority

    authority = Authority(folder)
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.load_cert_chain(*authority.issue("127.0.0.1"))
    for _ in range(passes):
        to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = authority.client().wrap_bio(to_client, to_server, server_hostname="127.0.0.1")
        server = server_context.wrap_bio(to_server, to_client, server_side=True)
        _shake_hands(client, server)
        # Encrypt all pages of the pass before its time is measured.
        records = []
        for _ in range(pages.count):
            server.write(pages.body)
            records.append(to_client.read())
        yield _receiver_of(pages, run, client, to_client, iter(records))


def _shake_hands(*ends: ssl.SSLObject) -> None:
    """Let a client and a server, which share memory, finish their TLS handshake."""
    for _ in range(10):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
    # The client has not read the server's session tickets yet. It reads them with the first page.


def _receiver_of(
    pages: Pages,
    run: Run[Any],
    client: ssl.SSLObject,
    incoming: ssl.MemoryBIO,
    records: Iterator[bytes],
) -> Callable[[], Awaitable[None]]:
    """Return a function that receives, decrypts and decodes the next page.

    :param incoming: the buffer from which the client reads encrypted bytes.
    :param records: the TLS records of each page, in order.
    """

    def decrypt(data: bytes) -> bytes:
        """Decrypt the records of one page."""
        incoming.write(data)
        parts = []
        size = 0
        while size < len(pages.body):
            parts.append(client.read(TLS_READ))
            size += len(parts[-1])
        return b"".join(parts)

    async def receive() -> None:
        data = next(records)
        pages.decode(await run(lambda: decrypt(data)))

    return receive


CASES = {
    "decompress (LZ4)": compressed,
    "decrypt (TLS)": encrypted,
    "decode the rows": decoded,
}


def main() -> int:
    bench = Benchmark(
        __doc__,
        "Work of a page of 5,000 rows on the loop or in a thread, us of wall time",
        duration_text="1 minute",
        quick_duration_text="3 s",
    )
    bench.add_option("--pages", type=int, default=200, help="of one pass")
    bench.add_option("--passes", type=int, default=7, help="the least of so many counts")
    options = bench.start(quick={"pages": 16, "passes": 1})
    for package in ("lz4", "cryptography"):
        if not has(package):
            bench.stop(f"this benchmark needs {package}: pip install {package}")
    pages = Pages(options.pages)
    rows: dict[str, dict[str, float | None]] = {}
    with (
        bench.progress(2 * len(CASES)) as bar,
        # The pool for TLS has one thread, because the records of a connection must be decrypted in
        # order.
        ThreadPoolExecutor(1) as pool,
    ):
        for case, measure in CASES.items():
            row = rows[case] = {}
            for column, run in (("on the loop", on_the_loop), ("in a thread", in_a_thread(pool))):
                bar.step(f"{case}, {column}")
                row[column] = measure(pages, run, options.passes)
    ratios = {
        case: row["on the loop"] / row["in a thread"]
        for case, row in rows.items()
        if row["on the loop"] and row["in a thread"]
    }
    bench.show_table("us of wall time a page", rows, {"loop / thread": dict(ratios)})
    return bench.end()


if __name__ == "__main__":
    sys.exit(main())
