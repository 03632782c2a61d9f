"""Removes literals and secrets from CQL, for people who may have no right to read them.

Errors, log lines, spans and recordings show parts of statements. A statement about a role or a user
has a password, and so may a statement whose first word is misspelt.
"""

from __future__ import annotations

import re

from cassandra._patterns import pattern

# Matches one white space character or one comment. There is only one way to match any string by
# repetitions of this pattern. Otherwise a repetition could take exponential time.
_SPACE = r"(?: \s | (?:--|//)[^\n]*(?:\n|\Z) | /\*(?:(?!\*/).)*(?:\*/|\Z) )"

# Matches the parts (tokens) of a statement that `_replacement` replaces or keeps. The group `value`
# is a complete string, `open` is a string whose closing quote is missing, and `misquoted` is a
# value in double quotes.
_TOKENS = rf"""
      (?P<misquoted> (?<==) \s*"(?:[^"]|"")*(?:"|\Z) )
    | (?P<space> {_SPACE}+ )
    | (?P<open> '(?:[^']|'')*\Z | \$\$(?:(?!\$\$).)*\Z )
    | (?P<value> '(?:[^']|'')*'\w* | \$\$.*?\$\$ )
    | (?P<name> "(?:[^"]|"")*(?:"|\Z) )
    | (?P<uuid> \b[0-9a-fA-F]{{8}}(?:-[0-9a-fA-F]{{4}}){{3}}-[0-9a-fA-F]{{12}}\b )
    | (?P<number> (?<![\w"])[-+]?\b\d[\w.]*(?:[eE][-+]?\d+)? )
    | (?P<duration> (?<![\w"])-?\bP(?=T?\d)(?:\d+[YMWD])*(?:T(?:\d+[HMS])*)?\b )
    """

# Matches the start of a statement about roles. Any literal in such a statement may be a secret.
_ROLE = rf"""
    (?: {_SPACE} | ; )* (?:CREATE|ALTER|ADD|DROP) {_SPACE}+
    (?: (?:GENERATED|OR|REPLACE|IF|NOT|EXISTS) {_SPACE}+ )* (?:ROLE|USER|IDENTITY)\b
    """
# Matches the option of a role that has a password or its hash.
_PASSWORD = rf"(?: (?:HASHED{_SPACE}+)?PASSWORD | SALTED{_SPACE}+HASH )"
# Matches passwords in other statements, for example in a statement whose first word is misspelt.
_ASSIGNMENT = rf"""
    ( \b{_PASSWORD}{_SPACE}*={_SPACE}* | \b(?:WITH|AND){_SPACE}+{_PASSWORD}{_SPACE}* )
    (?: '(?:[^']|'')*(?:'|\Z) | \$\$.*?(?:\$\$|\Z) )
    """
# Keywords that may follow WITH in a statement about roles. Any other word may be part of a secret.
_ROLE_OPTIONS = frozenset(
    {
        *("password", "hashed", "salted", "hash", "generated", "login", "superuser", "nosuperuser"),
        *("options", "access", "to", "from", "all", "datacenters", "cidrs"),
        *("with", "and", "true", "false"),
    }
)

# The number of characters of a statement that are analysed. A description omits the rest.
_MAX_CQL_LENGTH = 1 << 14

_tokens = pattern(_TOKENS, re.VERBOSE | re.DOTALL)
_quote = pattern(r"'|\$\$", 0)  # the beginning of a string
_role = pattern(_ROLE, re.VERBOSE | re.DOTALL | re.IGNORECASE)
_assignment = pattern(_ASSIGNMENT, re.VERBOSE | re.DOTALL | re.IGNORECASE)
_with = pattern(r"\bWITH\b", re.IGNORECASE)
_option = pattern(r"[^\s=:,{}?;]+")  # a word in the options of a statement about roles
_words = pattern(r"\w+")

_UNSAFE_MESSAGE = "the server's message is left out, because it may repeat a password"
# A server's message is left out if it has this many characters of a secret.
_SECRET_PART = 4


