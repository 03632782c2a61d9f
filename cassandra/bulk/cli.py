"""The command ``python -m cassandra.bulk``, with the subcommands load, unload, copy and count."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import ssl
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from cassandra._command_words import CommandParser, CommandWords
from cassandra._connecting import add_connection_options, connection_settings, reason_of
from cassandra._misspelt import nearest
from cassandra.bulk.copy import CopyReport, copy
from cassandra.bulk.options import LoadOptions
from cassandra.bulk.report import LoadError, LoadReport
from cassandra.bulk.unload_form import FileForm
from cassandra.cluster.cluster import Cluster
from cassandra.consistency import level_of
from cassandra.errors import DriverException

if TYPE_CHECKING:
    from cassandra.bulk.unload import UnloadReport
    from cassandra.cluster.session import Session

DESCRIPTION = (
    "Whole files into tables of a Cassandra or ScyllaDB cluster, and whole tables into files."
)
UNLOAD = """\
Write a whole table into the files of a folder, which must be empty or not be there yet. When all is
there, _manifest.json is written.
"""
COUNT = "Count the rows of a table, by ranges of its tokens in parallel."
LOAD = """\
Write all rows of files (CSV, JSON lines, Parquet; also .gz, .bz2, .xz, .zst and .lz4) into a table.
Columns are found by their names.
"""
COPY = """\
Copy the rows of a table into another table that has columns of the same names and types, in the
same cluster or in the cluster of --to-hosts. Nulls are not written.
"""
EXAMPLES = """\
examples:
  python -m cassandra.bulk load shop.orders orders-*.csv.gz --hosts 10.0.0.1
  python -m cassandra.bulk load shop.orders orders.csv --null "" --null NULL --dry-run
  python -m cassandra.bulk load shop.orders orders.csv --max-errors -1 --failed-rows bad.jsonl
  python -m cassandra.bulk unload shop.orders orders-folder --format csv
  python -m cassandra.bulk copy shop.orders archive.orders --where "day < '2026-01-01'"
  python -m cassandra.bulk count shop.orders

exit codes: 0 if everything went well, 1 if not, 2 if the command line is wrong
"""
EPILOG = f"""\
Any of these options may be in a TOML file (--config), by its long name with underscores:
hosts = ["10.0.0.1"], max_errors = 10. Options of the command line override those of the file.

