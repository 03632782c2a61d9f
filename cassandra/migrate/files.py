"""Finds and reads the files to check: Python files, and the code cells of notebooks."""

from __future__ import annotations

import ast
import json
import os
import re
import tokenize
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ENDINGS = (".py", ".pyw", ".ipynb")  # endings of the files that are read in a folder
# Folders with these names contain code of other projects, so do not read them.
SKIPPED = {"node_modules", "site-packages", "dist-packages", "venv", "__pycache__", "virtualenv"}
# A file that contains none of these words does not use a driver, and need not be parsed.
WORDS = re.compile(r"cassandra|scylla|acsylla|eventlet|uvloop|CASS_DRIVER", re.I)
# Lines of a notebook that are not Python: %magic, !command, ?help. A line may also begin with an
# operator of an expression: ``% value`` or ``!= value``.
MAGIC = re.compile(r"^([^\S\n]*)(?:%[^\s(\[{]|!(?!=)|\?).*$", re.M)

# The magics of a cell whose other lines are Python: the notebook runs, times or captures them.
_PYTHON_CELL = re.compile(r"%%(?:capture|prun|px|python3?|time|timeit)\b")


@dataclass(frozen=True)
class Source:
    """A parsed file. All cells of a notebook are one source.

    :param location: the file name, as shown in findings.
    :param tree: the syntax tree.
    """

    location: str
    tree: ast.Module


@dataclass(frozen=True)
class Unread:
    """A file, or a cell of a notebook, that cannot be read or parsed.

    :param location: the file name. For a cell of a notebook, its number follows in brackets.
    :param line: the line of the error, from 1; 0 if the error has no line.
    :param reason: why the file cannot be read.
    """

    location: str
    line: int
    reason: str


def walk(path: Path) -> Iterator[Path]:
    """Yield the files to read: `path` itself, or all Python files and notebooks in it.

    Hidden files, hidden folders, virtual environments and installed packages are skipped. A folder
    that is a symbolic link is read, too, but no folder is read twice.

    :param path: a file or folder.
    """
    if not path.is_dir():
        yield path
        return
    root = os.path.realpath(path)
    seen: set[str] = set()  # the real paths of the folders that were read
    # Read the links last, so that files are found by their own paths if the tree has them.
    waiting = [str(path)]
    while waiting:
        links: list[str] = []
        for start in waiting:
            yield from _walk(start, root, seen, links)
        waiting = links


def _walk(start: str, root: str, seen: set[str], links: list[str]) -> Iterator[Path]:
    """Yield the files in a folder, without its symbolic links to folders.

    :param start: the folder.
    :param root: the real path of the folder that the user has named.
    :param seen: the real paths of the folders that were read; this function adds its own.
    :param links: this function adds the symbolic links to folders, by their paths.
    """
    for folder, subfolders, files in os.walk(start):
        real_path = os.path.realpath(folder)
        if real_path in seen:
            subfolders.clear()
            continue
        seen.add(real_path)
        names = sorted(name for name in subfolders if not _is_skipped(folder, name))
        links += [
            path
            for name in names
            if os.path.islink(path := os.path.join(folder, name)) and _is_followed(path, root)
        ]
        # `os.walk` only enters the folders that remain in this list, and no links.
        subfolders[:] = names
        for name in sorted(files):
            if name.endswith(ENDINGS) and not name.startswith("."):
                yield Path(folder) / name


def _is_skipped(folder: str, name: str) -> bool:
    """Return True for a hidden folder, a virtual environment, and installed packages."""
    return (
        name.startswith(".")
        or name in SKIPPED
        or os.path.exists(os.path.join(folder, name, "pyvenv.cfg"))
    )


def _is_followed(link: str, root: str) -> bool:
    """Return True if the folder that a symbolic link leads to is code of the project.

    A link to a folder above the project, such as ``/``, leads to code of others.
    """
    target = Path(os.path.realpath(link))
    if target in (Path(root), *Path(root).parents):
        return False
    # Compare the names of the folders below those that the target and the project have in common.
    folders = [target, *target.parents]
    return not any(
        _is_skipped(str(folder.parent), folder.name)
        for folder in folders
        if folder not in Path(root).parents
    )


def read(path: Path) -> Iterator[Source | Unread]:
    """Read and parse a file.

    Yield the parsed file as a `Source`. Yield an `Unread` for the file, or for a cell of a
    notebook, if it cannot be read or parsed. Yield nothing if no word in the file hints at a
    driver.

    :param path: the file.
    """
    try:
        if path.suffix == ".ipynb":
            yield from _notebook(path)
        else:
            with tokenize.open(path) as file:
                text = file.read()
            if WORDS.search(text):
                yield _parsed(str(path), text)
    except (OSError, SyntaxError, UnicodeError) as error:
        yield Unread(str(path), 0, str(error))


def _parsed(location: str, text: str) -> Source | Unread:
    """Parse the content of a file or of a cell."""
    try:
        with warnings.catch_warnings():
            # Suppress the parser's warnings about the application, for example about invalid
            # escapes in strings.
            warnings.simplefilter("ignore")
            return Source(location, ast.parse(text, location))
    except SyntaxError as error:
        return Unread(location, error.lineno or 0, error.msg)
    except (ValueError, RecursionError, MemoryError) as error:
        return Unread(location, 0, str(error))


def _notebook(path: Path) -> Iterator[Source | Unread]:
    """Yield all code cells of a notebook as one source, because a cell uses names of earlier cells.

    Each cell is parsed separately, and then the syntax trees are joined. So line numbers count from
    the beginning of a cell. Each node gets the number of its cell as the attribute `cell`.
    """
    location = str(path)
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        texts = ["".join(cell["source"]) if cell["cell_type"] == "code" else "" for cell in cells]
    except (ValueError, KeyError, TypeError) as error:
        yield Unread(location, 0, f"not a notebook: {error}")
        return
    notebook = ast.Module(body=[], type_ignores=[])
    for number, text in enumerate(texts, 1):
        if text.startswith("%%"):
            magic, _, text = text.partition("\n")
            if not _PYTHON_CELL.match(magic):
                continue  # the cell is in another language
            text = "\n" + text  # line numbers stay as they are in the cell
        cell = _parsed(f"{location}[{number}]", text)
        if isinstance(cell, Unread):
            # Magics are not Python, so replace each of these lines by `pass`.
            cell = _parsed(f"{location}[{number}]", MAGIC.sub(r"\1pass", text))
        if isinstance(cell, Unread):
            # A cell that cannot be parsed becomes an `Unread`. Continue with the other cells.
            yield cell
            continue
        for node in ast.walk(cell.tree):
            node.cell = number  # type: ignore[attr-defined]
        notebook.body += cell.tree.body
    yield Source(location, notebook)
