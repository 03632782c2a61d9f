"""`Scopes` finds the values of expressions and attributes through a program's assignments."""

from __future__ import annotations

import ast
import textwrap

import pytest

from cassandra.migrate.scopes import (
    CLUSTER,
    HOST,
    KEYSPACE,
    SESSION,
    Instance,
    Method,
    Named,
    Scopes,
    Value,
)


def value_of_last(program_text: str) -> Value:
    """Return the value of the last expression in a program."""
    tree = ast.parse(textwrap.dedent(program_text))
    scopes = Scopes(tree)
    expressions = [node for node in ast.walk(tree) if isinstance(node, ast.Expr)]
    last = max(expressions, key=lambda node: node.lineno)
    scopes_of_last = [
        scope
        for node, scope in scopes.by_node.items()
        if any(child is last for child in ast.walk(node))
    ]
    return scopes.value(last.value, scopes_of_last[-1])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import cassandra.cluster\ncassandra.cluster.Cluster", Named(CLUSTER)),
        ("import cassandra.cluster as cc\ncc.Cluster()", Instance(CLUSTER)),
        ("from cassandra.cluster import Cluster as C\nC()", Instance(CLUSTER)),
        ("from cassandra.cluster import *\nCluster()", Instance(CLUSTER)),
        ("from os import *\nfrom .cassandra import *\nCluster()", None),
        ("from cassandra import cluster\ncluster.Cluster().connect()", Instance(SESSION)),
        ("from cassandra.cluster import Cluster\nCluster().connect().execute",
         Method(SESSION, "execute")),
        ("from cassandra.cluster import Cluster\nwith Cluster() as c, c.connect() as s:\n    s",
         Instance(SESSION)),
        ("from cassandra.cluster import Session\ndef f(s: 'Session'):\n    s", Instance(SESSION)),
        ("from typing import Optional\nfrom cassandra.cluster import Session\n"
         "def f(s: Optional[Session] = None):\n    s", Instance(SESSION)),
        ("from cassandra.cluster import Cluster\na, b = 1, Cluster()\nb", Instance(CLUSTER)),
        ("from cassandra.cluster import Cluster\nif (c := Cluster()):\n    c", Instance(CLUSTER)),
        # An earlier assignment of None to the name is ignored.
        ("from cassandra.cluster import Cluster\nc = None\ndef f():\n    global c\n"
         "    c = Cluster()\nc", Instance(CLUSTER)),
        ("try:\n    from cassandra.cluster import Cluster\nexcept ImportError:\n    Cluster = None\n"  # noqa: E501
         "Cluster", Named(CLUSTER)),
        ("from cassandra.cluster import Cluster\nfor h in Cluster().metadata.all_hosts():\n    h",
         Instance(HOST)),
        ("from cassandra.cluster import Cluster\nfor k in Cluster().metadata.keyspaces:\n    k", None),  # noqa: E501
        ("from cassandra.cluster import Cluster\nh = Cluster().metadata.all_hosts()\n"
         "for i, one in enumerate(sorted(h)):\n    one", Instance(HOST)),
        ("from cassandra.cluster import Cluster\nk = Cluster().metadata.keyspaces\n"
         "for a, b in k.items():\n    b", Instance(KEYSPACE)),
        ("from cassandra.cluster import Cluster\nk = Cluster().metadata.keyspaces\n"
         "for a, b in k.items():\n    a", None),
        ("from functools import partial\nfrom cassandra.cluster import Cluster\n"
         "partial(Cluster, port=1)()", Instance(CLUSTER)),
        ("from cassandra.cluster import Cluster\nclass A(Cluster): ...\nclass B(A): ...\n"
         "B().connect()", Instance(SESSION)),
        ("from cassandra.cluster import Cluster\nclass A(Cluster):\n"
         "    def connect(self):\n        return 1\nclass B(A): ...\nB().connect()", None),
        ("from cassandra.cluster import Cluster\nfrom a import M\nclass A(M, Cluster): ...\n"
         "A().connect()", None),
        # The value is unknown, because assignments differ, or because an assigned value is unknown.
        ("from cassandra.cluster import Cluster\nc = Cluster()\nc = f()\nc", None),
        ("from cassandra.cluster import Cluster\nc = Cluster()\nfor c in d: pass\nc", None),
        ("from cassandra.cluster import Cluster\nc = Cluster()\nc += 1\nc", None),
        ("from cassandra.cluster import Cluster\nc = Cluster()\n[c for c in d]\nc", None),
        ("from cassandra.cluster import Cluster\nc = Cluster()\ndef f(c):\n    c", None),
        ("from cassandra.cluster import Cluster\nc = Cluster()\n(lambda c: c)\nc",
         Instance(CLUSTER)),
        ("from cassandra.cluster import Cluster\nc = Cluster()\ntry:\n    pass\n"
         "except E as c:\n    c", None),
        ("from cassandra.cluster import Cluster\n*c, d = Cluster()\nc", None),
        ("from .cassandra.cluster import Cluster\nCluster()", None),
        ("from cassandra.cluster import Cluster\n@cached\ndef c():\n    return Cluster()\nc()",
         None),
        ("from cassandra.cluster import Cluster\ndef c():\n    yield Cluster()\nc()", None),
        ("def a():\n    return b()\ndef b():\n    return a()\na()", None),
        ("a = b\nb = a\na", None),
    ],
)  # fmt: skip
def test_values_of_expressions(text: str, expected: Value) -> None:
    """`Scopes` finds the value of each expression; None means that the value is unknown."""
    assert value_of_last(text) == expected


def test_an_attribute_of_self_is_known_if_it_has_one_assignment() -> None:
    """`self.cluster` is known if it has exactly one assignment.

    `cluster` alone is a name in the class body, which methods do not see.
    """
    program = """
        from cassandra.cluster import Cluster

        class A:
            cluster = Cluster()
            other = Cluster()

            def change(self):
                self.other = thing()
                self.session = self.cluster.connect()

            def use(self):
                {}
    """
    assert value_of_last(program.format("self.session")) == Instance(SESSION)
    assert value_of_last(program.format("self.other")) is None
    assert value_of_last(program.format("cluster")) is None
    assert value_of_last(program.format("self.nothing")) is None
