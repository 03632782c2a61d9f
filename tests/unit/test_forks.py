"""Locks that live longer than a call are made anew in a forked child."""

from __future__ import annotations

import re
from pathlib import Path

import cassandra

ROOT = Path(cassandra.__file__).parent

# Locks that end with a call, or belong to what a child cannot use: the reason stands beside each.
OF_A_CALL = {
    "client/paging.py",  # one page that is asked for ahead, by the parent's connections
    "concurrent.py",  # one call of execute_concurrent
    "engine/events.py",  # one execution
    "engine/stream_table.py",  # a connection of the parent; nobody waits for them without a limit
    "testing/fake/faults.py",
    "testing/fake/node.py",
    "testing/local.py",
    "testing/processes.py",
    "testing/simulation/threads.py",  # one run in virtual time
}
LOCK = re.compile(r"= (?:threading\.)?(?:R?Lock|Condition)\(")


def test_nobody_uses_cached_property() -> None:
    """Before Python 3.12 it has a lock, which nobody can make anew."""
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
