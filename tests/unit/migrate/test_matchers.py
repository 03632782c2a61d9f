"""Test code for which no matcher may report a finding.

`test_table` has code with findings.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.migrate.programs import checked

# Programs without a finding, by a description.
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
    "an attribute that the program has put there": ".cluster.owner = 1\nprint(cluster.owner)",
    "attributes of a class of the program's own": (
        "from cassandra.cluster import Cluster\nfrom other import Mixin\n"
        "class Mine(Cluster):\n    def f(self):\n        return self.given_elsewhere\n"
        "Mine().of_a_plugin\nMine().protocl_version = 4\n"
        "class Mixed(Mixin, Cluster): ...\nMixed().connect()._pools\nMixed().more"
    ),
    "attributes of a policy, which may be any": (
        "from cassandra.policies import LoadBalancingPolicy\n"
        "def f(policy: LoadBalancingPolicy):\n    return policy.local_rack_of_mine"
    ),
    "a mock in place of a session": (
        "from cassandra.cluster import Session\ndef test(session: Session):\n"
        "    session.assert_not_called()\n    session.mock_calls\n    session.return_value"
    ),
    "attributes that are settings, or like none": (
        ".cluster.connect_timeout = 3\nsession.default_timeout = 3\ncluster.timeout = 3\n"
        "cluster.scylla_cloud = None\ncluster.monitor_reporting_enabled = False\n"
        "cluster.protocol_version = 4\nsession.row_factory, b = 1, 2"
    ),
    "the arguments of a class of the program's own": (
        "from cassandra.cluster import Cluster\n"
        "class Mine(Cluster):\n    def __init__(self, **given):\n"
        "        given.pop('foo')\n        super().__init__(**given)\n"
        "class Taking(Cluster):\n    def __init__(self, foo, **given):\n"
        "        super().__init__(protocol_version=4, **given)\n"
        "Mine(foo=3, protocol_version=2)\nTaking(foo=3)"
    ),
    "a parameter that is None by default": (
        "from cassandra.cluster import Cluster\ndef f(*, scylla_cloud=None, port=9042):\n"
        "    Cluster(scylla_cloud=scylla_cloud, port=port)"
    ),
    "arguments at unknown positions": (
        "from cassandra.cluster import Cluster\nimport functools\nCluster(*a, 2, 2)\n"
        "functools.partial(Cluster, [])(9042, None, None, None, None, None, None, False, None, "
        "None, None, 1, 2)"
    ),
    "a method of the program's own": (
        "import cassandra\n\ndef execute_graph(): ...\n\nx.execute_graph()"
    ),
    "a function of a name that methods have": "import cassandra\nborrow_connection()",
    "modules of programs that use no driver": "import eventlet\neventlet.monkey_patch()",
    "eventlet with uvloop": "import eventlet, uvloop, cassandra\neventlet.monkey_patch()",
    "a requirement of others": "REQUIRED = ['cassandra-driver-tools>=1', 'my-cassandra-driver>=2']",
    "a class of the program": "class Connection: ...\n\nclass Mine(Connection): ...",
    "sets and lists under one name": (
        "from cassandra.cqlengine import columns as c\nfrom cassandra.cqlengine.models import Model\n"  # noqa: E501
        "class A(Model):\n    x = c.List(c.Text)\n"
        "class B(Model):\n    x = c.Set(c.Text)\n"
        "A.objects.update(x__remove=['a'])"
    ),
}


@pytest.mark.parametrize("text", QUIET.values(), ids=QUIET)
def test_no_finding_for(text: str, tmp_path: Path) -> None:
    """`check` has no finding for a program in `QUIET`."""
    report = checked(tmp_path, text)
    assert [finding.code for finding in report.findings + report.unread] == []  # type: ignore[union-attr]
