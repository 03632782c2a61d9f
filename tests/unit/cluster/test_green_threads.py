"""Programs patched by gevent or eventlet: refused at connect where their threads are greenlets, and
working where they are not.
"""

from __future__ import annotations

import importlib.util

import pytest

from cassandra.testing.fake import FakeNode
from tests.processes import run_python

PATCHES = {
    "gevent": ("from gevent import monkey; monkey.patch_all()", "from gevent import monkey; monkey.patch_all(thread=False)"),
    "eventlet": ("import eventlet; eventlet.monkey_patch()", "import eventlet; eventlet.monkey_patch(thread=False)"),
}  # fmt: skip

# The driver may be imported before the patching or after it.
CODE = """
import warnings
warnings.simplefilter("ignore")
{before}
{patch}
from cassandra.cluster import Cluster
cluster = Cluster(["{address}"], port={port}, connect_timeout=10)
try:
    with cluster.connect() as session:
        print(session.execute("SELECT 1").all())
except RuntimeError as error:
    print("refused", error)
cluster.shutdown()
cluster.shutdown()
"""


@pytest.fixture(params=sorted(PATCHES))
def library(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    return name


@pytest.mark.parametrize("before", ["", "import cassandra.cluster"])
def test_threads_that_are_greenlets_are_refused(library: str, before: str) -> None:
    with FakeNode() as node:
        code = CODE.format(
            before=before, patch=PATCHES[library][0], address=node.address, port=node.port
        )
        done = run_python(code, timeout=60)
    assert done.stdout.startswith(f"refused {library} has replaced"), (done.stdout, done.stderr)
    assert "thread=False" in done.stdout
    assert "cassandra.aio" in done.stdout
    assert done.returncode == 0


def test_other_patches_do_not_matter(library: str) -> None:
    with FakeNode() as node:
        code = CODE.format(
            before="", patch=PATCHES[library][1], address=node.address, port=node.port
        )
        done = run_python(code, timeout=60)
    assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr
