"""The cost that TLS adds to requests and to opening connections, compared with other drivers.

    python benchmarks/tls.py [--openings]

A relay in another process accepts TLS and forwards to `_lib.null_server`; only the client's CPU is
counted. There are three tables:

- requests as in `benchmarks.requests`, without and with TLS
- opening a connection, in microseconds of client CPU and of wall time: without TLS, with a full
  handshake and with a resumed session, with and without a client certificate, for several types of
  keys
- TLS handshakes alone, in memory, with Python's ``ssl``: resuming a session can save only this part

Certificates need the package ``cryptography``.
"""

from __future__ import annotations

import asyncio
import ssl
import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks._lib import null_server, peers
from benchmarks._lib.apis import Lane, measure, our_lanes, peer_lane
from benchmarks._lib.report import Benchmark
from benchmarks._lib.requirements import has

CASES = ["insert, 100 in flight", "page of 5,000 rows"]
# The API of each peer that is measured, by its name in the worker.
PEERS = {"cassandra-driver": "blocking", "scylladb-rs-driver": "scylladb-rs"}
# The types of keys: name, and the number of bits of an RSA key (None for an elliptic curve).
KINDS: tuple[tuple[str, int | None], ...] = (
    ("elliptic curve", None),
    ("RSA 2048", 2048),
    ("RSA 3072", 3072),
)

Rows = dict[str, dict[str, float]]


def lanes_of(bench: Benchmark) -> list[Lane]:
    """Return the lanes whose requests are measured: this driver's two APIs, and the peers.

    A lane is a driver with one of its APIs in an environment (see `benchmarks._lib.apis`).
    """
    lanes = our_lanes()
    lanes = [lanes[0], *(lane for lane in lanes if lane.name == "blocking")]
    extra = ("numpy", "uvloop")
    lanes += [
        peer_lane(peer, peer, PEERS[peer], extra)
        for peer in peers.prepare(bench, tuple(PEERS), extra)
    ]
    return lanes


def compare(bench: Benchmark, lanes: list[Lane], plain_port: int, tls_port: int, ca: str) -> None:
    """Measure and show requests without and with TLS.

    :param plain_port: the null server's port.
    :param tls_port: the port of the TLS relay.
    :param ca: the path of the CA certificate.
    """
    # Measure each lane twice: directly without TLS, and through the relay with TLS.
    all_lanes = []
    for lane in lanes:
        settings = {**lane.settings, "TURBOCQL_BENCH_CA": ca}
        all_lanes.append(lane)
        all_lanes.append(lane._replace(name=f"{lane.name}, TLS", settings=settings, port=tls_port))
    best = measure(bench, all_lanes, "127.0.0.1", plain_port, CASES)
    # The table has a row for each case and lane, with both figures.
    rows: dict[str, dict[str, float]] = {}
    for lane in lanes:
        for case, measured in best[lane.name].items():
            row = rows[f"{case} ({lane.name})"] = {"plain": measured["us"]}
            with_tls = best[f"{lane.name}, TLS"].get(case)
            if with_tls is not None:
                row["TLS"] = with_tls["us"]
    ratios = {case: row["TLS"] / row["plain"] for case, row in rows.items() if "TLS" in row}
    bench.show_table("us of client CPU", rows, {"TLS / plain": ratios})


