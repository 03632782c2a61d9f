"""Recognises text that is exactly one CQL literal, or one call of a function.

The `Encoder` writes an object of an unknown class by its ``__str__``. It must not insert text that
continues after the literal, because that text would change the rest of the statement.
"""

from __future__ import annotations

import re

from cassandra._patterns import pattern

_SPACES = r"[ \t\r\n]*"
# A literal without nested literals. The order of the alternatives matters, because a UUID, blob or
# duration begins with digits, like a number. The alternatives are the terms of Cassandra's Lexer.g,
# except strings in $$.
_PLAIN = r"""
      '[^']*(?:''[^']*)*'
    | [0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}
    | 0x(?:[0-9a-f]{2})*
    | -?(?:[0-9]+(?:mo|ms|us|ns|y|w|d|h|m|s))+
    | -?P(?=[0-9T])(?:[0-9]+Y)?(?:[0-9]+M)?(?:[0-9]+D)?
        (?:T(?=[0-9])(?:[0-9]+H)?(?:[0-9]+M)?(?:[0-9]+S)?)?
    | -?P[0-9]+W
    | -?[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?
    | -?(?:Infinity|NaN) | true | false
"""
_FLAGS = re.VERBOSE | re.IGNORECASE | re.ASCII
_plain = pattern(_PLAIN, _FLAGS)
# The beginning of a function call: a keyspace (optional), the function's name, and the opening
# parenthesis.
_CALL = rf"(?:[a-z]\w*\.)?[a-z]\w*{_SPACES}\("
# What may follow after an opening bracket, or after a comma or colon inside brackets. NULL is
# allowed only there: for a whole value that is null, the application passes None.
_start = pattern(
    rf"{_SPACES}(?:(?P<bracket>[\[{{(\]}})])|(?P<call>{_CALL})|(?:{_PLAIN}|NULL)(?![\w.]))", _FLAGS
)
_call = pattern(_CALL, _FLAGS)
# The name of a field of a user-defined type, and the colon after it.
_field = pattern(rf'{_SPACES}(?:[a-z]\w*|"[^"]*(?:""[^"]*)*"){_SPACES}:', _FLAGS)
# What may follow after a literal inside brackets.
_next = pattern(rf"{_SPACES}([,:\]}})])", _FLAGS)
_CLOSING = {"[": "]", "{": "}", "(": ")"}


def is_one_literal(text: str) -> bool:
    """Return True if `text` is one CQL literal or one call of a function, and nothing else.

    :param text: a number, quoted string, UUID, blob, duration or boolean; or a list, set, map,
        tuple, value of a user-defined type or call, with any of these inside.
    """
    if _plain.fullmatch(text) is not None:
        return True
    return (text[:1] in _CLOSING or _call.match(text) is not None) and _is_one_container(text)


def _is_one_container(text: str) -> bool:
    """Return True if `text` is the literal of a container, or a call of a function."""
    closing: list[str] = []  # the closing bracket of each open bracket
    # For each open bracket: True if the current item inside the bracket has a colon already.
    has_colon: list[bool] = []
    position = 0
    # If the text just before `position` is an opening bracket: the closing brackets that may follow
    # directly. A tuple must not be empty, so ")" may follow directly only after the parenthesis of
    # a function call.
    may_close = ""
    while True:
        # A literal must begin at `position`. Inside braces, it may have the name of a field in
        # front.
        if closing and closing[-1] == "}" and not has_colon[-1]:
            field = _field.match(text, position)
            if field is not None:
                position = field.end()
                has_colon[-1] = True
                may_close = ""
        start = _start.match(text, position)
        if start is None:
            return False
        position = start.end()
        bracket = "(" if start["call"] is not None else start["bracket"]
        if bracket in _CLOSING:
            closing.append(_CLOSING[bracket])
            has_colon.append(False)
            may_close = ")" if start["call"] is not None else "]}"
            continue
        if bracket is not None:
            # A closing bracket in the place of a literal is valid only if the list, set, map or
            # call is empty.
            if bracket not in may_close or not closing or bracket != closing.pop():
                return False
            has_colon.pop()
        may_close = ""
        # A literal ends at `position`. Read what follows it, and leave this loop at a comma or
        # colon, after which another literal must follow.
        while closing:
            mark = _next.match(text, position)
            if mark is None:
                return False
            position = mark.end()
            if mark[1] == ",":
                has_colon[-1] = False
                break
            if mark[1] == ":":
                if closing[-1] != "}" or has_colon[-1]:
                    return False
                has_colon[-1] = True
                break
            if mark[1] != closing.pop():
                return False
            has_colon.pop()
        if not closing:
            return position == len(text)
