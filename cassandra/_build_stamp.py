"""Checks whether the compiled modules in a source checkout were built from its current sources.

After a build in the checkout, setup.py writes the file `STAMP` into the directory of the compiled
modules. The file has a line for each source and each compiled module, with its size and a digest. A
`git checkout` changes the sources, but not the compiled modules, which then fail in unexpected
places, mostly with an AttributeError.

`changed_files` compares the sizes, which takes a fraction of a millisecond, so each import of the
driver from a checkout does it. ``python -m cassandra.doctor`` and the test suite also compare the
digests. We do not compare modification times, because git changes them at a checkout, and copies
keep them.

A wheel has neither sources nor a stamp. setup.py executes this file by its path, so it may only
import the standard library.
"""

from __future__ import annotations

import os

# The directory of the compiled modules. In a checkout, it also has their sources.
DIRECTORY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_accel")
STAMP = "built-from.txt"  # the file that says from which sources the modules were built
REBUILD = "run `python setup.py build_ext --inplace` (or `pip install -e .`) in the tree"

# The endings of the names of sources, and of compiled modules.
_SOURCES = (".pyx", ".pxd", ".pxi", ".h")
_MODULES = (".so", ".pyd")


def source_lines(directory: str = DIRECTORY) -> list[str]:
    """Return the lines of the stamp for the sources. setup.py calls this before it builds.

    :param directory: the directory of the sources.
    """
    return [_line(directory, name) for name in _names(directory, _SOURCES)]


def write_stamp(sources: list[str], directory: str = DIRECTORY) -> None:
    """Write the stamp after a build.

    :param sources: the result of `source_lines` before the build.
    :param directory: the directory of the compiled modules.
    """
    module_lines = [_line(directory, name) for name in _names(directory, _MODULES)]
    with open(os.path.join(directory, STAMP), "w", encoding="utf-8") as stamp:
        stamp.writelines(f"{line}\n" for line in (*sources, *module_lines))


def has_sources(directory: str = DIRECTORY) -> bool:
    """Return True in a source checkout, and False in an installed wheel.

    :param directory: the directory of the compiled modules.
    """
    return bool(_names(directory, (".pyx",)))


def changed_files(directory: str = DIRECTORY, *, thorough: bool = False) -> list[str] | None:
    """Return the names of the files that have changed since the last build, sorted.

    :param directory: the directory of the compiled modules.
    :param thorough: True to compare digests, and to report new sources, which the stamp does not
        list; False to compare only sizes.
    :returns: None if there is no stamp.
    """
    try:
        with open(os.path.join(directory, STAMP), encoding="utf-8") as stamp:
            # Each line has a file's name, its size and its digest. The key is the name.
            expected_lines = {line.split(" ")[0]: line.rstrip("\n") for line in stamp}
    except FileNotFoundError:
        return None
    changed = []
    for name, line in expected_lines.items():
        try:
            if thorough:
                # Compare the whole line: it also has a digest of the file, which is slower to
                # compute than the size.
                differs = _line(directory, name) != line
            else:
                differs = f"{os.stat(os.path.join(directory, name)).st_size}" != line.split(" ")[1]
        except OSError:
            # The file is missing. A missing source counts as changed. A missing compiled module
            # does not, because the stamp may have been written for another interpreter.
            differs = name.endswith(_SOURCES)
        if differs:
            changed.append(name)
    if thorough:
        changed += [name for name in _names(directory, _SOURCES) if name not in expected_lines]
    return sorted(changed)


def _names(directory: str, endings: tuple[str, ...]) -> list[str]:
    return sorted(name for name in os.listdir(directory) if name.endswith(endings))


def _line(directory: str, name: str) -> str:
    """Return the name, the size and the digest of a file, separated by spaces."""
    import hashlib  # imported only here, because an import of the driver only compares sizes

    with open(os.path.join(directory, name), "rb") as file:
        content = file.read()
    return f"{name} {len(content)} {hashlib.blake2b(content, digest_size=16).hexdigest()}"
