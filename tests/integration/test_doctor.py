"""`python -m cassandra.doctor` and `Cluster.report` describe a real node."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cassandra.cluster import Cluster
from cassandra.testing import LocalCluster

pytestmark = pytest.mark.integration


def test_the_doctor_finds_no_problem_in_a_good_node(node: LocalCluster, tmp_path: Path) -> None:
    """For a healthy node, the doctor exits with 0 and reports each check, but no problem."""
    (host,) = node.contact_points
    process = subprocess.run(
        [sys.executable, "-m", "cassandra.doctor", host, "--port", str(node.port), "--json",
         "--timeout", "20"],
        cwd=tmp_path, capture_output=True, text=True, timeout=180,
    )  # fmt: skip
    assert process.returncode == 0, process.stdout + process.stderr
    findings = json.loads(process.stdout)["findings"]
    report = "\n".join(f"{finding['subject']}: {finding['text']}" for finding in findings)
    assert "problem" not in {finding["level"] for finding in findings}, report
    for phrase in ("accepts connections", "is up and connected", "all hosts agree on version",
                   "its clock is", "median of 10", "tokens"):  # fmt: skip
        assert phrase in report


def test_the_report_of_a_real_cluster(node: LocalCluster) -> None:
    """`Cluster.report` has the keyspaces of the sessions, and the state of each host."""
    with Cluster(node.contact_points, port=node.port) as cluster:
        cluster.connect("system")
        report = cluster.report()
    assert report.sessions == ("system",)
    assert report.cluster is not None
    (host,) = report.hosts
    assert (host.state, host.is_control) == ("up", True)
    assert host.version is not None
    assert host.version == node.version
