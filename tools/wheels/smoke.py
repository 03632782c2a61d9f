"""Uses an installed wheel: imports every compiled module, and sends requests to a fake node.

python -I smoke.py IMPLEMENTATION

IMPLEMENTATION is "c" or "python": what `cassandra.implementation` must be.
"""

from __future__ import annotations

import asyncio
import binascii
import decimal
import importlib.util
import sys
import types
import uuid
from typing import Any


def use_modules(implementation: str) -> None:
    """Check that the driver uses the implementation that the wheel has."""
    import cassandra
    from cassandra import _impl

    if cassandra.implementation != implementation:
        sys.exit(f"it runs on {cassandra.implementation!r}: {cassandra.fallback_reason}")
    if implementation == "c":
        for name in _impl.TWINS:
            importlib.import_module(f"cassandra._accel.{name}")


def use_values() -> None:
    """Encode and decode a value of several types."""
    from cassandra import cqltypes

    values: list[tuple[str, Any]] = [
        ("Int32Type", -7),
        ("LongType", 1 << 40),
        ("IntegerType", -(1 << 100)),
        ("DoubleType", 2.5),
        ("UTF8Type", "ü"),
        ("UUIDType", uuid.UUID(int=1 << 100)),
        ("DecimalType", decimal.Decimal("-1.25")),
        ("BooleanType", True),
    ]
    for name, value in values:
        cql_type = getattr(cqltypes, name)
        result = cql_type.deserialize(cql_type.serialize(value, 5), 5)
        if result != value:
            sys.exit(f"{name}: {value!r} came back as {result!r}")


def use_requests() -> None:
    """Execute requests at a fake node, with both APIs."""
    from cassandra.aio import Cluster as AioCluster
    from cassandra.cluster import Cluster
    from cassandra.testing.fake import FakeNode

    with FakeNode() as node:
        with Cluster([node.address], port=node.port) as cluster:
            session = cluster.connect()
            version_row = session.execute("SELECT release_version FROM system.local").one()
            prepared = session.prepare("SELECT release_version FROM system.local")
            prepared_row = session.execute(prepared).one()
            if version_row is None or version_row != prepared_row:
                sys.exit(f"{version_row!r} was read, then {prepared_row!r}")

        async def read_with_asyncio() -> Any:
            async with AioCluster([node.address], port=node.port) as cluster:
                session = await cluster.connect()
                return (await session.execute("SELECT release_version FROM system.local")).one()

        if asyncio.run(read_with_asyncio()) != version_row:
            sys.exit("asyncio reads something else")


class Named(type):
    """A metaclass whose classes have every attribute. The value of an attribute is its name."""

    def __getattr__(cls, name: str) -> str:
        if name.startswith("__"):
            raise AttributeError(name)
        return name


class StandIn(types.ModuleType):
    """A module that can be imported in place of ``ssl`` or ``zlib``.

    Every attribute is a class. If its name contains "Error", it is an exception class.
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Named(name, (OSError,) if name.endswith("Error") else (), {})


def stand_in() -> None:
    """Put stand-ins in place of ssl and zlib if the interpreter lacks them.

    An interpreter from `tools/build_python VERSION-musl` has neither.
    """
    if importlib.util.find_spec("_ssl") is None:
        sys.modules["ssl"] = StandIn("ssl")
    if importlib.util.find_spec("zlib") is None:
        sys.modules["zlib"] = types.ModuleType("zlib")
        sys.modules["zlib"].__dict__.update(crc32=binascii.crc32, error=ValueError)


if __name__ == "__main__":
    stand_in()
    use_modules(sys.argv[1])
    use_values()
    use_requests()
