"""Says if the compiled modules of a source tree were built from the sources beside them.

After a build in the tree, setup.py writes `STAMP` beside the compiled modules: a line for each
source and each compiled module, with its size and a digest. A `git checkout` changes sources, but
no compiled modules. Modules of another commit then fail at odd places, mostly with an
AttributeError.

`changed_files` compares sizes, which takes a fraction of a millisecond, so each import of such a
tree does it. ``python -m cassandra.doctor`` and the test suite compare the digests, too.
Modification times say nothing: git sets them at a checkout, and copies keep them.

A wheel has neither sources nor a stamp. setup.py runs this file by its path, so it may only import
the standard library.
"""

from __future__ import annotations

import os

__all__ = ["REBUILD", "STAMP", "changed_files", "has_sources", "source_lines", "write_stamp"]

DIRECTORY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_accel")
STAMP = "built-from.txt"
REBUILD = "run `python setup.py build_ext --inplace` (or `pip install -e .`) in the tree"

_SOURCES = (".pyx", ".pxd", ".pxi", ".h")
_MODULES = (".so", ".pyd")


def source_lines(directory: str = DIRECTORY) -> list[str]:
    """Return the stamp's lines about the sources. A build reads them before it begins.

    :param directory: the directory of the sources.
    """
    return [_line(directory, name) for name in _names(directory, _SOURCES)]


def write_stamp(sources: list[str], directory: str = DIRECTORY) -> None:
    """Write the stamp of a build.

    :param sources: the result of `source_lines` before the build.
    :param directory: the directory of the compiled modules.
    """
    modules = [_line(directory, name) for name in _names(directory, _MODULES)]
    with open(os.path.join(directory, STAMP), "w", encoding="utf-8") as stamp:
        stamp.writelines(f"{line}\n" for line in (*sources, *modules))


def has_sources(directory: str = DIRECTORY) -> bool:
    """Return True in a source tree, and False in an installed wheel.

    :param directory: the directory of the compiled modules.
    """
    return bool(_names(directory, (".pyx",)))


def changed_files(directory: str = DIRECTORY, *, thorough: bool = False) -> list[str] | None:
    """Return the names of the files that differ from those of the last build, sorted.

    :param directory: the directory of the compiled modules.
    :param thorough: compare digests, not only sizes.
    :returns: None without a stamp.
    """
    try:
        with open(os.path.join(directory, STAMP), encoding="utf-8") as stamp:
            expected = {line.split(" ")[0]: line.rstrip("\n") for line in stamp}
    except FileNotFoundError:
        return None
    changed = []
    for name, line in expected.items():
        try:
            if thorough:
                differs = _line(directory, name) != line
            else:
                differs = f"{os.stat(os.path.join(directory, name)).st_size}" != line.split(" ")[1]
        except OSError:
            # An interpreter may lack modules that another one built here. We only miss sources.
            differs = name.endswith(_SOURCES)
        if differs:
            changed.append(name)
    if thorough:
        changed += [name for name in _names(directory, _SOURCES) if name not in expected]
    return sorted(changed)


def _names(directory: str, endings: tuple[str, ...]) -> list[str]:
    return sorted(name for name in os.listdir(directory) if name.endswith(endings))


def _line(directory: str, name: str) -> str:
    import hashlib  # not at the top: an import of the driver compares sizes only

    with open(os.path.join(directory, name), "rb") as file:
        content = file.read()
    return f"{name} {len(content)} {hashlib.blake2b(content, digest_size=16).hexdigest()}"
