"""The command lines that start a Cassandra node, and nodetool, with Java."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from urllib.parse import quote

from cassandra.testing.errors import LocalClusterError
from cassandra.testing.java import JavaRuntime
from cassandra.testing.naming import PACKAGE

# Internal packages of Java that Cassandra and nodetool use; see `_opened`.
_EXPORTS = (
    "java.base/jdk.internal.misc",
    "java.base/jdk.internal.ref",
    "java.base/java.lang.ref",
    "java.base/sun.nio.ch",
    "java.management.rmi/com.sun.jmx.remote.internal.rmi",
    "java.rmi/sun.rmi.registry",
    "java.rmi/sun.rmi.server",
    "java.sql/java.sql",
    "jdk.unsupported/sun.misc",
)
_OPENS = (
    "java.base/java.lang",
    "java.base/java.lang.module",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.util",
    "java.base/java.nio",
    "java.base/java.net",
    "java.base/java.time",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/java.util.concurrent.locks",
    "java.base/sun.nio.ch",
    "java.base/jdk.internal.loader",
    "java.base/jdk.internal.ref",
    "java.base/jdk.internal.reflect",
    "java.base/jdk.internal.math",
    "java.base/jdk.internal.module",
    "java.base/jdk.internal.util.jar",
    "jdk.management/com.sun.management.internal",
)
# Flags that let a node start fast and stay small: the nodes of a test do little, and several nodes
# share one machine.
_FLAGS = (
    "-ea",
    # When root runs Cassandra, it locks the whole initial heap in memory, so keep the heap small.
    "-Xms48M",
    "-Xss384k",
    # The simplest collector and compiler start fastest, and need the fewest threads.
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:MaxDirectMemorySize=256M",
    "-XX:+ExitOnOutOfMemoryError",
    # Do not write a file of statistics into the temporary directory.
    "-XX:+PerfDisableSharedMem",
    "-Xlog:disable",
    "-Xlog:all=error:stderr",
    "-Djdk.attach.allowAttachSelf=true",
    # All addresses of a cluster are 127.0.x.y.
    "-Djava.net.preferIPv4Stack=true",
    "-Djava.rmi.server.hostname=127.0.0.1",
    "-Djava.awt.headless=true",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.maxOrder=11",
    "-Dio.netty.eventLoopThreads=2",
    "-Dchronicle.announcer.disable=true",
    "-Dchronicle.analytics.disable=true",
    "-Djdk.nio.maxCachedBufferSize=1048576",
    "-Dcassandra-foreground=yes",
)
# System properties, without the prefix "cassandra.". By default, a node waits at several points of
# its start to protect large clusters. Nodes on one machine do not need these waits.
_PROPERTIES = {
    # Must not be 0: with 0, a node that has not gossiped yet would count as removed at once.
    "gossip_quarantine_delay_ms": "20000",
    "skip_wait_for_gossip_to_settle": "0",
    "gossip_settle_min_wait_ms": "0",
    "gossip_settle_interval_ms": "100",
    # Must not be 0: with 0, the node would retry in a busy loop.
    "superuser_setup_delay_ms": "100",
    "broadcast_interval_ms": "1000",
    "migration_delay_ms": "1000",
    "shutdown_announce_in_ms": "200",
    # Allows a node to join while another node is down or joining.
    "consistent.rangemovement": "false",
    "snapshot.ttl_cleanup_initial_delay_seconds": "600",
    # Set this to a fixed value: measuring it would take a second of each start.
    "memtable.row_overhead_size": "180",
    "memtable_row_overhead_computation_step": "1000",
    "test.ignore_sigar": "true",
    "disable_tcactive_openssl": "true",
}
# How many milliseconds a node waits for gossip before it joins. Gossip on one machine is immediate,
# so a node with given tokens does not wait.
_RING_DELAY_MS = 0
# A bootstrapping node must know the ring before it chooses its tokens, so it has to wait. 500 ms
# were not enough.
_RING_DELAY_BOOTSTRAP_MS = 3000


def check_heap(heap: object) -> str:
    """Return the maximum heap of a node, after checking it.

    :param heap: a size in Java's notation, such as "512M".
    :raises ValueError: if `heap` is not a size, or is less than the initial heap.
    """
    match = re.fullmatch(r"([1-9]\d*)([kKmMgG])", heap) if isinstance(heap, str) else None
    if match is None:
        raise ValueError(f"heap must be a number with a unit, as '512M' or '2G', but is {heap!r}")
    if int(match[1]) * _UNITS[match[2].upper()] < _LEAST_HEAP:
        raise ValueError(f"heap must be at least '{_LEAST_HEAP}M', but is {heap!r}")
    return match[0]


# Units of Java's sizes, in MiB.
_UNITS = {"K": 1 / 1024, "M": 1, "G": 1024}
_LEAST_HEAP = 48  # MiB: the initial heap, -Xms48M of `_FLAGS`


def _opened() -> list[str]:
    """Return the flags that let Cassandra and nodetool use internal packages of Java."""
    return [
        *(part for name in _EXPORTS for part in ("--add-exports", f"{name}=ALL-UNNAMED")),
        *(part for name in _OPENS for part in ("--add-opens", f"{name}=ALL-UNNAMED")),
    ]


def _class_path(jars: Sequence[str]) -> list[str]:
    return ["-cp", os.pathsep.join(jars)]


def _runtime_flags(java: JavaRuntime) -> list[str]:
    """Return the flags that Cassandra needs only on some versions of Java."""
    # Cassandra installs a security manager. Since version 18, Java refuses that without this flag.
    return ["-Djava.security.manager=allow"] if java.major >= 18 else []


def daemon_command(
    java: JavaRuntime,
    jars_directory: str,
    *,
    directory: str,
    heap: str,
    jmx_port: int,
    auth_replicas: int,
    bootstrap: bool,
    archive: Sequence[str],
) -> list[str]:
    """Return the command that runs the node whose files are in `directory`.

    :param auth_replicas: the replication factor of the keyspace system_auth.
    :param bootstrap: True if the node joins a running cluster.
    :param archive: the flags that use or create a class-data archive.
    """
    jars = sorted(glob.glob(os.path.join(jars_directory, "*.jar")))
    # Cassandra measures the size of objects with this agent.
    agents = [jar for jar in jars if os.path.basename(jar).startswith("jamm-")]
    if not agents:
        raise LocalClusterError(
            f"{jars_directory} holds no jamm-*.jar: remove the directory, and it is fetched again"
        )
    # System properties of Cassandra, without the prefix "cassandra.".
    properties = {
        **_PROPERTIES,
        "jmx.local.port": str(jmx_port),
        "ring_delay_ms": str(_RING_DELAY_BOOTSTRAP_MS if bootstrap else _RING_DELAY_MS),
        "system_auth.default_rf": str(auth_replicas),
        "config": f"{_url_of(directory)}/cassandra.yaml",
        "logdir": f"{directory}/logs",
        "storagedir": f"{directory}/data",
    }
    return [
        java.executable,
        f"-javaagent:{agents[0]}",
        *_FLAGS,
        *_runtime_flags(java),
        f"-Xmx{heap}",
        *archive,
        *_opened(),
        *(f"-Dcassandra.{name}={value}" for name, value in properties.items()),
        f"-Dcassandra-rackdc.properties={_url_of(directory)}/cassandra-rackdc.properties",
        f"-Dlogback.configurationFile={directory}/logback.xml",
        f"-Djava.io.tmpdir={directory}/tmp",
        f"-Djna.tmpdir={directory}/tmp",
        f"-Duser.home={directory}",
        *_class_path(jars),
        "org.apache.cassandra.service.CassandraDaemon",
    ]


def _url_of(directory: str) -> str:
    """Return the URL of a directory, in which some characters, such as ``%``, are escaped."""
    return f"file://{quote(directory)}"


def nodetool_command(
    java: str, jars_directory: str, *, directory: str, jmx_port: int, arguments: Sequence[str]
) -> list[str]:
    """Return the command that runs nodetool for the node with this JMX port.

    The folder ``tools`` of `directory` must contain the class that
    :func:`cassandra.testing.naming.write_class` writes.
    """
    # Start a small JVM that starts quickly, because nodetool runs only for a moment.
    return [
        java,
        "-Xmx128M",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-Xlog:disable",
        "-Xlog:all=error:stderr",
        *_opened(),
        # Since 17.0.3, Java rejects the form of JMX address that Cassandra's tools use.
        "-Dcom.sun.jndi.rmiURLParsing=legacy",
        f"-Dcassandra.storagedir={directory}/data",
        f"-Dcassandra.logdir={directory}/logs",
        f"-Dlogback.configurationFile={directory}/logback-tools.xml",
        f"-Djava.io.tmpdir={directory}/tmp",
        f"-Duser.home={directory}",
        f"-Djava.naming.factory.url.pkgs={PACKAGE}",
        *_class_path(
            [*sorted(glob.glob(os.path.join(jars_directory, "*.jar"))), f"{directory}/tools"]
        ),
        "org.apache.cassandra.tools.NodeTool",
        "-h",
        "127.0.0.1",
        "-p",
        str(jmx_port),
        *arguments,
    ]
