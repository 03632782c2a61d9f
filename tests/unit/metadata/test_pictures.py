"""Test the HTML that notebooks show for hosts, keyspaces and tables.

The HTML must be complete, escaped, and at most a page long.
"""

from __future__ import annotations

import uuid
from html.parser import HTMLParser

from cassandra.engine.endpoint import DefaultEndPoint
from cassandra.metadata import KeyspaceMetadata
from cassandra.metadata.cluster_metadata import Metadata
from cassandra.metadata.host import Host
from cassandra.metadata.pictures import MOST_ROWS, table_of
from tests.unit.metadata.schema.test_tables import table

# The tags of HTML that have no closing tag.
VOID = {"br"}


class Page(HTMLParser):
    """An HTML parser that collects the strings, and checks that tags are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_a_host_is_a_row_which_is_coloured_if_the_host_is_down() -> None:
    """The HTML of a host is a row of a table, with a color if the host is down."""
    host = Host(DefaultEndPoint("10.0.0.1", 9042), host_id=uuid.UUID(int=1))
    host.set_location_info("dc<1>", None)
    host.set_up()
    html = host._repr_html_()
    expected = {"10.0.0.1:9042", "up", "dc<1>", "-", str(uuid.UUID(int=1))}
    assert expected <= set(Page(html).texts)
    assert "color" not in html
    host.set_down()
    assert "color" in host._repr_html_()


def test_metadata_is_its_hosts_and_keyspaces() -> None:
    """The HTML of metadata has the cluster's name, hosts and keyspaces."""
    metadata = Metadata()
    metadata._replace_hosts([Host(DefaultEndPoint(f"10.0.0.{n}", 9042)) for n in (2, 1)])
    metadata.cluster_name = "a & b"
    texts = Page(metadata._repr_html_()).texts
    assert texts[0] == "a & b"
    assert texts.index("10.0.0.1:9042") < texts.index("10.0.0.2:9042")
    assert "keyspace" in texts


def test_a_keyspace_is_its_tables_and_a_table_its_columns() -> None:
    """The HTML of a keyspace has its tables, and the HTML of a table has its columns and CQL."""
    metadata = table()
    keyspace = KeyspaceMetadata("k<s>", True, "SimpleStrategy", {"replication_factor": "1"})
    keyspace.tables = {metadata.name: metadata}
    texts = Page(keyspace._repr_html_()).texts
    assert texts[0] == "k<s>"
    assert {metadata.name, "table", "CQL"} <= set(texts)
    assert any("CREATE KEYSPACE" in text for text in texts)
    texts_of_table = Page(metadata._repr_html_()).texts
    assert set(metadata.columns) <= set(texts_of_table)
    assert "partition key" in texts_of_table
    assert any(text.startswith("CREATE TABLE") for text in texts_of_table)


def test_rows_beyond_the_maximum_are_counted() -> None:
    """The HTML of a table has at most MOST_ROWS rows, followed by the number of other rows."""
    texts = Page(table_of(["n"], [[n] for n in range(MOST_ROWS + 5)])).texts
    assert "(5 more)" in texts
    assert str(MOST_ROWS - 1) in texts
    assert str(MOST_ROWS) not in texts
