"""Test the row parsers ListParser, LazyParser and NumpyParser, which cassandra-driver also has."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.cluster import Cluster, Session
from cassandra.protocol import LazyParser, ListParser, NumpyParser, cython_protocol_handler
from cassandra.query import tuple_factory
from cassandra.testing.fake import FakeNode, rows


@pytest.fixture
def session() -> Any:
    """Yield a session of a node that responds to "SELECT v" with the rows 5 and 6."""
    with FakeNode() as node:
        node.prime("SELECT v", rows([("v", "int")], [(5,), (6,)]))
        with Cluster([node.address], port=node.port) as cluster:
            yield cluster.connect()


@pytest.mark.parametrize(
    "parser", [ListParser(), LazyParser(), NumpyParser()], ids=lambda parser: type(parser).__name__
)
def test_parsers_of_rows(session: Session, parser: Any) -> None:
    """A handler that is made of a parser returns the rows of a page in the parser's form."""
    session.client_protocol_handler = cython_protocol_handler(parser)
    session.row_factory = tuple_factory
    page_rows = list(session.execute("SELECT v").current_rows)
    if isinstance(parser, NumpyParser):
        assert [list(column) for column in page_rows[0].values()] == [[5, 6]]
    else:
        assert page_rows == [(5,), (6,)]
