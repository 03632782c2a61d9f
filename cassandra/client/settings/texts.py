"""Creates the field list in the docstrings of the `Cluster` classes from the table of settings."""

from __future__ import annotations

import inspect
import textwrap
from functools import cache
from typing import TYPE_CHECKING, Any

from cassandra.client.settings.table import ClusterSettings

if TYPE_CHECKING:
    from cassandra.client.settings.setting import Setting

# The `repr` of a default value is shown only if the value has one of these types.
_LITERALS = (bool, int, float, str, tuple, type(None))
# In a field list, a description begins with a lower-case letter. Only these words keep their
# upper-case letter.
_NAMES = ("True", "False", "None", "Astra")
_WIDTH = 100  # the maximum length of a line of the field list
_INDENT = " " * 4

# The errors of the constructor of `Cluster`, and when it raises each of them.
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
    """Return the docstring of each setting, by the setting's name."""
    return {
        name: inspect.cleandoc(setting.__doc__ or "")
        for name, setting in ClusterSettings._table.items()
    }


@cache
def fields() -> str:
    """Return the fields ``:param ...:`` and ``:raises ...:`` of the constructor of `Cluster`.

    They are part of the docstrings of both `Cluster` classes.
    """
    field_list = [
        _format_field(f"param {name}", _description_of(text, ClusterSettings._table[name]))
        for name, text in texts().items()
    ]
    field_list.append(_format_field("param settings", "other keywords, each of which is an error."))
    field_list += [
        _format_field(f"raises {class_name}", condition) for class_name, condition in _ERRORS
    ]
    return "\n".join(field_list)


def _description_of(text: str, setting: Setting[Any, Any]) -> str:
    """Return the description of a setting for the field list."""
    # The description follows a colon. So begin it with a lower-case letter, unless its first word
    # is a name.
    if text[1].islower() and not text.startswith(_NAMES):
        text = text[0].lower() + text[1:]
    # Say that the setting may be changed, unless its docstring already says so.
    if setting.may_change and "connect`" not in text and "any time" not in text:
        text += " It may be changed after `connect`."
    default = setting.default_text or _default_text(setting.default)
    return f"{text} Default: {default}." if default else text


def _default_text(value: object) -> str:
    """Return a setting's default as a string; "" if the default has no short form.

    In that case, the setting's docstring must explain the default.
    """
    if isinstance(value, type):
        return value.__name__
    return repr(value) if isinstance(value, _LITERALS) else ""


def _format_field(head: str, text: str) -> str:
    """Return one field of a docstring's field list, wrapped and indented.

    :param head: for example ``param port``.
    """
    return textwrap.fill(
        f":{head}: {' '.join(text.split())}",
        _WIDTH,
        initial_indent=_INDENT,
        subsequent_indent=_INDENT * 2,
        break_long_words=False,
        break_on_hyphens=False,
    )
