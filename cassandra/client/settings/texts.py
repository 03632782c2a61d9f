"""Reads the docstrings of a cluster's settings from the source of their table, and makes the field
list in the docstrings of the `Cluster` classes from them.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from functools import cache

from cassandra.client.settings import table

__all__ = ["fields", "texts"]

_LITERALS = (bool, int, float, str, tuple, type(None))
# In a field list, a description begins with a lower-case letter. These words keep their capital
# letter.
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
    """Return the docstring of each setting, by its name. The dict is empty if the source code of
    the table is not installed.
    """
    return {name: text for name, (text, _) in _read_source().items()}


@cache
def fields() -> str:
    """Return the field list (``:param ...:`` and ``:raises ...:``) for the docstrings of the
    `Cluster` classes.
    """
    field_list = [_format_field(f"param {name}", _description_of(name)) for name in _read_source()]
    field_list.append(_format_field("param settings", "other keywords, each of which is an error."))
    field_list += [
        _format_field(f"raises {class_name}", condition) for class_name, condition in _ERRORS
    ]
    return "\n".join(field_list)


@cache
def _read_source() -> dict[str, tuple[str, ast.expr | None]]:
    """Return (docstring, code of the default or None) for each setting, by its name."""
    try:
        tree = ast.parse(inspect.getsource(table))
    except OSError:  # the source is not installed
        return {}
    (table_class,) = (node for node in tree.body if getattr(node, "name", "") == "ClusterSettings")
    assert isinstance(table_class, ast.ClassDef)
    settings = {}
    for index, node in enumerate(table_class.body):
        next_node = table_class.body[index + 1] if index + 1 < len(table_class.body) else None
        # A setting is an annotated attribute whose value is a call, with a docstring after it.
        if (
            isinstance(node, ast.AnnAssign)
            and isinstance(node.target, ast.Name)
            and isinstance(node.value, ast.Call)
            and isinstance(next_node, ast.Expr)
            and isinstance(next_node.value, ast.Constant)
        ):
            code = {keyword.arg: keyword.value for keyword in node.value.keywords}
            text = inspect.cleandoc(str(next_node.value.value))
            settings[node.target.id] = text, code.get("default")
    return settings


def _description_of(name: str) -> str:
    """Return the description of a setting in the field list."""
    text, code = _read_source()[name]
    # Only the docstring comes from the source. Take everything else from the setting itself.
    setting = table.ClusterSettings._table[name]
    # The description follows a colon, so begin it with a small letter, unless it begins with a
    # name.
    if text[1].islower() and not text.startswith(_NAMES):
        text = text[0].lower() + text[1:]
    # Add that the setting may be changed, unless its docstring says so already.
    if setting.may_change and "connect`" not in text and "any time" not in text:
        text += " It may be changed after `connect`."
    default = _default_text(setting.default, code)
    return f"{text} Default: {default}." if default else text


def _default_text(value: object, code: ast.expr | None) -> str:
    """Return a setting's default as a string; empty if it has no short form, so that the setting's
    docstring must explain it.
    """
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, _LITERALS):
        # Show a member of an enumeration, or another attribute, as it is written in the source.
        return ast.unparse(code) if isinstance(code, ast.Attribute) else repr(value)
    return ast.unparse(code) if isinstance(code, ast.Call) else ""


def _format_field(head: str, text: str) -> str:
    """Return one field of the list, wrapped and indented; `head` is for example ``param port``."""
    return textwrap.fill(
        f":{head}: {' '.join(text.split())}",
        _WIDTH,
        initial_indent=_INDENT,
        subsequent_indent=_INDENT * 2,
        break_long_words=False,
        break_on_hyphens=False,
    )
