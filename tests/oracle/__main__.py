"""Runs other projects' drivers against the fake ScyllaDB cluster, and checks their requests.

If the fake cluster did not behave like ScyllaDB, these drivers would not send each request to the
right shard.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

# `python tests/oracle` does not put the checkout on the path. Append it at the end, so that
# `cassandra` is still imported from the installed driver, which may be compiled.
if not __package__:
    sys.path.append(str(Path(__file__).resolve().parents[2]))

from cassandra.testing.fake import FakeCluster, Scylla
from tests.proxies import put_proxies_before

PROGRAMS = Path(__file__).parent / "programs"
# This is the program for client routes, for drivers that support them.
ROUTES = {"scylla_driver.py": "scylla_driver_routes.py"}
# Each driver has its distribution, its program, and True if the run fails when pip cannot install
# the distribution. scyllapy may have no wheel for this version of Python.
ORACLES = [("scylla-driver", "scylla_driver.py", True), ("scyllapy", "scyllapy.py", False)]


def environment(folder: str, distribution: str) -> str | None:
    """Create an environment with one driver, and return its interpreter.

    Return None if pip cannot install the driver.

    :param folder: the environment is created in this folder.
    :param distribution: the name of the driver for pip.
    """
    directory = Path(folder) / distribution
    venv.create(directory, with_pip=True)
    python = directory / ("Scripts" if os.name == "nt" else "bin") / "python"
    result = subprocess.run(
        [python, "-I", "-m", "pip", "install", "-q", "--only-binary=:all:", distribution],
        check=False,
    )
    return str(python) if result.returncode == 0 else None


def run(python: str, program: str, count: int) -> list[str]:
    """Run a program that reads `count` rows of each keyspace, and return its mistakes.

    For each keyspace, the program prints "go" and later "done", and waits for a line each time. All
    requests that the program sends in between must arrive at the right shard.

    :param python: the interpreter that runs the program.
    :param program: the name of its file in `PROGRAMS`.
    """
    faults = []
    shards_of_nodes = [7, 5, 8]
    with FakeCluster(3, scylla=Scylla(shards_of_nodes)) as nodes:
        scylla = nodes.scylla
        # "vn" distributes its rows by virtual nodes, and "tb" by 16 tablets.
        for keyspace, tablet_count in (("vn", None), ("tb", 16)):
            has_tablets = tablet_count is not None
            scylla.keyspace(keyspace, replication_factor=2, tablets=has_tablets)
            scylla.table(keyspace, "t", tablets=tablet_count)
        process = start_program(python, program, nodes, str(count))
        assert process.stdin is not None
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("done"):
                arrivals = scylla.arrivals
                keyspace = line.split()[1]
                print(f"  {keyspace}: {arrivals}")
                # The keyspace "tb" has tablets. A driver that does not request them cannot know the
                # right shard there.
                knows_shards = keyspace != "tb" or _asks_for_tablets(scylla)
                if arrivals.counted != count or (knows_shards and arrivals.right != count):
                    faults.append(f"{keyspace}: {arrivals}")
                if not knows_shards:
                    print("  the driver does not ask for tablets")
            scylla.forget_arrivals()
            process.stdin.write("\n")
            process.stdin.flush()
        if process.wait(60):
            faults.append(f"the program ended with {process.returncode}")
        faults += [str(fault) for node in nodes.nodes for fault in node.malformed]
    return faults


def start_program(
    python: str, program: str, nodes: FakeCluster, *arguments: str
) -> subprocess.Popen[str]:
    """Start a program that connects to the nodes.

    :param arguments: command-line arguments after the addresses and the port of the nodes.
    """
    address = [",".join(nodes.contact_points), str(nodes.port)]
    return subprocess.Popen(
        [python, str(PROGRAMS / program), *address, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # Leave out PYTHONPATH: it might lead to the package of this project, which has the same
        # name as that of other drivers.
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        cwd=tempfile.gettempdir(),
    )


def run_routes(python: str, program: str) -> list[str]:
    """Run a program that connects through proxies by client routes, and return its mistakes.

    The program must open connections through each proxy, and read the routes again after a route
    has changed.
    """
    faults = []
    with FakeCluster(3, scylla=Scylla(3)) as nodes:
        proxies = put_proxies_before(nodes)
        process = start_program(python, program, nodes)
        assert process.stdin is not None
        assert process.stdout is not None
        # The program has connected.
        process.stdout.readline()
        try:
            for node in nodes.nodes:
                # Each node has three shards, and the driver must open a connection to each of them.
                node.wait_for(lambda proxied: proxies[proxied.host_id].now == 3, timeout=20)
            readings_before = _readings(nodes)
            # Change the route to the first node. The driver must then read the routes again.
            nodes.scylla.route("c1", nodes[0].host_id, "127.0.0.1", 1)
            # Wait only for the node with the control connection, which has registered for events.
            for node in nodes.nodes:
                if any(connection.event_types for connection in node.connections):
                    node.wait_for(lambda _: _readings(nodes) > readings_before, timeout=20)
            print("  routes: followed")
        except AssertionError as error:
            faults.append(f"routes: {error}")
        process.stdin.write("\n")
        process.stdin.flush()
        if process.wait(60):
            faults.append(f"the program ended with {process.returncode}")
        for proxy in proxies.values():
            proxy.close()
        faults += [str(fault) for node in nodes.nodes for fault in node.malformed]
    return faults


def _readings(nodes: FakeCluster) -> int:
    """Return how often the driver has read the client routes."""
    return sum("client_routes" in (request.query or "") for request in nodes.requests)


def _asks_for_tablets(scylla: Scylla) -> bool:
    """Return True if the driver has enabled tablets in the STARTUP of a connection."""
    return any(
        name.startswith("TABLETS_ROUTING")
        for node in scylla.nodes
        for connection in node.connections
        for name in connection.options
    )


def main() -> int:
    """Run the programs, and return how many drivers send requests that are not expected."""
    parser = argparse.ArgumentParser(prog="python tests/oracle", description=__doc__)
    parser.add_argument("--count", type=int, default=2000, help="reads of each keyspace")
    options = parser.parse_args()
    wrong_count = 0
    with tempfile.TemporaryDirectory() as folder:
        for distribution, program, is_required in ORACLES:
            python = environment(folder, distribution)
            if python is None:
                print(f"pip cannot install {distribution}")
                wrong_count += is_required
                continue
            print(distribution)
            faults = run(python, program, options.count)
            if program in ROUTES:
                faults += run_routes(python, ROUTES[program])
            for fault in faults:
                print(f"  WRONG {fault}")
            wrong_count += bool(faults)
    return wrong_count


if __name__ == "__main__":
    sys.exit(main())
