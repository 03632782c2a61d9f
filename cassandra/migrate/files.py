"""Which files are read, and how: Python files, and the code cells of notebooks."""

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

SKIPPED = {"node_modules", "site-packages", "dist-packages", "venv", "__pycache__", "virtualenv"}
# A file without any of these says nothing about a driver, and need not be parsed.
WORDS = re.compile(r"cassandra|scylla|acsylla|eventlet|uvloop|CASS_DRIVER", re.I)
MAGIC = re.compile(r"^(\s*)[%!?].*$", re.M)


@dataclass(frozen=True)
class Source:
    """A file, or one of a notebook's cells.

    :param place: its name, as findings show it.
    :param tree: its syntax tree.
    """

    place: str
    tree: ast.Module


@dataclass(frozen=True)
class Unread:
    """A file that cannot be read.

    :param place: its name.
    :param line: the line of the error, 0 if there is none.
    :param reason: the mistake.
    """

    place: str
    line: int
    reason: str


def walk(path: Path) -> Iterator[Path]:
    """Yield the files to read: `path` itself, or those in it.

    Hidden folders, environments and packages that are installed are left out.

    :param path: a file or folder.
    """
    if not path.is_dir():
        yield path
        return
    for folder, inside, files in os.walk(path):
        inside[:] = sorted(
            name
            for name in inside
            if not name.startswith(".")
            and name not in SKIPPED
            and not os.path.exists(os.path.join(folder, name, "pyvenv.cfg"))
        )
        for name in sorted(files):
            if name.endswith((".py", ".pyw", ".ipynb")) and not name.startswith("."):
                yield Path(folder) / name


def read(path: Path) -> Iterator[Source | Unread]:
    """Yield a file's content, or why it cannot be read.

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


def _parsed(place: str, text: str) -> Source | Unread:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the program's own escapes, say
            return Source(place, ast.parse(text, place))
    except SyntaxError as error:
        return Unread(place, error.lineno or 0, error.msg)
    except (ValueError, RecursionError, MemoryError) as error:
        return Unread(place, 0, str(error))


def _notebook(path: Path) -> Iterator[Source | Unread]:
    """Yield all cells of a notebook as one file, since they share their names.

    A cell's lines keep their numbers within the cell: the parts are joined as trees.
    """
    place = str(path)
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        texts = ["".join(cell["source"]) if cell["cell_type"] == "code" else "" for cell in cells]
    except (ValueError, KeyError, TypeError) as error:
        yield Unread(place, 0, f"not a notebook: {error}")
        return
    whole = ast.Module(body=[], type_ignores=[])
    for number, text in enumerate(texts, 1):
        if text.startswith("%%"):
            continue  # another language, as a rule
        cell = _parsed(f"{place}[{number}]", MAGIC.sub(r"\1pass", text))
        if isinstance(cell, Unread):
            yield cell
            continue
        for node in ast.walk(cell.tree):
            node.cell = number  # type: ignore[attr-defined]
        whole.body += cell.tree.body
    yield Source(place, whole)
