"""Translates error messages of the library for users of the command line.

The errors of methods such as `Session.load` name parameters of Python: ``max_errors must be ...``
or ``columns= maps ...``. A user of the command line knows these parameters as ``--max-errors`` and
``--columns``. Each command passes its messages through a `CommandWords` object before it prints
them.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import shlex
import sys
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any, NoReturn

from cassandra._misspelt import nearest

# Phrases about Python in messages, and what to write instead on the command line.
_PHRASES = (
    ("where='column > ?', parameters=[5]", "where='column > 5', with the value"),
    ("where='column IN ?', parameters=[[1, 2]]", "where='column IN (1, 2)', with the values"),
    (", and parameters= has 0 values", ", and a command has no values for it"),
    ("None is for no limit", "-1 is for no limit"),
    ("format='csv', 'jsonl' or 'parquet'", "format=csv, jsonl or parquet"),
    ("is None or 'gzip'", "is gzip, or left out"),
    ("and no auth_provider is configured", "and --user is not given"),
    ("load one with ssl_context.load_cert_chain()", "give --cert and --key"),
    ("(ssl_context.load_cert_chain())", "(--cert and --key)"),
    (" (Cluster.connect_timeout)", ""),
    ("; see Session.execute(timeout=...)", "; see --timeout"),
    (", or connect to a keyspace", ""),
    (" (the error's attribute `log` has all of it)", ""),
    (" (the index of a pandas frame is no column: write frame.reset_index())", ""),
)
# A literal in quotes, or a name with an optional value, such as columns={'a': 'b'}.
_WORD = re.compile(
    r"""(?P<quoted>'(?:[^'\\]|\\.)*'|"[^"]*")"""
    # Do not match a part of a path, such as failed_rows.jsonl, which is not a parameter's name.
    r"""|(?<![\w./\\-])(?P<name>[a-z][a-z_]*[a-z])\b(?![./\\-]\w)"""
    r"""(?:(?P<sign>=)(?P<value>\{[^}]*\}|\[[^\]]*\]|\([^)]*\)|'[^']*'|"[^"]*"|\.\.\.|[\w.+-]*\w)?)?"""
)
# If a message begins with a word and one of these words follows, the first word is a parameter.
_VERB = re.compile(r" (?:must|is|are|has|have|cannot|names|of|and)\b")


