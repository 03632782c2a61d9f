"""Compiled code loses no reference if an allocation fails.

An object that is freed although something refers to it makes the process crash later. Each
allocation of a call is made to fail in turn, in a process of its own.
"""

from __future__ import annotations

import importlib.util

import pytest

from tests.processes import WITH_TESTS, run_python

PROGRAM = """
import ctypes, struct, sys, uuid
import _testcapi
from collections import namedtuple
from cassandra._accel import bind, plans, ring, rows, tablets
from cassandra.cqltypes.parse import lookup_casstype

Column = namedtuple("Column", "name type")

class Host:
    is_up = True

names = [f"column number {number}" for number in range(9)]
int_type = lookup_casstype("Int32Type")
columns = [Column(name, int_type) for name in names]
hosts = [Host() for _ in range(6)]
token_ring = ring.TokenRing([[str(host * 10 + i) for i in range(3)] for host in range(6)])
router = plans.Router(ring.simple_map(token_ring, hosts, 5, 5), [0] * 6, 5)
replicas = b"".join(
    struct.pack(">ii", 28, 16) + uuid.UUID(int=i + 1).bytes + struct.pack(">ii", 4, i)
    for i in range(5)
)
head = struct.pack(">iqiqii", 8, 0, 8, 100, 4 + 32 * 5, 5)
tablet_map = tablets.TabletMap()
tablet_map.learn("ks", "t", head + replicas)
host_ids = [replica[0] for replica in tablet_map.find("ks", "t", 5)[2]]
calls = {
    "BindPlan": (lambda: bind.BindPlan(columns), [*names, int_type.codec()]),
    "Router.route": (lambda: router.route(b"x", False), hosts),
    "TabletMap.find": (lambda: tablet_map.find("ks", "t", 5), host_ids),
    "rows.dicts_of": (lambda: rows.dicts_of(names, [tuple(range(9))]), names),
}
# Further references keep the objects alive, even if some are lost.
for _, objects in calls.values():
    for item in objects:
        for _ in range(1000):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(item))
for name, (call, objects) in calls.items():
    call()
    failures = 0
    for number in range(80):
        counts = [sys.getrefcount(item) for item in objects]
        result = None
        try:
            _testcapi.set_nomemory(number, number + 1)
            try:
                result = call()
            finally:
                _testcapi.remove_mem_hooks()
        except MemoryError:
            failures += 1
        result = None
        if any(sys.getrefcount(item) < count for item, count in zip(objects, counts)):
            print(name, "loses a reference at allocation", number)
            break
    if not failures:
        print(name, "has not failed")
print("end")
"""


@pytest.mark.usefixtures("compiled")
@pytest.mark.skipif(
    importlib.util.find_spec("_testcapi") is None, reason="this Python was built without its tests"
)
def test_a_failed_allocation_loses_no_reference() -> None:
    process = run_python(PROGRAM, {**WITH_TESTS, "CASS_DRIVER_IMPL": "c"})
    assert process.stdout.splitlines() == ["end"], process.stderr