{EXAMPLES}"""


# For each command, an example that an error message shows if an argument is missing.
_EXAMPLES = {
    "load": "load shop.orders orders.csv --hosts 10.0.0.1",
    "unload": "unload shop.orders orders-folder --hosts 10.0.0.1",
    "copy": "copy shop.orders archive.orders --hosts 10.0.0.1",
    "count": "count shop.orders --hosts 10.0.0.1",
}


class _Parser(CommandParser):
    """The parser of each command; its errors say what to write instead."""

    typed: Sequence[str] = ()  # the arguments that the user typed

    def error(self, message: str) -> NoReturn:
        """Print the error with advice, and exit.

        :param message: the message of argparse.
        """
        if message.startswith("unrecognized arguments"):
            words = message.split()
            advice = [text for name, text in _COUNTERPARTS.items() if name in words]
            message = "; ".join([message, *dict.fromkeys(advice)])
        elif message.startswith("the following arguments are required"):
            # The main parser has no example: its only required argument is the command. Show the
            # example of ``load``.
            example = _EXAMPLES.get(self.prog.rpartition(" ")[2], _EXAMPLES["load"])
            message += f"; for example: python -m cassandra.bulk {example}"
            if any(word.startswith(("--host", "--to-hosts")) for word in self.typed):
                message += " (the hosts last, because the option takes all words that follow)"
        elif message.startswith("argument COMMAND: invalid choice: "):
            word = message.removeprefix("argument COMMAND: invalid choice: ").split()[0].strip("'")
            command = _COMMANDS_OF_OTHERS.get(word)
            if command is not None:
                message += f"; write python -m cassandra.bulk {_EXAMPLES[command]}"
            elif "." in word:
                message += "; the command comes first, then the table"
        for beginning, advice_on_value in _ADVICE_ON_VALUES.items():
            if message.startswith(f"argument {beginning}"):
                message += f"; {advice_on_value}"
        super().error(message)


# Maps names of commands in other tools to our command that does the same.
_COMMANDS_OF_OTHERS = {
    **dict.fromkeys(("import", "insert", "write", "upload", "restore"), "load"),
    **dict.fromkeys(("export", "dump", "read", "download", "backup"), "unload"),
    **dict.fromkeys(("cp", "migrate", "clone"), "copy"),
    **dict.fromkeys(("wc", "size"), "count"),
}

# Advice for options with an invalid value, by the beginning of argparse's message.
_ADVICE_ON_VALUES = {
    "--ttl: invalid": "write seconds, such as 86400 for a day",
    "--timestamp: invalid": "write microseconds since 1970, such as $(date +%s)000000",
    "--max-errors: invalid": "-1 means no limit",
    "--format: invalid choice: 'json'": "JSON is read and written as lines, jsonl",
}

# Maps options of dsbulk and other tools to advice on what to write instead.
_COUNTERPARTS = {
    **dict.fromkeys(
        ("-k", "-t", "--keyspace", "--table", "--schema.keyspace", "--schema.table"),
        "the table is the first argument, as keyspace.table",
    ),
    **dict.fromkeys(
        ("-url", "--url", "--connector.csv.url", "--file"),
        "the files, or the folder of unload, are the second argument",
    ),
    **dict.fromkeys(("-port",), "write --port 9042"),
    **dict.fromkeys(("-u", "--username"), "write --user NAME"),
    **dict.fromkeys(("-p", "--password"), "write --password-env VARIABLE, or --password-file FILE"),
    **dict.fromkeys(("-c", "--connector.name"), "write --format csv, jsonl or parquet"),
    **dict.fromkeys(("-cl", "--consistency"), "write --consistency-level LEVEL"),
    **dict.fromkeys(("-m", "--schema.mapping"), "write --columns field=column,field=column"),
    **dict.fromkeys(("-header", "--header"), "write --no-header if there is none"),
    **dict.fromkeys(("-delim", "--sep", "--connector.csv.delimiter"), "write --delimiter ';'"),
    **dict.fromkeys(("--null-value", "--nullval", "--codec.nullStrings"), "write --null TEXT"),
    **dict.fromkeys(("-maxErrors", "--maxerrors"), "write --max-errors N"),
    **dict.fromkeys(("-query", "--query"), "write the table, and --where or --columns"),
    **dict.fromkeys(
        ("-skip", "--skip", "--skiprows"),
        "all rows of a file are read; in a pipe: tail -n +5 FILE | ... load TABLE - --format csv",
    ),
    **dict.fromkeys(("-dryRun",), "write --dry-run"),
    **dict.fromkeys(
        ("--rate", "--max-rate", "-maxPerSecond", "--rate-limit", "--ops"),
        "there is no rate limit: write a small --concurrency N",
    ),
}


def _character(text: str) -> str:
    r"""Return the value of an option that takes one character; \t means a tab."""
    return "\t" if text == r"\t" else text


def _parser() -> tuple[_Parser, dict[str, _Parser]]:
    """Return the main parser, and the parsers of the commands by command name."""
    parser = _Parser(
        prog="python -m cassandra.bulk",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_load_options(_add_command(commands, "load", "files into a table", LOAD))
    _add_unload_options(_add_command(commands, "unload", "a table into files", UNLOAD))
    _add_copy_options(_add_command(commands, "copy", "a table into another one", COPY))
    _add_scan_options(_add_command(commands, "count", "the number of rows", COUNT))
    return parser, commands.choices


def _add_command(
    commands: Any, name: str, help_text: str, description: str
) -> argparse.ArgumentParser:
    """Add a command, with the options that all commands have, and return its parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=help_text,
        description=description,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    # Options that are not about connections or requests.
    parser.add_argument("table", metavar="TABLE", help="keyspace.table")
    add_option = parser.add_argument
    add_option("--config", type=Path, metavar="FILE", help="a TOML file with options")
    add_option("--json", action="store_true", help="print the report as JSON")
    # Options of the connection to the cluster.
    connection = parser.add_argument_group("connection")
    connection.add_argument(
        "--hosts", nargs="+", metavar="HOST", help="contact points (default: 127.0.0.1)"
    )
    add_connection_options(connection)
    # Options of the requests.
    add_option = parser.add_argument_group("requests").add_argument
    add_option(
        "--consistency-level", metavar="LEVEL", help="such as LOCAL_QUORUM (default: LOCAL_ONE)"
    )
    add_option("--timeout", type=float, metavar="SECONDS", help="for each request (default: 10)")
    add_option(
        "--concurrency",
        type=int,
        metavar="N",
        help="maximum number of requests in flight (default: 1024 for load, 16 otherwise)",
    )
    add_option("--compress", action="store_true", help="compress requests (for slow networks)")
    return parser


