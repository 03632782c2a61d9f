"""Every lock that lives longer than one call is replaced in a forked child."""

from __future__ import annotations

import re
from pathlib import Path

import cassandra

ROOT = Path(cassandra.__file__).parent

# A forked child never needs the locks of these files, because they live for one call only, or
# belong to objects that only the parent uses. A comment at each file says which.
NOT_NEEDED_IN_CHILDREN = {
    # a lock for one page that is requested ahead, through the parent's connections
    "client/paging.py",
    "concurrent.py",  # a lock for one call of execute_concurrent
    "engine/events.py",  # a lock for one execution
    "engine/stream_table.py",  # a connection of the parent; no one waits for it without a limit
    "testing/fake/faults.py",
    "testing/fake/node.py",
    "testing/local.py",
    "testing/processes.py",
    "testing/simulation/threads.py",  # a lock for one simulated run
}
LOCK = re.compile(r"= (?:threading\.)?(?:R?Lock|Condition)\(")


def test_nobody_uses_cached_property() -> None:
    """No code uses cached_property.

    Before Python 3.12 it contains a lock, which a forked child cannot replace.
    """
    assert [
        path for path in ROOT.rglob("*.py") if "import cached_property" in path.read_text()
    ] == []


def test_each_file_with_a_lock_replaces_it_in_a_forked_child() -> None:
    files_without_renewal = [
        name
        for path in ROOT.rglob("*.py")
        if LOCK.search(text := path.read_text())
        and (name := path.relative_to(ROOT).as_posix()) not in NOT_NEEDED_IN_CHILDREN
        and "renew_in_child" not in text
        and "renewed(" not in text
        and "register_at_fork" not in text
    ]
    assert files_without_renewal == []
    assert [
        name for name in NOT_NEEDED_IN_CHILDREN if not LOCK.search((ROOT / name).read_text())
    ] == []
