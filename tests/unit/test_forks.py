"""Locks that outlive a call are replaced in a forked child."""

from __future__ import annotations

import re
from pathlib import Path

import cassandra

ROOT = Path(cassandra.__file__).parent

# Locks that a forked child never needs: they live for one call, or belong to objects that only the
# parent uses. The comment after each gives the reason.
OF_A_CALL = {
    "client/paging.py",  # one prefetched page, through the parent's connections
    "concurrent.py",  # one call of execute_concurrent
    "engine/events.py",  # one execution
    "engine/stream_table.py",  # a connection of the parent; no one waits for it without a limit
    "testing/fake/faults.py",
    "testing/fake/node.py",
    "testing/local.py",
    "testing/processes.py",
    "testing/simulation/threads.py",  # one run in virtual time
}
LOCK = re.compile(r"= (?:threading\.)?(?:R?Lock|Condition)\(")


def test_nobody_uses_cached_property() -> None:
    """cached_property has a lock before Python 3.12, which a forked child cannot replace."""
    assert [
        path for path in ROOT.rglob("*.py") if "import cached_property" in path.read_text()
    ] == []


def test_each_file_with_a_lock_renews_it() -> None:
    forgotten = [
        name
        for path in ROOT.rglob("*.py")
        if LOCK.search(text := path.read_text())
        and (name := path.relative_to(ROOT).as_posix()) not in OF_A_CALL
        and "renew_in_child" not in text
        and "renewed(" not in text
        and "register_at_fork" not in text
    ]
    assert forgotten == []
    assert [name for name in OF_A_CALL if not LOCK.search((ROOT / name).read_text())] == []
