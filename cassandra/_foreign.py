"""Detects an installation that is damaged because another driver was installed or uninstalled.

Other distributions, such as cassandra-driver, also install the import package `cassandra`. If both
are installed, their files are mixed in one folder, and compiled modules of the other driver take
precedence over our .py files. If the other driver is then uninstalled, our files with the same
names are removed, including ``cassandra/__init__.py``.

Some of our packages are single modules in all other drivers (``cluster.py``), so a listing of the
directory is enough to detect their files. ``cassandra/__init__.py`` calls the check, and so do our
packages such as ``cassandra/cluster/``. Therefore the check runs even if ``cassandra/__init__.py``
was replaced or removed: Python prefers a package to a module of the same name, and no other driver
has a file with the name of this module.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterable

# These are packages here, but single modules in all other drivers (cluster.py,
# cluster.cpython-311-x86_64-linux-gnu.so).
_OUR_PACKAGES = frozenset(
    {"cluster", "cqltypes", "metadata", "policies", "protocol", "query", "util"}
)
# Modules that only other drivers have.
_FOREIGN_MODULES = frozenset(
    {"bytesio", "c_shard_info", "ioutils", "numpy_parser", "obj_parser", "parsing", "row_parser"}
)
_MODULE_SUFFIXES = (".py", ".so", ".pyd", ".pyx", ".pxd")


def foreign_files(names: Iterable[str]) -> list[str]:
    """Return the names that belong to another driver.

    :param names: all names in the package's directory.
    """
    suspect_names = _OUR_PACKAGES | _FOREIGN_MODULES
    return sorted(
        name
        for name in names
        if name.endswith(_MODULE_SUFFIXES) and name.partition(".")[0] in suspect_names
    )


def _owners(names: list[str]) -> list[str]:
    """Return the names of the other distributions that have installed one of these files."""
    # Import `importlib.metadata` only if there is an error, because it takes some milliseconds.
    from importlib import metadata

    paths = {f"cassandra/{name}" for name in names}
    owners = set()
    for distribution in metadata.distributions():
        if any(path.as_posix() in paths for path in distribution.files or ()):
            owners.add(distribution.metadata["Name"])
    # Leave out our own distribution. The shims (empty distributions under the names of other
    # drivers; see shims/) do not install any of these files, so they are not in `owners`.
    return sorted(owners - {"turbocql"})


# The advice uses a local wheel and not a package index: the user can check that the wheel exists
# before any files are removed.
_WHEEL = "dist/turbocql-*.whl"
_INSTALL = f"pip install --force-reinstall --no-deps {_WHEEL}"
_MAKE_ONE = (
    "(that is the wheel that turbocql was installed from; in a clone of turbocql, pip wheel "
    "--no-deps -w dist . makes one). docs/upgrading.rst has more"
)


def lost_files(path: str) -> str:
    """Return the error message for missing files of this driver.

    :param path: the missing file or module.
    """
    return (
        f"{path} is not there, which is a part of turbocql: most likely another driver was "
        "installed over it and uninstalled again, and took files along that have the same name. "
        f"Put them back: {_INSTALL} {_MAKE_ONE}"
    )


@functools.cache  # errors are not cached: each import raises them again
def check_files(directory: str = os.path.dirname(os.path.abspath(__file__))) -> None:
    """Check that the package's directory has ``__init__.py``, and no files of another driver.

    If the check succeeds, further calls do nothing.

    :param directory: the directory of the package.
    :raises ImportError: if there are files of another driver, or if ``__init__.py`` is missing. The
        message has the commands to repair the installation.
    """
    # The package may be in an archive: a zip file, or the archive of a tool such as PyInstaller,
    # which sets `sys.frozen` and writes only the compiled modules to the directory. Nobody can
    # install another driver into an archive, so there is nothing to check.
    if getattr(sys, "frozen", False) or not os.path.isdir(directory):
        return
    # This runs at every start, so it must be quick: it only lists one directory.
    entries = os.listdir(directory)
    foreign_names = foreign_files(entries)
    # There is no file of another driver. But another driver may have been uninstalled, and its
    # uninstallation may have removed our files of the same names.
    if not foreign_names:
        if not {"__init__.py", "__init__.pyc"}.intersection(entries):
            raise ImportError(lost_files(os.path.join(directory, "__init__.py")))
        return
    owners = _owners(foreign_names)
    installer = (
        " and ".join(owners)
        if owners
        else "another distribution that owns the package name 'cassandra'"
    )
    uninstall = " ".join(owners) if owners else "<that distribution>"
    # The commands reinstall our driver last, because uninstalling the other driver removes files of
    # ours. They list the wheel first, so that nothing is uninstalled if the wheel does not exist.
    raise ImportError(
        f"{installer} is installed in the same place as turbocql, and their files are mixed in "
        f"{directory} ({', '.join(foreign_names[:4])}{', ...' if len(foreign_names) > 4 else ''}). "
        f"Uninstall that driver, then put the files of turbocql back: ls {_WHEEL} && "
        f"pip uninstall -y {uninstall} && {_INSTALL} {_MAKE_ONE}. "
        "If another package requires that driver, install the shim of its name too"
    )