def _add_scan_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of commands that read tables."""
    add_option = parser.add_argument
    add_option("--where", metavar="CONDITION", help="a condition in CQL")
    add_option("--page-size", type=int, metavar="ROWS", help="rows of a page (default: 5000)")
    add_option(
        "--splits",
        type=int,
        metavar="N",
        help="token ranges (default: of about 32 MiB each)",
    )
    add_option("--no-progress", dest="progress", action="store_false", help="do not show progress")
    # None means that neither the command line nor the TOML file sets this option. Progress is then
    # shown only on a terminal.
    parser.set_defaults(progress=None)


def _add_unload_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``unload``."""
    add_option = parser.add_argument
    add_option("folder", metavar="FOLDER", help="where the files are written")
    _add_scan_options(parser)
    add_option(
        "--limit", type=int, metavar="ROWS", help="read at most this many rows, in no defined order"
    )
    add_option("--columns", metavar="NAMES", help="columns to write: a,b,c")
    add_option("--format", choices=("csv", "jsonl", "parquet"), help="default: parquet")
    add_option("--compression", metavar="CODEC", help="gzip, or a codec of Parquet")
    add_option(
        "--decimals", metavar="PRECISION,SCALE", help="decimals of Parquet (default: strings)"
    )
    add_option("--varints", choices=("text", "int64"), help="varints of Parquet (default: text)")
    add_option(
        "--no-header", dest="header", action="store_false", help="CSV without a line of names"
    )
    add_option("--delimiter", type=_character, help="between fields of CSV (default: a comma)")
    add_option("--quote", help="around fields of CSV (default: a double quote)")
    add_option("--null", metavar="TEXT", help="string for null in CSV (default: the empty string)")
    add_option("--encoding", metavar="NAME", help="of CSV and JSON lines (default: utf-8)")
    add_option("--date-format", metavar="FORMAT", help="as for strftime (default: ISO 8601)")
    add_option("--timestamp-format", metavar="FORMAT", help="as for strftime (default: ISO 8601)")
    # None means that the option was not given; `FileForm` then applies its own default.
    parser.set_defaults(header=None)


