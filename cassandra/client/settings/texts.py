"""The texts of a cluster's settings, read from the source of their table."""

from __future__ import annotations

import ast
import inspect
import textwrap
from functools import cache

from cassandra.client.settings import table

__all__ = ["fields", "texts"]

_LITERALS = (bool, int, float, str, tuple, type(None))
# A field begins with a small letter, unless it begins with one of these.
_NAMES = ("True", "False", "None", "Astra")
_WIDTH = 100
_INDENT = " " * 4

_ERRORS = (
    ("TypeError", "if a setting is unknown, or is of a wrong type."),
    ("ValueError", "if a value is out of range, or two settings exclude each other."),
    ("UnsupportedOperation", "if this driver does not speak the protocol version."),
    (
        "NotImplementedError",
        "if a setting asks for something that this driver does not have.",
    ),
    ("OSError", "if a file that a setting names cannot be read."),
)


@cache
def texts() -> dict[str, str]:
    """Return the text of each setting by its name; none if the source is not there."""
    return {name: text for name, (text, _) in _source().items()}


@cache
def fields() -> str:
    """Return the parameters of the constructor of a `Cluster`, and its errors, as a field list."""
    made = [_field(f"param {name}", _described(name)) for name in _source()]
    made.append(_field("param settings", "other keywords, each of which is an error."))
    made += [_field(f"raises {kind}", when) for kind, when in _ERRORS]
    return "\n".join(made)


@cache
def _source() -> dict[str, tuple[str, ast.expr | None]]:
    """Return the text of each setting, and the code of its default."""
    try:
        tree = ast.parse(inspect.getsource(table))
    except OSError:  # an installation may have no sources
        return {}
    (kind,) = (one for one in tree.body if getattr(one, "name", "") == "ClusterSettings")
    assert isinstance(kind, ast.ClassDef)
    found = {}
    for at, one in enumerate(kind.body):
        after = kind.body[at + 1] if at + 1 < len(kind.body) else None
        if (
            isinstance(one, ast.AnnAssign)
            and isinstance(one.target, ast.Name)
            and isinstance(one.value, ast.Call)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
        ):
            code = {keyword.arg: keyword.value for keyword in one.value.keywords}
            text = inspect.cleandoc(str(after.value.value))
            found[one.target.id] = text, code.get("default")
    return found


def _described(name: str) -> str:
    text, code = _source()[name]
    # The text is in the source, and what it does not say is in the table at run time.
    setting = table.ClusterSettings._table[name]
    if text[1].islower() and not text.startswith(_NAMES):
        text = text[0].lower() + text[1:]
    # Some texts say it themselves, and how.
    if setting.may_change and "connect`" not in text and "any time" not in text:
        text += " It may be changed after `connect`."
    default = _default(setting.default, code)
    return f"{text} Default: {default}." if default else text


def _default(value: object, code: ast.expr | None) -> str:
    """Return a default as text; an empty one if the setting's own text has to say it."""
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, _LITERALS):
        # A named number is said as a number, unless its class says what it is.
        return ast.unparse(code) if isinstance(code, ast.Attribute) else repr(value)
    return ast.unparse(code) if isinstance(code, ast.Call) else ""


def _field(head: str, text: str) -> str:
    return textwrap.fill(
        f":{head}: {' '.join(text.split())}",
        _WIDTH,
        initial_indent=_INDENT,
        subsequent_indent=_INDENT * 2,
        break_long_words=False,
        break_on_hyphens=False,
    )
