"""Test the table extensions for which applications register a class."""

from __future__ import annotations

from typing import Any

from cassandra.cluster import Cluster
from cassandra.metadata import RegisteredTableExtension, TableMetadata
from cassandra.testing.fake import FakeNode
from tests.unit.metadata.schema.rows import schema


def test_registered_extensions_add_cql_after_their_table() -> None:
    """A registered extension adds its CQL after the CQL of the table."""

    class Marked(RegisteredTableExtension):  # type: ignore[misc]
        name = "marked"

        @classmethod
        def after_table_cql(cls, table_meta: Any, ext_key: str, ext_blob: bytes) -> str:
            return f"MARK {table_meta.name} {ext_key} {ext_blob.decode()};"

    with FakeNode() as node:
        node.schema = schema("ks", tables=1)
        node.schema["system_schema.tables"][0]["extensions"] = {
            "marked": b"red", "DSE_RLACA": b"id", "other": b"x",
        }  # fmt: skip
        with Cluster([node.address], port=node.port) as cluster:
            cluster.connect()
            cql = cluster.metadata.keyspaces["ks"].tables["t0"].export_as_string()
    assert "\n\nMARK t0 marked red;" in cql
    # DSE_RLACA is an extension for row-level access control, which the driver itself knows.
    assert "\n\nRESTRICT ROWS ON ks.t0 USING id;" in cql
    # The base class must add no statement.
    assert RegisteredTableExtension.after_table_cql(None, "x", b"") is None
    # The export of a table without extensions has no further statements.
    assert TableMetadata("ks", "t").export_as_string().endswith(";")