def _add_copy_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``copy``."""
    add_option = parser.add_argument
    add_option("other", metavar="OTHER_TABLE", help="keyspace.table that is written")
    add_option("--to-hosts", nargs="+", metavar="HOST", help="contact points of another cluster")
    # The options of the connection to the other cluster begin with "--to-".
    add_connection_options(parser, "to-")
    _add_scan_options(parser)
    add_option(
        "--limit", type=int, metavar="ROWS", help="read at most this many rows, in no defined order"
    )
    add_option("--columns", metavar="NAMES", help="columns to copy: a,b,c")
    add_option(
        "--keep-ttl", action="store_true", help="keep the remaining time to live of each value"
    )
    add_option(
        "--keep-write-time", action="store_true", help="values have the write times they had"
    )
    add_option("--write-concurrency", type=int, metavar="N", help="writes in flight at most")
    add_option(
        "--dry-run", action="store_true", help="check the tables and read all rows, write none"
    )


class _Repeated(argparse.Action):
    """Collects the values of an option that may be repeated.

    A single value stays a string; several values become a list. Values of the command line replace
    the default, which comes from the TOML file.
    """

    is_repeated = True

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        # Collect the values in a separate attribute. The option's own attribute may already have
        # the default from the TOML file, to which we must not append.
        collected_name = f"_collected_{self.dest}"
        collected = [*getattr(namespace, collected_name, ()), values]
        setattr(namespace, collected_name, collected)
        setattr(namespace, self.dest, values if len(collected) == 1 else collected)


def _add_load_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``load``."""
    add_option = parser.add_argument
    add_option(
        "files", nargs="+", metavar="FILE", help="files, folders or globs; - is standard input"
    )
    add_option = parser.add_argument_group("format of the files").add_argument
    add_option("--format", choices=("csv", "jsonl", "parquet"), help="default: by the files' names")
    add_option(
        "--no-header", dest="header", action="store_false", help="CSV without a line of names"
    )
    add_option(
        "--delimiter",
        type=_character,
        help="between fields of CSV (default: a comma; a tab in .tsv), \\t for a tab",
    )
    add_option("--quote", help="around fields of CSV (default: a double quote)")
    add_option(
        "--null",
        metavar="TEXT",
        action=_Repeated,
        help="string that means null in CSV (default: the empty string); may be repeated",
    )
    add_option("--encoding", metavar="NAME", help="of CSV and JSON lines (default: utf-8)")
    for name, named_formats in (("--date-format", "iso"), ("--timestamp-format", "iso or ms")):
        add_option(
            name,
            metavar="FORMAT",
            action=_Repeated,
            help=f"as for strptime, or {named_formats} (default: {named_formats}); may be repeated:"
            " the first that fits",
        )
    add_option = parser.add_argument_group("what is written").add_argument
    add_option(
        "--columns", metavar="NAMES", help="columns to write: a,b,c, or field=column,field=column"
    )
    add_option("--ignore", metavar="NAMES", help="fields to leave out: a,b,c")
    add_option(
        "--batch",
        choices=("replica", "partition", "none"),
        help="which rows are grouped (default: replica)",
    )
    add_option("--ttl", type=int, metavar="SECONDS", help="time to live of all values")
    add_option("--ttl-column", metavar="FIELD", help="field with the time to live of each row")
    add_option("--timestamp", type=int, metavar="MICROSECONDS", help="write time of all rows")
    add_option("--timestamp-column", metavar="FIELD", help="field with the write time of each row")
    add_option("--counters", action="store_true", help="add the values to counters")
    add_option = parser.add_argument_group("errors and progress").add_argument
    add_option("--dry-run", action="store_true", help="read and check all rows, write none")
    add_option(
        "--max-errors",
        type=int,
        metavar="N",
        help="number of rows that may fail (default: 0); -1 for no limit",
    )
    add_option(
        "--failed-rows", metavar="FILE", help="write rows that failed to a file of JSON lines"
    )
    add_option("--checkpoint", metavar="FILE", help="resume from there if the command is run again")
    add_option(
        "--restart", action="store_true", default=None, help="ignore what the checkpoint says"
    )
    add_option("--no-progress", dest="progress", action="store_false", help="do not show progress")
    # None means that neither the command line nor the TOML file sets this option. Progress is then
    # shown only on a terminal.
    parser.set_defaults(header=True, progress=None)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    :param arguments: the arguments of the command; None for ``sys.argv[1:]``.
    """
    if sys.stderr is None:
        # Without a stream, `print(file=sys.stderr)` would print to the standard output.
        with open(os.devnull, "w") as sink, redirect_stderr(sink):
            return main(arguments)
    parser, parsers = _parser()
    for each in (parser, *parsers.values()):
        each.typed = sys.argv[1:] if arguments is None else arguments
    options = parser.parse_args(arguments)
    # The library's errors name Python parameters, such as `max_errors`. `words` translates them to
    # options of the command, such as `--max-errors`.
    words = CommandWords.of([parsers[options.command]])
    file_options: dict[str, Any] = {}
    try:
        if options.config is not None:
            # Set the file's options as defaults, so that the command line takes precedence.
            file_options = _options_in_file(options, parsers[options.command])
            parsers[options.command].set_defaults(**file_options)
            # Parse again, because the new defaults apply from now on.
            options = parser.parse_args(arguments)
        options.words = words
        # A shell has no lists, so `--hosts a,b` means two hosts.
        options.hosts = [host for hosts in options.hosts or () for host in hosts.split(",") if host]
        # A secure connect bundle has the contact points, so there is no default host.
        options.hosts = options.hosts or ([] if options.cloud_bundle else ["127.0.0.1"])
        settings = connection_settings(options)
        # Each function checks its options, and returns a function that does the work. So invalid
        # options are reported before we connect.
        commands = {"load": _load, "unload": _unload, "copy": _copy, "count": _count}
        run = commands[options.command](options)
    except (OSError, ssl.SSLError, KeyError, ValueError, TypeError) as error:
        parser.error(words.translate(reason_of(error)))
    try:
        with (
            _translated_warnings(words),
            Cluster(**settings, compression=options.compress) as cluster,
        ):
            return run(cluster.connect())
    except LoadError as error:
        _show(error.report, options)
        print(f"error: {words.translate(str(error))}", file=sys.stderr)
        return 1
    except (DriverException, OSError, *_MISTAKES) as error:
        # If the TOML file sets an option that the error names, name the file, too.
        named = [name for name in file_options if f"{name}=" in str(error)]
        origin = f" ({options.config} sets {', '.join(named)})" if named else ""
        print(f"error: {words.translate(str(error))}{origin}", file=sys.stderr)
        for note in getattr(error, "__notes__", ()):
            print(words.translate(note), file=sys.stderr)
        return 1
    except KeyboardInterrupt as error:
        # An interrupted load attaches its report to the error.
        report = getattr(error, "report", None)
        if report is not None:
            _show(report, options)
        print("stopped" + _resume_hint(options), file=sys.stderr)
        return 1


@contextmanager
def _translated_warnings(words: CommandWords) -> Iterator[None]:
    """Print each warning of the library on one line, with the command's option names."""

    def show(message: Warning | str, *details: object, **more: object) -> None:
        print(f"warning: {words.translate(str(message))}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


# Classes of errors about values and files, including errors of pyarrow. They are reported on one
# line, without a traceback.
_MISTAKES = (ValueError, TypeError, NotImplementedError, ArithmeticError, RuntimeError)


def _resume_hint(options: argparse.Namespace) -> str:
    has_checkpoint = getattr(options, "checkpoint", None) is not None
    return "; run the same command again to go on" if has_checkpoint else ""


Run = Callable[["Session"], int]  # called with a session; returns the exit code


def _load(options: argparse.Namespace) -> Run:
    """Return a function that loads the files."""
    load_options = _load_options(options)
    # `LoadOptions` checks the options, so that errors are reported before we connect.
    first_file = options.files[0]
    # The user may have written the keyspace and the table as two words: advise to join them.
    if (
        "." not in options.table
        and re.fullmatch(r"\w+", first_file)
        and not Path(first_file).exists()
    ):
        raise ValueError(
            f"no file is named {first_file!r}: for a table, write {options.table}.{first_file}"
        )

    def run(session: Session) -> int:
        report = session.load(options.table, options.files, **load_options)
        _show(report, options)
        # Rows that have failed in earlier runs are not in the table, either.
        return int(report.failed + report.skipped_failed > 0)

    return run


def _unload(options: argparse.Namespace) -> Run:
    """Return a function that unloads the table."""
    form_options = [field.name for field in fields(FileForm)]
    scan_options = _scan_options(options, "format", "compression", "varints", *form_options)
    # Check the options before we connect.
    form = FileForm(**{name: scan_options[name] for name in form_options if name in scan_options})
    form.check(scan_options.get("format", "parquet"))
    if options.decimals is not None:
        scan_options["decimals"] = _decimals(options.decimals)
    if options.columns is not None:
        scan_options["columns"] = _names(options.columns)

    def run(session: Session) -> int:
        _show(session.unload(options.table, options.folder, **scan_options), options)
        return 0

    return run


def _count(options: argparse.Namespace) -> Run:
    """Return a function that counts the rows and prints the number."""
    scan_options = _scan_options(options)

    def run(session: Session) -> int:
        count = session.count(options.table, **scan_options)
        print(json.dumps({"rows": count}) if options.json else count)
        return 0

    return run


def _copy(options: argparse.Namespace) -> Run:
    """Return a function that copies the table, to another cluster if ``--to-hosts`` is given."""
    scan_options = _scan_options(
        options, "keep_ttl", "keep_write_time", "write_concurrency", "dry_run"
    )
    if options.columns is not None:
        scan_options["columns"] = _names(options.columns)
    copies_to_other_cluster = options.to_hosts is not None or options.to_cloud_bundle is not None
    settings = connection_settings(options, "to-") if copies_to_other_cluster else None

    def run(session: Session) -> int:
        """Copy the table with a session of the source cluster, and print the report."""
        # Without another cluster, the same session reads and writes.
        if settings is None:
            _show(copy(session, options.table, session, options.other, **scan_options), options)
            return 0
        with Cluster(**settings, compression=options.compress) as cluster:
            other_session = cluster.connect()
            _show(
                copy(session, options.table, other_session, options.other, **scan_options), options
            )
        return 0

    return run


def _scan_options(options: argparse.Namespace, *more: str) -> dict[str, Any]:
    """Return the options of `Session.scan` that the command line or the TOML file sets.

    :param more: the names of further options that this command has.
    """
    names = ("where", "page_size", "splits", "limit", "concurrency", "timeout", *more)
    scan_options = {
        name: value for name in names if (value := getattr(options, name, None)) is not None
    }
    if options.consistency_level is not None:
        scan_options["consistency_level"] = level_of(options.consistency_level)
    shows_progress = options.progress
    # If neither the command line nor the TOML file sets `progress`, show it only on a terminal.
    if shows_progress is None:
        shows_progress = sys.stderr is not None and sys.stderr.isatty()
    if shows_progress:
        scan_options["progress"] = True
    return scan_options


def _show(report: LoadReport | UnloadReport | CopyReport, options: argparse.Namespace) -> None:
    if options.json:
        print(json.dumps(report.as_dict(), indent=2))
    else:
        print(options.words.translate(str(report)))


def _load_options(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of `Session.load` that the command line or the TOML file sets."""
    load_options = {
        field.name: value
        for field in fields(LoadOptions)
        if (value := getattr(options, field.name, None)) is not None
    }
    if isinstance(options.columns, str):
        load_options["columns"] = _columns(options.columns)
    if isinstance(options.ignore, str):
        load_options["ignore"] = [name.strip() for name in options.ignore.split(",")]
    # A command line cannot express None, so users write "none" or -1 instead.
    if options.batch == "none":
        load_options["batch"] = None
    if options.max_errors == -1:
        load_options["max_errors"] = None
    if options.consistency_level is not None:
        load_options["consistency_level"] = level_of(options.consistency_level)
    LoadOptions(**load_options)  # its constructor checks the options, before we connect
    return load_options


def _decimals(argument: str | list[int]) -> Literal["text"] | tuple[int, int]:
    """Return the value of ``--decimals``: "text", or (precision, scale).

    :param argument: the option's value; in a TOML file, it may be a list of two numbers.
    """
    if isinstance(argument, list):
        return argument[0], argument[1]
    if argument == "text":
        return "text"
    precision, _, scale = argument.partition(",")
    try:
        return int(precision), int(scale)
    except ValueError:
        raise ValueError(
            f"--decimals is a precision and a scale, as 38,10, and not {argument!r}"
        ) from None


def _names(argument: str | list[str]) -> list[str]:
    """Return the columns of ``--columns``: "a,b" or, in a TOML file, a list."""
    names = argument.split(",") if isinstance(argument, str) else argument
    return [name.strip() for name in names]


def _columns(argument: str) -> dict[str, str] | list[str]:
    """Return the value of ``--columns``.

    The value is a list of columns; or, if any part of the argument is ``field=column``, a dict of
    column names by field name.
    """
    parts = _names(argument)
    if not any("=" in part for part in parts):
        return parts
    pairs = [part.partition("=") for part in parts]
    return {field: column or field for field, _, column in pairs}


def _options_in_file(
    options: argparse.Namespace, parser: argparse.ArgumentParser
) -> dict[str, Any]:
    """Read the options in the TOML file that ``--config`` names.

    :param parser: the parser of the command.
    """
    try:
        tomllib = importlib.import_module("tomllib")
    except ImportError as error:
        raise ValueError("--config needs Python 3.11 or later") from error
    with options.config.open("rb") as file:
        file_options: Mapping[str, Any] = tomllib.load(file)
    # --no-progress and --no-header set the attributes `progress` and `header`, so rename the TOML
    # options `no_progress` and `no_header` likewise.
    file_options = _without_negations(file_options, os.fspath(options.config))
    # `options` has an attribute for every option of the command, even for options that are not set.
    for name in file_options:
        if not hasattr(options, name) or name in _NOT_IN_FILES:
            known_names = [option for option in vars(options) if option not in _NOT_IN_FILES]
            similar_name = nearest(name.replace("-", "_"), known_names)
            hint = f"; did you mean {similar_name!r}?" if similar_name else ""
            raise ValueError(f"{os.fspath(options.config)} has an unknown option {name!r}{hint}")
    for action in parser._actions:
        value = file_options.get(action.dest)
        expected = None if value is None else _expected(action, value, options.command)
        if expected is not None:
            raise ValueError(
                f"{os.fspath(options.config)}: {action.dest} is {expected}, but is {value!r}"
                f"{_list_advice(action, value)}"
            )
    return {name: Path(value) if name in _PATHS else value for name, value in file_options.items()}


def _expected(action: argparse.Action, value: object, command: str) -> str | None:
    """Return what the value of an option should be, if a TOML file has a value of another type.

    :param action: the option.
    :param value: its value in the file. A number may also be a string, which argparse converts.
    :param command: the name of the command.
    :returns: for example "a string"; None if the type of `value` is suitable.
    """
    is_texts = isinstance(value, list) and all(isinstance(item, str) for item in value)
    if action.nargs == 0:
        # Only a load may have a list of names as its header.
        if action.dest == "header" and command == "load" and is_texts:
            return None
        # Python would take any string for True, even "false".
        return None if isinstance(value, bool) else "true or false"
    # These options take several values, so their value must be a list, even for a single host.
    if action.nargs == "+":
        return None if is_texts else "a list of strings"
    if isinstance(value, str):
        return None
    if action.type in (int, float):
        is_number = isinstance(value, (int, float) if action.type is float else int)
        expected = "a whole number" if action.type is int else "a number"
        return None if is_number and not isinstance(value, bool) else expected
    if action.dest == "decimals":
        is_pair = isinstance(value, list) and [*map(type, value)] == [int, int]
        return None if is_pair else "a precision and a scale, as [38, 10]"
    if action.dest == "columns" and command == "load" and isinstance(value, dict):
        is_named = all(isinstance(name, str) for name in value.values())
        return None if is_named else "a table of column names"
    if getattr(action, "is_repeated", False) or action.dest in ("columns", "ignore"):
        return None if is_texts else "a string or a list of strings"
    return "a string"


def _list_advice(action: argparse.Action, value: object) -> str:
    """Return how to write a single string for an option that takes a list; "" for other values."""
    if action.nargs != "+" or not isinstance(value, str):
        return ""
    return f": write {action.dest} = [{json.dumps(value)}]"


def _without_negations(file_options: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Replace the options ``no_progress`` and ``no_header`` by ``progress`` and ``header``.

    The values are negated. An option without "no" takes precedence over its negation.
    """
    replaced = dict(file_options)
    for name in ("progress", "header"):
        value = replaced.pop(f"no_{name}", None)
        if value is None:
            continue
        if not isinstance(value, bool):
            raise ValueError(f"{path}: no_{name} is true or false, but is {value!r}")
        replaced.setdefault(name, not value)
    return replaced


# The arguments that a TOML file must not have, and the options whose values are paths.
_NOT_IN_FILES = frozenset({"command", "table", "other", "files", "folder", "config"})
_PATHS = frozenset(
    f"{prefix}{name}"
    for prefix in ("", "to_")
    for name in ("password_file", "cafile", "cert", "key", "cloud_bundle")
)