def openings(bench: Benchmark, folder: Path, plain_port: int) -> None:
    """Measure what opening a connection costs, for several types of keys, and show the table.

    :param folder: the folder for certificates.
    :param plain_port: the null server's port.
    """
    from benchmarks._lib import handshakes
    from cassandra.testing.tls import Authority

    cpu: Rows = {}
    wall: Rows = {}
    kinds = KINDS[:1] if bench.options.quick else KINDS

    def measure_opening(
        name: str, handshake: str, port: int, context: ssl.SSLContext | None
    ) -> None:
        """Measure one way to open a connection, and store its figures in row `name` of both tables.

        :param handshake: "full" or "resumed", the heading of the column.
        :param context: the client's TLS context. None connects without TLS.
        """
        bar.step(f"opening: {name}, {handshake}")
        resumes = handshake == "resumed"
        cpu_time, wall_time = asyncio.run(handshakes.opening(port, context, resumes))
        cpu.setdefault(name, {})[handshake] = cpu_time
        wall.setdefault(name, {})[handshake] = wall_time

    with bench.progress(1 + 4 * len(kinds)) as bar:
        measure_opening("plain", "full", plain_port, None)
        for key_type, bits in kinds:
            authority = Authority(folder, f"ca-{bits}", bits)
            # Measure with and without a certificate of the client.
            for client_text, client_ca in (("", ()), (", client certificate", (authority.path,))):
                context = authority.client()
                if client_ca:
                    context.load_cert_chain(*authority.issue("client"))
                files = (*authority.issue("127.0.0.1"), *client_ca)
                with handshakes.tls_in_front(plain_port, *files) as port:
                    for handshake in ("full", "resumed"):
                        measure_opening(f"TLS, {key_type}{client_text}", handshake, port, context)
    for title, rows in (("CPU", cpu), ("wall", wall)):
        bench.show_table(f"opening a connection, us {title}", rows, resumed_over_full(rows))


def resumed_over_full(rows: Rows) -> dict[str, dict[str, float]]:
    """Return the cost of opening with a resumed session divided by the cost with a full handshake.

    Rows without a figure for resumed sessions are left out.
    """
    return {
        "resumed / full": {
            name: row["resumed"] / row["full"] for name, row in rows.items() if "resumed" in row
        }
    }


def bare_handshakes(bench: Benchmark, folder: Path) -> None:
    """Measure what TLS handshakes in memory cost, full and resumed, and show the table."""
    from benchmarks._lib.handshakes import OPENED, bare_handshake
    from cassandra.testing.tls import Authority

    rows: Rows = {}
    for key_type, bits in KINDS[:1] if bench.options.quick else KINDS:
        authority = Authority(folder, f"bare-{bits}", bits)
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.load_cert_chain(*authority.issue("127.0.0.1"))
        for version in (ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_2):
            # The session of a first handshake can be resumed by later handshakes.
            client = authority.client()
            client.maximum_version = version
            session = bare_handshake(client, server, None)[0].tls.session
            for handshake, resumed in (("full", None), ("resumed", session)):
                ends = [bare_handshake(client, server, resumed) for _ in range(OPENED)]
                client_ends, server_ends = zip(*ends, strict=True)
                is_resumed = resumed is not None
                assert all(end.tls.session_reused is is_resumed for end in client_ends)
                client_us = statistics.median(end.cpu for end in client_ends) * 1e6
                server_us = statistics.median(end.cpu for end in server_ends) * 1e6
                rows[f"{version.name}, {key_type}: {handshake}"] = {
                    "client": client_us,
                    "server": server_us,
                    "both": client_us + server_us,
                }
    bench.show_table(f"the handshake alone, us of CPU ({ssl.OPENSSL_VERSION})", rows)


def main() -> int:
    bench = Benchmark(
        __doc__,
        "Requests and connections over TLS, us of client CPU",
        duration_text="2 minutes",
        quick_duration_text="12 s",
        with_peers=True,
    )
    bench.add_option("--rounds", type=int, default=2)
    bench.add_option("--openings", action="store_true", help="only the opening of connections")
    options = bench.start(quick={"rounds": 1})
    bench.need_program("cc")  # to compile the null server
    if not has("cryptography"):
        bench.stop("this benchmark needs cryptography: pip install cryptography")
    lanes = [] if options.openings else lanes_of(bench)
    from benchmarks._lib import handshakes
    from cassandra.testing.tls import Authority

    with tempfile.TemporaryDirectory() as folder, null_server.running() as (_, plain_port):
        authority = Authority(Path(folder))
        if lanes:
            with handshakes.tls_in_front(plain_port, *authority.issue("127.0.0.1")) as tls_port:
                compare(bench, lanes, plain_port, tls_port, authority.path)
        openings(bench, Path(folder), plain_port)
        bare_handshakes(bench, Path(folder))
    return bench.end()


if __name__ == "__main__":
    sys.exit(main())
