"""Tests that every lock that lives longer than one call is replaced in a forked child."""

from __future__ import annotations

import re
from pathlib import Path

import cassandra

ROOT = Path(cassandra.__file__).parent

# A forked child never needs the locks of these files, because they live for one call only, or
# belong to objects that only the parent uses. A comment at each file says which.
NOT_NEEDED_IN_CHILDREN = {
    # This is a lock for one call of execute_concurrent.
    "concurrent.py",
    # This is a lock for one execution.
    "engine/events.py",
    # These are two locks of each connection. A child does not write to connections of its parent,
    # and a thread that waits for one of these locks gives up after some time.
    "engine/stream_table.py",
    # A forked child does not use the fake or local servers of its parent.
    "testing/fake/faults.py",
    "testing/fake/node.py",
    "testing/fake/script.py",
    "testing/local.py",
    "testing/processes.py",
    # This is a lock for one simulated run.
    "testing/simulation/threads.py",
}
LOCK = re.compile(r"= (?:threading\.)?(?:R?Lock|Condition)\(")


def test_nobody_uses_cached_property() -> None:
    """No code may use cached_property.

    Before Python 3.12 it contains a lock, which a forked child cannot replace.
    """
    assert [
        path for path in ROOT.rglob("*.py") if "import cached_property" in path.read_text()
    ] == []


def test_each_file_with_a_lock_replaces_it_in_a_forked_child() -> None:
    text_by_name = {
        path.relative_to(ROOT).as_posix(): path.read_text() for path in ROOT.rglob("*.py")
    }
    with_locks = {name for name, text in text_by_name.items() if LOCK.search(text)}
    with_renewal = {
        name
        for name, text in text_by_name.items()
        if any(call in text for call in ("renew_in_child", "renewed(", "register_at_fork"))
    }
    assert with_locks - with_renewal - NOT_NEEDED_IN_CHILDREN == set()
    # A file without a lock needs no exception.
    assert NOT_NEEDED_IN_CHILDREN - with_locks == set()
