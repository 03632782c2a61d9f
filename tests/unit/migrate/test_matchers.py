"""Cases in which a matcher says nothing. `test_table` has those in which each says something."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.migrate.programs import checked

QUIET = {
    "a name that the program has put there": (
        "import cassandra.cluster as cc\ncc.nothing = 1\nprint(cc.nothing)"
    ),
    "a private attribute that the program has put there": ".session._own = 1\nsession._own",
    "a private attribute that is there": ".cluster._lock",
    "a special method": ".session.__nothing__",
    "another value": (
        "from cassandra.cluster import Cluster\nCluster(protocol_version=True)\n"
        "Cluster(protocol_version=VERSION)\nCluster(metrics_enabled=CHOSEN)"
    ),
    "a call with unpacked arguments": ".session.execute(*everything)",
    "a method of the program's own": (
        "import cassandra\n\ndef execute_graph(): ...\n\nx.execute_graph()"
    ),
    "a function of a name that methods have": "import cassandra\nborrow_connection()",
    "modules of programs that use no driver": "import eventlet\neventlet.monkey_patch()",
    "eventlet with uvloop": "import eventlet, uvloop, cassandra\neventlet.monkey_patch()",
    "a requirement of others": "REQUIRED = ['cassandra-driver-tools>=1', 'my-cassandra-driver>=2']",
    "a class of the program": "class Connection: ...\n\nclass Mine(Connection): ...",
    "sets and lists under one name": (
        "from cassandra.cqlengine import columns as c\nfrom cassandra.cqlengine.models import Model\n"
        "class A(Model):\n    x = c.List(c.Text)\n"
        "class B(Model):\n    x = c.Set(c.Text)\n"
        "A.objects.update(x__remove=['a'])"
    ),
}


@pytest.mark.parametrize("text", QUIET.values(), ids=QUIET)
def test_nothing_is_said_of(text: str, tmp_path: Path) -> None:
    report = checked(tmp_path, text)
    assert [one.code for one in report.findings + report.unread] == []  # type: ignore[union-attr]
