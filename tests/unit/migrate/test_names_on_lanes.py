"""The check reports the same findings with the Python and with the compiled implementation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Implementation
from tests.processes import run_python
from tests.unit.migrate.programs import CASES, CLEAN, source_of

# These classes have compiled bases or compiled methods.
CLASSES = {
    "cassandra.cluster": ("Cluster", "Session", "ResponseFuture", "ResultSet", "ExecutionProfile"),
    "cassandra.metadata": ("Metadata", "TableMetadata"),
    "cassandra.policies": ("TokenAwarePolicy", "DCAwareRoundRobinPolicy", "RackAwareRoundRobinPolicy"),  # noqa: E501
    "cassandra.pool": ("Host",),
    "cassandra.query": ("PreparedStatement", "BoundStatement", "BatchStatement", "SimpleStatement"),
}  # fmt: skip
# Attributes that exist in at most one of the implementations.
ATTRIBUTES = (
    "_child", "_set_x", "_query", "_lock", "_table", "_is_lwt", "bind_plan", "_values", "_router",
    "__reduce_cython__", "__setstate_cython__", "__pyx_vtable__", "_engine", "_settings_at_hand",
)  # fmt: skip

# Prints the findings for the programs in a folder.
SHOW = """
import json, os, sys
from pathlib import Path
os.chdir(sys.argv[1])
import cassandra
from cassandra.migrate.check import check
report = check([Path()])
findings = [
    (finding.location, finding.line, finding.severity, finding.code) for finding in report.findings
]
unread = [str(file) for file in report.unread]
print(json.dumps([cassandra.implementation, findings, unread]))
"""


@pytest.mark.slow
def test_both_implementations_have_the_same_findings(
    compiled: Implementation, tmp_path: Path
) -> None:
    """The check has the same findings in a process of each implementation.

    It reads all example programs, and functions that read attributes of compiled classes.
    """
    # Code objects of Cython name source files such as this one, which a clone of the repository
    # contains.
    cython_source = tmp_path / "cassandra" / "_accel" / "plans.pyx"
    cython_source.parent.mkdir(parents=True)
    cython_source.write_text("cimport cython\n")
    for number, text in enumerate([*(text for _, text, _ in CASES), CLEAN]):
        (tmp_path / f"program_{number}.py").write_text(source_of(text))
    # For each class, write a function that reads all ATTRIBUTES of an instance.
    for module, names in CLASSES.items():
        lines = [f"from {module} import {', '.join(names)}"]
        for name in names:
            lines += [
                f"def of_{name}(x: {name}):",
                *(f"    x.{attribute}" for attribute in ATTRIBUTES),
            ]
        (tmp_path / f"{module}.py").write_text("\n".join(lines))
    code = SHOW.replace("sys.argv[1]", repr(str(tmp_path)))
    reports = {}
    for implementation in ("c", "python"):
        process = run_python(code, {"CASS_DRIVER_IMPL": implementation})
        assert process.returncode == 0, process.stderr
        name, *reports[implementation] = json.loads(process.stdout)
        assert name == implementation
    assert reports["c"] == reports["python"]
    findings, unread = reports["c"]
    assert not unread
    # The report contains the attributes that the generated functions read.
    assert [line for *_, line in findings if line.endswith("._set_x")]
