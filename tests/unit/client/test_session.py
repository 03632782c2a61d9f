"""A session checks its settings when they are set, in both APIs."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra import ConsistencyLevel, aio
from cassandra.cluster import Cluster, Session
from cassandra.query import dict_factory
from cassandra.testing.fake import FakeNode

WRONG = [
    ("default_fetch_size", "x", TypeError, "must be a number of rows or None, but is 'x'"),
    ("default_fetch_size", 2.5, TypeError, "must be a number of rows or None, but is 2.5"),
    ("default_timeout", "abc", TypeError, "must be a number of seconds or None, but is 'abc'"),
    ("row_factory", 5, TypeError, "must be a function of column names and rows, but is 5"),
    ("timestamp_generator", 5, ValueError, "must be callable, but is 5"),
    (
        "default_serial_consistency_level",
        ConsistencyLevel.ONE,
        ValueError,
        "must be SERIAL or LOCAL_SERIAL, but is ONE",
    ),
]


@pytest.mark.parametrize(("name", "value", "error", "message"), WRONG)
@pytest.mark.parametrize("session_class", [Session, aio.Session])
def test_impossible_values_are_refused_by_name(
    session_class: Any, name: str, value: Any, error: type[Exception], message: str
) -> None:
    session = session_class.__new__(session_class)
    with pytest.raises(error, match=f"^{name} {message}"):
        setattr(session, name, value)


@pytest.mark.filterwarnings("ignore:default_fetch_size=-1 means one page:RuntimeWarning")
async def test_values_that_cassandra_driver_accepts_are_accepted() -> None:
    def check(session: Any) -> None:
        for name, values in (
            ("default_fetch_size", (0, -1, None, True, 7)),
            ("default_timeout", (0, -1, None, 0.5)),
            ("row_factory", (dict_factory,)),
            ("timestamp_generator", (None, lambda: 7)),
            ("default_serial_consistency_level", (None, ConsistencyLevel.SERIAL)),
        ):
            for value in values:
                setattr(session, name, value)
                assert getattr(session, name) is value

    with FakeNode() as node:
        with Cluster([node.address], port=node.port) as cluster:
            check(cluster.connect())
        async with aio.Cluster([node.address], port=node.port) as other:
            check(await other.connect())


def test_literals_of_user_types_quote_the_field_names_that_need_it() -> None:
    class Address:
        def __init__(self, **fields: Any) -> None:
            vars(self).update(fields)

    names = ["street", "Zip Code", "order", 'a"b', "key"]
    fields = {"keyspace_name": "ks", "type_name": "address", "field_names": names}
    with FakeNode() as node:
        node.schema = {
            "system_schema.keyspaces": [{"keyspace_name": "ks", "replication": {}}],
            "system_schema.types": [{**fields, "field_types": ["text"] + ["int"] * 4}],
        }
        with Cluster([node.address], port=node.port) as cluster:
            session = cluster.connect()
            cluster.register_user_type("ks", "address", Address)
            values = dict(zip(names, ("x", 5, 1, 2, 3), strict=True))
            session.execute("INSERT %s", (Address(**values),))
            literal = """{street : 'x' , "Zip Code" : 5 , "order" : 1 , "a""b" : 2 , key : 3}"""
            assert node.queries()[-1].query == f"INSERT {literal}"
