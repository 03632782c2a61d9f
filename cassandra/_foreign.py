"""Finds the files of another driver beside ours.

Other distributions own the import package `cassandra` too. Installed over or under this one, files
mix, and foreign compiled modules win over our .py files. Those drivers have plain modules where
this one has packages, which tells them apart by one directory listing. A package wins over a module
of the same name, so the check runs also where the other driver came last and replaced
``cassandra/__init__.py``: our ``cluster`` package makes it again.
"""

from __future__ import annotations

import os

# Packages here, single modules (cluster.py, cluster.cpython-311-x86_64-linux-gnu.so) in every other
# driver.
_OUR_PACKAGES = frozenset(
    {"cluster", "cqltypes", "metadata", "policies", "protocol", "query", "util"}
)
# Modules that exist only elsewhere.
_FOREIGN_MODULES = frozenset(
    {"bytesio", "c_shard_info", "ioutils", "numpy_parser", "obj_parser", "parsing", "row_parser"}
)
_MODULE_SUFFIXES = (".py", ".so", ".pyd", ".pyx", ".pxd")


def foreign_files(directory: str) -> list[str]:
    """The names in `directory`, a package directory `cassandra`, that belong to another driver."""
    suspects = _OUR_PACKAGES | _FOREIGN_MODULES
    return sorted(
        name
        for name in os.listdir(directory)
        if name.endswith(_MODULE_SUFFIXES) and name.partition(".")[0] in suspects
    )


def _owners(names: list[str]) -> list[str]:
    """The other distributions that installed one of these files, by their own records."""
    from importlib import metadata  # costs some milliseconds: only on the way to an error

    wanted = {f"cassandra/{name}" for name in names}
    owners = set()
    for distribution in metadata.distributions():
        if any(path.as_posix() in wanted for path in distribution.files or ()):
            owners.add(distribution.metadata["Name"])
    return sorted(owners - {"turbocql"})


def refuse_foreign_files(directory: str) -> None:
    """Raise ImportError where another driver's files lie in `directory`; it names the distribution
    to uninstall.
    """
    names = foreign_files(directory)
    if not names:
        return
    owners = _owners(names)
    who = (
        " and ".join(owners)
        if owners
        else "another distribution that owns the package name 'cassandra'"
    )
    uninstall = " ".join(owners) if owners else "<that distribution>"
    raise ImportError(
        f"{who} is installed in the same place as turbocql, and their files are mixed in {directory} "
        f"({', '.join(names[:4])}{', ...' if len(names) > 4 else ''}). Uninstall both, then install turbocql again: "
        f"pip uninstall -y {uninstall} turbocql && pip install turbocql"
    )
