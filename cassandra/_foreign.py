"""Finds the files of another driver beside ours, and files of ours that it has taken along.

Other distributions own the import package `cassandra` too. If one is installed over or under this
one, files mix, and foreign compiled modules win over our .py files. Those drivers have plain
modules for some names that are packages here, so one directory listing tells them apart. If one is
uninstalled after that, the files whose names are those of ours are gone: ``cassandra/__init__.py``
is always among them.

A package wins over a module of the same name, and no other driver has a file of this name. So the
check runs even if another driver came last and replaced ``cassandra/__init__.py``, or took it away:
our ``cluster`` package, and the others that survive, make the check again.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable

# Packages here, but single modules in every other driver (cluster.py,
# cluster.cpython-311-x86_64-linux-gnu.so).
_OUR_PACKAGES = frozenset(
    {"cluster", "cqltypes", "metadata", "policies", "protocol", "query", "util"}
)
# Modules that exist only elsewhere.
_FOREIGN_MODULES = frozenset(
    {"bytesio", "c_shard_info", "ioutils", "numpy_parser", "obj_parser", "parsing", "row_parser"}
)
_MODULE_SUFFIXES = (".py", ".so", ".pyd", ".pyx", ".pxd")


def foreign_files(names: Iterable[str]) -> list[str]:
    """Return the names in the package's directory that belong to another driver.

    :param names: all names in it.
    """
    suspects = _OUR_PACKAGES | _FOREIGN_MODULES
    return sorted(
        name
        for name in names
        if name.endswith(_MODULE_SUFFIXES) and name.partition(".")[0] in suspects
    )


def _owners(names: list[str]) -> list[str]:
    """Return the other distributions that installed one of these files, by their own records."""
    from importlib import metadata  # costs some milliseconds: only on the way to an error

    wanted = {f"cassandra/{name}" for name in names}
    owners = set()
    for distribution in metadata.distributions():
        if any(path.as_posix() in wanted for path in distribution.files or ()):
            owners.add(distribution.metadata["Name"])
    # The shims of other drivers' names install no files here; see shims/.
    return sorted(owners - {"turbocql"})


# Not from an index: a wheel at hand cannot fail to be found when the files are gone.
_WHEEL = "dist/turbocql-*.whl"
_INSTALL = f"pip install --force-reinstall --no-deps {_WHEEL}"
_MAKE_ONE = (
    "(that is the wheel that turbocql was installed from; in a clone of turbocql, pip wheel "
    "--no-deps -w dist . makes one). docs/upgrading.rst has more"
)


def lost_files(what: str) -> str:
    """Return the text of the error about files of ours that are gone.

    :param what: the file or module that is not there.
    """
    return (
        f"{what} is not there, which is a part of turbocql: most likely another driver was "
        "installed over it and uninstalled again, and took files along that have the same name. "
        f"Put them back: {_INSTALL} {_MAKE_ONE}"
    )


@functools.cache  # not of errors: each import raises them again
def check_files(directory: str = os.path.dirname(os.path.abspath(__file__))) -> None:
    """Check once in a process that the package's directory has our files, and no others.

    :param directory: the directory of the package.
    :raises ImportError: if files of another driver are there, or it has taken ours along. The
        message has the commands that repair it.
    """
    # At every start: one directory listing is all that it may cost.
    there = os.listdir(directory)
    names = foreign_files(there)
    if not names:
        if "__init__.py" not in there:
            raise ImportError(lost_files(os.path.join(directory, "__init__.py")))
        return
    owners = _owners(names)
    who = (
        " and ".join(owners)
        if owners
        else "another distribution that owns the package name 'cassandra'"
    )
    uninstall = " ".join(owners) if owners else "<that distribution>"
    # Ours last: what is uninstalled takes files of ours along. The listing comes first, so that
    # nothing is uninstalled if there is no wheel.
    raise ImportError(
        f"{who} is installed in the same place as turbocql, and their files are mixed in "
        f"{directory} ({', '.join(names[:4])}{', ...' if len(names) > 4 else ''}). "
        f"Uninstall that driver, then put the files of turbocql back: ls {_WHEEL} && "
        f"pip uninstall -y {uninstall} && {_INSTALL} {_MAKE_ONE}. "
        "If another package requires that driver, install the shim of its name too"
    )