def without_values(text: str) -> str:
    """Return CQL with ? in place of each literal, and without comments.

    Strings, numbers, blobs, UUIDs and durations are literals. Names are kept, including names in
    double quotes. White space becomes a single space. If the closing quote of a string is missing,
    everything after the first quote is left out. A value in double quotes (``PASSWORD = "secret"``)
    is left out, too. In statements about roles and users, all words after WITH that are not
    keywords are replaced by ?.

    :param text: the CQL. Only its first 16,384 characters are used.
    """
    if not is_about_roles(text):
        return _without_literals(text)
    # The password in such a statement may have no quotes, or wrong quotes, and is then not a
    # literal. So after WITH, keep only keywords.
    shown_text = _without_literals(text)
    with_match = _with.search(shown_text)
    start = len(shown_text) if with_match is None else with_match.start()
    return shown_text[:start] + _option.sub(_option_or_marker, shown_text[start:])


def _option_or_marker(match: re.Match[str]) -> str:
    """Return a word of a statement about roles; return ? if the word is not a keyword."""
    word = match.group()
    return word if word.lower() in _ROLE_OPTIONS else "?"


def _without_literals(text: str) -> str:
    """Return CQL with ? in place of each literal, and without comments."""
    if len(text) > _MAX_CQL_LENGTH:
        # If the statement is cut inside a string, the beginning of that string is an `open` token,
        # which is replaced.
        return _tokens.sub(_replacement, text[:_MAX_CQL_LENGTH]).strip() + "..."
    if any(match.lastgroup == "open" for match in _tokens.finditer(text)):
        # A string has no end, because a quote is missing or was not doubled. So any word after the
        # first quote may be part of a value: remove them all. The quote that we append is an `open`
        # token, which becomes ?.
        text = text[: _quote.search(text).start()] + "'"  # type: ignore[union-attr]  # there is one
    return _tokens.sub(_replacement, text).strip()


def is_about_roles(text: str) -> bool:
    """Return True if a statement creates, changes or drops a role, a user or an identity.

    :param text: the CQL.
    """
    return _role.match(text) is not None


def without_secrets(text: str) -> str:
    """Return CQL without passwords and other secrets. Other values are kept.

    All values of statements about roles and users are removed, as by `without_values`. In all other
    statements, ``'***'`` replaces a string after ``password =``. Applying this function to its
    result changes nothing.

    :param text: the CQL. Only the first 16,384 characters of a statement about roles are used.
    """
    if is_about_roles(text):
        return without_values(text)
    return _assignment.sub(r"\1'***'", text)


def message_without_secrets(message: str, text: str) -> str:
    """Return a server's error or warning about a statement without the statement's secrets.

    :param message: the server's message.
    :param text: the CQL of the statement.
    :returns: the message with ``***`` in place of secrets. If it may still contain a part of the
        statement, a fixed message is returned instead.
    """
    shown_text = without_secrets(text)
    if shown_text == text:
        return message
    shown_words = set(_words.findall(shown_text))
    literals = {
        match.group().strip("'$\"")
        for match in _tokens.finditer(text)
        if match.lastgroup not in ("space", "name")
    }
    # All literals are secrets, and so are all words that are not in `shown_text`. Replace longer
    # secrets first, because they may contain shorter secrets.
    secrets = sorted(
        ({*_words.findall(text)} - shown_words | literals) - {""}, key=len, reverse=True
    )
    for secret in secrets:
        message = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", message)
    # If the message still has a part of a secret, do not show it. Do the same if it has a quote or
    # "...", because it may then quote a part of the statement that is too short to be found.
    has_part = any(
        secret[start : start + _SECRET_PART] in message
        for secret in secrets
        for start in range(len(secret) - _SECRET_PART + 1)
    )
    return _UNSAFE_MESSAGE if has_part or "'" in message or "..." in message else message


def _replacement(match: re.Match[str]) -> str:
    """Return the string that replaces a token of `_TOKENS`."""
    token_type = match.lastgroup
    if token_type == "name":
        return match.group()
    # The token of a misquoted value includes the white space before the value, so add a space.
    return " " if token_type == "space" else " ?" if token_type == "misquoted" else "?"
