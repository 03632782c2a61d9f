"""Install other drivers, run them against fake ScyllaDB nodes, and judge what arrives."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

if not __package__:  # run as a folder: behind what is installed, whose modules are compiled
    sys.path.append(str(Path(__file__).resolve().parents[2]))

from cassandra.testing.fake import FakeCluster, Scylla
from tests.proxies import behind

PROGRAMS = Path(__file__).parent / "programs"
# Distribution, program, and if it has to install: a driver without a wheel for this Python may not.
ROUTES = {"scylla_driver.py": "scylla_driver_routes.py"}
ORACLES = [("scylla-driver", "scylla_driver.py", True), ("scyllapy", "scyllapy.py", False)]


def environment(folder: str, distribution: str) -> str | None:
    """Make an environment with one driver; return its Python, or None if it does not install."""
    place = Path(folder) / distribution
    venv.create(place, with_pip=True)
    python = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    installed = subprocess.run(
        [python, "-I", "-m", "pip", "install", "-q", "--only-binary=:all:", distribution],
        check=False,
    )
    return str(python) if installed.returncode == 0 else None


def run(python: str, program: str, count: int) -> list[str]:
    """Run a program against a cluster of its own; return what was wrong."""
    faults = []
    with FakeCluster(3, scylla=Scylla([7, 5, 8])) as nodes:
        scylla = nodes.scylla
        for keyspace, tablets in (("vn", None), ("tb", 16)):
            scylla.keyspace(keyspace, replication_factor=2, tablets=tablets is not None)
            scylla.table(keyspace, "t", tablets=tablets)
        process = started(python, program, nodes, str(count))
        assert process.stdin is not None
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("done"):
                found = scylla.arrivals
                keyspace = line.split()[1]
                print(f"  {keyspace}: {found}")
                # A driver that does not ask for tablets cannot know them.
                knows = keyspace != "tb" or _asks_for_tablets(scylla)
                if found.counted != count or (knows and found.right != count):
                    faults.append(f"{keyspace}: {found}")
                if not knows:
                    print("  it does not ask for tablets")
            scylla.forget_arrivals()
            process.stdin.write("\n")
            process.stdin.flush()
        if process.wait(60):
            faults.append(f"it ended with {process.returncode}")
        faults += [str(fault) for node in nodes.nodes for fault in node.malformed]
    return faults


def started(
    python: str, program: str, nodes: FakeCluster, *arguments: str
) -> subprocess.Popen[str]:
    """Start a program that connects to the nodes."""
    place = [",".join(nodes.contact_points), str(nodes.port)]
    return subprocess.Popen(
        [python, str(PROGRAMS / program), *place, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # Its own packages alone: this project has a package of the same name.
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        cwd=tempfile.gettempdir(),
    )


def run_routes(python: str, program: str) -> list[str]:
    """Run a program that knows nodes by their routes; return what was wrong."""
    faults = []
    with FakeCluster(3, scylla=Scylla(3)) as nodes:
        proxies = behind(nodes)
        process = started(python, program, nodes)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        try:
            for node in nodes.nodes:
                node.wait_for(lambda one: proxies[one.host_id].now == 3, timeout=20)
            asked = _readings(nodes)
            nodes.scylla.route("c1", nodes[0].host_id, "127.0.0.1", 1)
            for node in nodes.nodes:
                if any(one.event_types for one in node.connections):
                    node.wait_for(lambda _: _readings(nodes) > asked, timeout=20)
            print("  routes: followed")
        except AssertionError as error:
            faults.append(f"routes: {error}")
        process.stdin.write("\n")
        process.stdin.flush()
        if process.wait(60):
            faults.append(f"it ended with {process.returncode}")
        for proxy in proxies.values():
            proxy.close()
        faults += [str(fault) for node in nodes.nodes for fault in node.malformed]
    return faults


def _readings(nodes: FakeCluster) -> int:
    return sum("client_routes" in (request.query or "") for request in nodes.requests)


def _asks_for_tablets(scylla: Scylla) -> bool:
    options = [one.options for node in scylla.nodes for one in node.connections]
    return any(name.startswith("TABLETS_ROUTING") for own in options for name in own)


def main() -> int:
    """Return how many drivers disagree with the fake nodes."""
    parser = argparse.ArgumentParser(prog="python tests/oracle", description=__doc__)
    parser.add_argument("--count", type=int, default=2000, help="reads of each keyspace")
    options = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for distribution, program, is_needed in ORACLES:
            python = environment(folder, distribution)
            if python is None:
                print(f"{distribution} does not install here")
                wrong += is_needed
                continue
            print(distribution)
            faults = run(python, program, options.count)
            if program in ROUTES:
                faults += run_routes(python, ROUTES[program])
            for fault in faults:
                print(f"  WRONG {fault}")
            wrong += bool(faults)
    return wrong


if __name__ == "__main__":
    sys.exit(main())
