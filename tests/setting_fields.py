"""Write the field lists of both `Cluster` classes: ``python -m tests.setting_fields``.

Editors show the docstring of what is called, and read it without running anything. So each of the
two classes has the text of every setting, though it is written by hand in one place: at the
attribute of the same name, in `cassandra.client`.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import cassandra.aio.cluster
import cassandra.cluster.cluster
from cassandra.client import (
    cluster_settings,
    identity,
    metadata_settings,
    observing,
    pool_sizes,
)
from cassandra.client.configuration import LIVE, OF_TLS, ClusterBase
from cassandra.client.settings import table

FACES = (cassandra.cluster.cluster, cassandra.aio.cluster)
SOURCES = (table, identity, pool_sizes, metadata_settings, observing, cluster_settings)

LITERALS = (bool, int, float, str, tuple, type(None))
# A field begins with a small letter, unless it begins with one of these.
NAMES = ("True", "False", "None", "Astra")
WIDTH = 100
INDENT = " " * 4


def file_of(module: ModuleType) -> Path:
    assert module.__file__ is not None
    return Path(module.__file__)


def documented(body: list[ast.stmt]) -> Iterator[tuple[str, str, ast.expr | None]]:
    """Each attribute of a class that has a docstring: its name, the text, its default's code."""
    for at, one in enumerate(body):
        if isinstance(one, ast.FunctionDef) and ast.get_docstring(one):
            yield one.name, ast.get_docstring(one) or "", None
        after = body[at + 1] if at + 1 < len(body) else None
        if (
            isinstance(one, ast.AnnAssign)
            and isinstance(one.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
        ):
            yield one.target.id, inspect.cleandoc(str(after.value.value)), one.value


def default_of(name: str, code: ast.expr | None) -> str:
    """The default as text, or nothing if the setting's own text has to say it."""
    value: Any = getattr(ClusterBase, name, None)
    if isinstance(value, property):
        value = getattr(ClusterBase(), name)
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, LITERALS):
        # A named number is said as a number, unless its class says what it is.
        return ast.unparse(code) if isinstance(code, ast.Attribute) else repr(value)
    return ast.unparse(code) if isinstance(code, ast.Call) else ""


def field(head: str, text: str) -> str:
    return textwrap.fill(
        f":{head}: {' '.join(text.split())}",
        WIDTH,
        initial_indent=INDENT,
        subsequent_indent=INDENT * 2,
        break_long_words=False,
        break_on_hyphens=False,
    )


def texts() -> dict[str, str]:
    """What to say of each setting, by its name."""
    found = {}
    for source in SOURCES:
        for kind in ast.parse(file_of(source).read_text()).body:
            if not isinstance(kind, ast.ClassDef):
                continue
            for name, text, code in documented(kind.body):
                if text[1].islower() and not text.startswith(NAMES):
                    text = text[0].lower() + text[1:]
                if name in LIVE or name in OF_TLS:
                    text += " It may be changed after `connect`."
                default = default_of(name, code)
                found[name] = f"{text} Default: {default}." if default else text
    return found


def fields(module: ModuleType) -> str:
    """The field list of the `Cluster` in `module`."""
    known = texts()
    parameters = inspect.signature(module.Cluster.__init__).parameters.values()
    named = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
    spelled = [name for name in named if name != "self"]
    later = cluster_settings.LaterSettings.__annotations__
    documented_order = [
        name for name in cluster_settings.ClusterSettings.__annotations__ if name not in later
    ]
    keywords = [name for name in (*documented_order, *later) if name not in spelled]
    made = [field(f"param {name}", known[name]) for name in spelled]
    made.append(field("param settings", "the following ones, which are keywords only."))
    made += [field(f"param {name}", known[name]) for name in keywords]
    errors = re.findall(r"^:(raises [^:]*): (.*)$", inspect.getdoc(ClusterBase) or "", re.M)
    made += [field(*error) for error in errors]
    return "\n".join(made)


def with_fields(module: ModuleType) -> str:
    """The source of `module` with the field list that its `Cluster` should have."""
    source = file_of(module).read_text()
    head, begin, rest = source.partition("class Cluster(")
    description, _, after = rest.partition('"""\n\n    def __init__(')
    prose = re.split(r"^    :param ", description, maxsplit=1, flags=re.M)[0].rstrip()
    return f'{head}{begin}{prose}\n\n{fields(module)}\n{INDENT}"""\n\n    def __init__({after}'


if __name__ == "__main__":
    for face in FACES:
        file_of(face).write_text(with_fields(face))
