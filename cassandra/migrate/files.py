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

SKIPPED = {"node_modules", "site-packages", "dist-packages", "venv", "__pycache__", "virtualenv"}
# A file without any of these words does not use a driver, and need not be parsed.
WORDS = re.compile(r"cassandra|scylla|acsylla|eventlet|uvloop|CASS_DRIVER", re.I)
MAGIC = re.compile(r"^(\s*)[%!?].*$", re.M)


@dataclass(frozen=True)
class Source:
    """A file, or one of a notebook's cells.

    :param location: the file name, as findings show it.
    :param tree: its syntax tree.
    """

    location: str
    tree: ast.Module


@dataclass(frozen=True)
class Unread:
    """A file that cannot be read.

    :param location: the file name.
    :param line: the line of the error, 0 if there is none.
    :param reason: why the file cannot be read.
    """

    location: str
    line: int
    reason: str


def walk(path: Path) -> Iterator[Path]:
    """Yield the files to read: `path` itself, or the files in it.

    Hidden folders, virtual environments and installed packages are left out.

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
    """Yield the content of a file, or the reason why it cannot be read.

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
    try:
        with warnings.catch_warnings():
            # for example, about invalid escapes in the application's source
            warnings.simplefilter("ignore")
            return Source(location, ast.parse(text, location))
    except SyntaxError as error:
        return Unread(location, error.lineno or 0, error.msg)
    except (ValueError, RecursionError, MemoryError) as error:
        return Unread(location, 0, str(error))


def _notebook(path: Path) -> Iterator[Source | Unread]:
    """Yield all cells of a notebook as one source, because the cells share their names.

    We parse each cell separately and join the syntax trees, so that line numbers count from the
    beginning of a cell.
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
            continue  # usually another language
        cell = _parsed(f"{location}[{number}]", MAGIC.sub(r"\1pass", text))
        if isinstance(cell, Unread):
            yield cell
            continue
        for node in ast.walk(cell.tree):
            node.cell = number  # type: ignore[attr-defined]
        notebook.body += cell.tree.body
    yield Source(location, notebook)