class CommandParser(argparse.ArgumentParser):
    """The parser of a command. Its errors suggest a similar command or option.

    The parser refuses words such as ``-header`` and ``-hosts``. From Python 3.13 on, argparse takes
    such a word for ``-h``: it shows the help and exits with status 0. A script would then go on
    without the rows that it wanted to load.
    """

    def error(self, message: str) -> NoReturn:
        """Print the error, and exit.

        :param message: the error as argparse words it, or with advice behind a semicolon.
        """
        # If the message has no advice yet, add a suggestion.
        if re.search(r"; \w", message) is None:
            message += self._suggestion(message)
        super().error(message)

    def _suggestion(self, message: str) -> str:
        """Return the command or option that is probably meant; "" if there is none."""
        # The error of argparse for an unknown command lists the known commands.
        match = re.search(r"invalid choice: '(\S+)' \(choose from (.*)\)", message)
        if match is not None:
            similar = nearest(match[1], re.findall(r"[\w-]+", match[2]))
        else:
            # The error for unknown options does not list the known options.
            match = re.search(r"unrecognized arguments: .*?--([\w-]+)", message)
            similar = None if match is None else nearest(match[1], self._all_options())
            similar = similar and f"--{similar}"
        return f"; did you mean {similar}?" if similar else ""

    def _all_options(self) -> list[str]:
        """Return the options of this parser and of its commands, without their hyphens."""
        parsers = [self]
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                parsers += action.choices.values()
        options = {option for parser in parsers for option in parser._option_string_actions}
        return sorted(option[2:] for option in options if option.startswith("--"))

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the arguments of a command.

        :param args: the arguments; None for ``sys.argv[1:]``.
        :param namespace: gets the values, as in `argparse`.
        :returns: the namespace, and the arguments that no option takes.
        """
        # Refuse words that only begin with -h. After -h itself or "--", the words do not matter.
        for word in sys.argv[1:] if args is None else args:
            if word in ("-h", "--help", "--"):
                break
            if word.startswith("-h"):
                self.error(f"unrecognized arguments: {word}")
        return super().parse_known_args(args, namespace)


def run_command(main: Callable[[], int]) -> int:
    """Run a command and return its exit code.

    The exit code is 1 if the program that reads the command's output has ended, as ``head`` does
    after some lines. Characters that the encoding of the output lacks are printed as escapes.

    :param main: runs the command, and returns its exit code.
    """
    # An application may have replaced stdout by an object without this method.
    if getattr(sys.stdout, "errors", None) == "strict" and hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:
        # Replace stdout, because the interpreter flushes stdout at exit, which would fail, too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


class CommandWords:
    """Translates messages that name Python parameters into the options of a command.

    :param options: the option that stands for each Python parameter, as it is typed.
    :param repeated: the options that are given once for each value of a list.
    """

    def __init__(self, options: Mapping[str, str], repeated: Container[str] = ()) -> None:
        self._options = dict(options)
        self._repeated = repeated

    @classmethod
    def of(cls, parsers: Iterable[argparse.ArgumentParser]) -> CommandWords:
        """Return the words for the options of parsers.

        An action with the attribute `is_repeated` belongs to an option that is given once for each
        value.

        :param parsers: the parsers of a command. If several parsers have an option, the first
            parser decides how it is typed.
        """
        options: dict[str, str] = {}
        repeated: set[str] = set()
        for parser in parsers:
            for action in parser._actions:
                if action.option_strings and action.dest != "help":
                    option = options.setdefault(action.dest, action.option_strings[-1])
                    if getattr(action, "is_repeated", False):
                        repeated.add(option)
        return cls(options, repeated)

    def translate(self, message: str) -> str:
        """Return a message in which each parameter is replaced by its option, such as --max-errors.

        A parameter is recognized by a ``=`` after its name, by an underscore in its name, or if it
        is the subject of the message. Names in quotes are values, and are not changed.

        :param message: the message of an error or a warning.
        """
        for phrase, replacement in _PHRASES:
            message = message.replace(phrase, replacement)
        return _WORD.sub(self._translate_word, message)

    def _translate_word(self, match: re.Match[str]) -> str:
        """Return a word of the message as an option; return it unchanged if it is no parameter.

        :param match: a match of `_WORD`.
        """
        option = self._options.get(match["name"] or "")
        if option is None:
            return match[0]
        # Without a "=", the word may be an ordinary English word: replace it only if it has an
        # underscore, or if it is the subject of the message.
        if match["sign"] is None:
            is_subject = match.start() == 0 and _VERB.match(match.string, match.end())
            return option if "_" in match["name"] or is_subject else match[0]
        text = match["value"] or ""
        values = _literal_of(text) if option in self._repeated else None
        if isinstance(values, list) and values:
            return " ".join(f"{option} {shlex.quote(str(value))}" for value in values)
        value = _value_of(text)
        return f"{option} {value}" if value else option


def _literal_of(text: str) -> Any:
    """Return the value of a Python literal; None if `text` is not a literal.

    :param text: a part of a message, which may contain data of the user.
    """
    # Catch all errors: besides SyntaxError, there is TypeError for {[]: 1}, and RecursionError or
    # MemoryError for very deep nesting.
    try:
        return ast.literal_eval(text)
    except Exception:
        return None


def _value_of(text: str) -> str:
    """Return a Python value as it is typed on a command line.

    Return "" for True, False and None, because the options for these have no value.
    """
    if text in ("True", "False", "None", ""):
        return ""
    value = _literal_of(text)
    if value is None:
        return text
    # An option takes a dict as field=column, ..., and a list as values with commas between.
    if isinstance(value, dict):
        value = ",".join(f"{field}={column}" for field, column in value.items())
    elif isinstance(value, (list, tuple)):
        value = ",".join(map(str, value))
    return text if value is ... else shlex.quote(str(value))
