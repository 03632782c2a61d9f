"""Tests that the driver reads time only from the engine's environment or `cassandra._clocks`.

Simulations replace both, so that a seed decides all times. If a module read another clock, a
simulated run could not be repeated.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.house.test_layers import TREES

# Use the folder in the clone: an installed package does not have the sources of the compiled
# modules.
ACCEL = Path(__file__).parents[2] / "cassandra" / "_accel"

# These functions read a clock of the system, by the name of the module or class that has them.
READERS = {
    "time": {
        "clock_gettime", "clock_gettime_ns", "ctime", "gmtime", "localtime", "monotonic",
        "monotonic_ns", "perf_counter", "perf_counter_ns", "time", "time_ns",
    },
    "datetime": {"now", "today", "utcnow"},
    "date": {"today"},
    "uuid": {"uuid1"},
}  # fmt: skip

# These modules may read the clock of the system, each with the reason.
REASONS = {
    "cassandra._clocks": "the one place for those without an engine",
    "cassandra._compat.connection_parts": "timers of cassandra-driver that nothing here starts",
    "cassandra._compat.stats": "times calls of the application, for cassandra-driver's metrics",
    "cassandra._imports": "waits for another thread of the interpreter, in real time",
    "cassandra.client.cloud": "downloads before there is a loop; certificates expire in real time",
    "cassandra.clock": "the default, which a simulated cluster replaces",
    "cassandra.cqlengine.class_bodies": "compares a default with the system's clock",
    "cassandra.engine.core": "compares its clock with the system's",
    "cassandra.engine.environment": "the one place for the engine",
    "cassandra.engine.loop": "a simulated loop's own time is taken first",
    "cassandra.engine.observers": "the default, which the engine replaces by its environment's",
    "cassandra.engine.timer_wheel": "the default, which the engine replaces by its environment's",
    "cassandra.policies.adaptive": "the default, until the policy is attached to an engine",
    "cassandra.policies.percentile": "the default, until the policy is attached to an engine",
    "cassandra.ssl_session_cache": "OpenSSL says by the system's clock when sessions end",
    "cassandra.util.intervals": "limits lines in the log of the whole process",
}

# These packages work only with real machines, where times cannot be simulated. Such packages may
# read any clock.
TOOLS = ("cassandra.testing", "cassandra.doctor")

# These compiled modules import a function of READERS, but only as the default of a clock that
# simulations can replace.
COMPILED = {"clock", "happy_path", "observed"}


def clock_readers(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield (name, line) of each place in a source that mentions a function of `READERS`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            # This covers `datetime.datetime.now` as well as `datetime.now`.
            owner = getattr(node.value, "id", None) or getattr(node.value, "attr", None)
            if node.attr in READERS.get(str(owner), ()):
                yield f"{owner}.{node.attr}", node.lineno
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.name in READERS.get(str(node.module), ()):
                    yield f"{node.module}.{alias.name}", node.lineno


def test_only_modules_in_reasons_read_a_clock_of_the_system() -> None:
    wrong = [
        f"{module}, line {line}: {name}; call cassandra._clocks or the environment's clock"
        for module, tree in TREES.items()
        if module not in REASONS and not module.startswith(TOOLS)
        for name, line in clock_readers(tree)
    ]
    assert wrong == []


def test_each_module_in_reasons_reads_a_clock() -> None:
    assert [module for module in REASONS if not [*clock_readers(TREES[module])]] == []


def test_only_the_listed_compiled_modules_read_a_clock() -> None:
    sources = ACCEL.glob("*.pyx")
    readers = {path.stem for path in sources if "from time import" in path.read_text()}
    assert readers == COMPILED
    # No compiled module may call the function of C, either.
    compiled_sources = [*ACCEL.glob("*.pyx"), *ACCEL.glob("*.pxd")]
    assert [path.name for path in compiled_sources if "clock_gettime" in path.read_text()] == []


def test_clock_readers_yields_each_mention_of_a_clock() -> None:
    source = """
import datetime, time
from time import monotonic
clock = time.time_ns
def f(loop):
    return loop.time(), datetime.datetime.now(), datetime.date.today(), self.time()
"""
    assert sorted(clock_readers(ast.parse(source))) == [
        ("date.today", 6),
        ("datetime.now", 6),
        ("time.monotonic", 3),
        ("time.time_ns", 4),
    ]
