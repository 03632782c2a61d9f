"""The command ``python -m cassandra.bulk load TABLE FILE...``."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import ssl
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from cassandra._connecting import add_connection_options, connection_settings, reason_of
from cassandra.bulk.options import LoadOptions
from cassandra.bulk.report import LoadError
from cassandra.cluster.cluster import Cluster
from cassandra.consistency import ConsistencyLevel
from cassandra.errors import DriverException

__all__ = ["main"]

DESCRIPTION = "Write whole files into tables of a Cassandra or ScyllaDB cluster."
LOAD = """\
Write all rows of files (CSV, JSON lines, Parquet; also .gz and .zst) into a table. Columns are
found by their names.
"""
EPILOG = """\
A file of TOML gives any of these options by its long name, with underscores: hosts = ["10.0.0.1"],
max_errors = 10. What stands in the command comes first.

exit codes: 0 if all rows were written, 1 if some were not, 2 if the command cannot be understood
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m cassandra.bulk", description=DESCRIPTION)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    load = commands.add_parser(
        "load",
        help="files into a table",
        description=LOAD,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = load.add_argument
    add("table", metavar="TABLE", help="keyspace.table")
    add("files", nargs="+", metavar="FILE", help="files, folders or globs")
    add("--hosts", nargs="+", metavar="HOST", help="contact points (default: 127.0.0.1)")
    add_connection_options(load)
    add("--config", type=Path, metavar="FILE", help="a file of TOML with options")
    add("--columns", metavar="NAMES", help="columns to write: a,b,c, or field=column,field=column")
    add("--format", choices=("csv", "jsonl", "parquet"), help="by default by the files' names")
    add("--no-header", dest="header", action="store_false", help="the files have no line of names")
    add("--delimiter", help="between fields of CSV (default: a comma; a tabulator in .tsv)")
    add("--quote", help="around fields of CSV")
    add("--null", metavar="TEXT", help="the text that stands for null in CSV (default: none)")
    add("--date-format", metavar="FORMAT", help="as for strptime (default: ISO 8601)")
    add("--timestamp-format", metavar="FORMAT", help="as for strptime (default: ISO 8601)")
    add("--batch", choices=("replica", "partition", "none"), help="which rows go together")
    add("--concurrency", type=int, metavar="N", help="requests in flight at most (default: 1024)")
    add("--consistency-level", metavar="LEVEL", help="for example LOCAL_QUORUM")
    add("--timeout", type=float, metavar="SECONDS", help="for each request")
    add("--ttl", type=int, metavar="SECONDS", help="how long all values live")
    add("--ttl-column", metavar="FIELD", help="the field that has it for each row")
    add("--timestamp", type=int, metavar="MICROSECONDS", help="the write time of all rows")
    add("--timestamp-column", metavar="FIELD", help="the field that has it for each row")
    add("--counters", action="store_true", help="add values to counters")
    add("--max-errors", type=int, metavar="N", help="rows that may fail; -1 for any number")
    add("--failed-rows", metavar="FILE", help="keep rows that failed in a file of JSON lines")
    add("--checkpoint", metavar="FILE", help="go on from there if the command is run again")
    add("--dry-run", action="store_true", help="read and check all rows, send none")
    add("--no-progress", dest="progress", action="store_false", help="do not show how far it is")
    add("--json", action="store_true", help="print the report as JSON")
    # Shown at a terminal, unless it is refused.
    load.set_defaults(header=True, progress=None)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    :param arguments: the arguments, by default those of the process.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        _add_file(parser, options, arguments)
        options.hosts = options.hosts or ([] if options.cloud_bundle else ["127.0.0.1"])
        settings = connection_settings(options)
        wanted = _load_options(options)
    except (OSError, ssl.SSLError, KeyError, ValueError, TypeError) as error:
        parser.error(reason_of(error))
    try:
        with Cluster(**settings) as cluster:
            report = cluster.connect().load(options.table, options.files, **wanted)
    except LoadError as error:
        _show(error.report, options)
        print(f"error: {error}", file=sys.stderr)
        return 1
    except (DriverException, OSError, ValueError, TypeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped" + _how_to_go_on(options), file=sys.stderr)
        return 1
    _show(report, options)
    return int(report.failed > 0)


def _how_to_go_on(options: argparse.Namespace) -> str:
    return "; run the same command again to go on" if options.checkpoint else ""


def _show(report: Any, options: argparse.Namespace) -> None:
    print(json.dumps(report.as_dict(), indent=2) if options.json else report)


def _load_options(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of `Session.load` that were given."""
    found = {
        field.name: value
        for field in fields(LoadOptions)
        if (value := getattr(options, field.name, None)) is not None
    }
    if isinstance(options.columns, str):
        found["columns"] = _columns(options.columns)
    if options.batch == "none":
        found["batch"] = None
    if options.max_errors == -1:
        found["max_errors"] = None
    if options.consistency_level is not None:
        level = str(options.consistency_level).upper()
        known = ConsistencyLevel.name_to_value
        if level not in known:
            raise ValueError(f"there is no consistency level {level!r}: {', '.join(known)}")
        found["consistency_level"] = known[level]
    LoadOptions(**found)  # which checks them, before anything is connected
    return found


def _columns(text: str) -> dict[str, str] | list[str]:
    parts = [part.strip() for part in text.split(",")]
    if not any("=" in part for part in parts):
        return parts
    pairs = [part.partition("=") for part in parts]
    return {field: column or field for field, _, column in pairs}


def _add_file(
    parser: argparse.ArgumentParser, options: argparse.Namespace, arguments: Sequence[str] | None
) -> None:
    """Add the options of the file of TOML; those of the command come first."""
    if options.config is None:
        return
    try:
        tomllib = importlib.import_module("tomllib")
    except ImportError as error:
        raise ValueError("--config needs Python 3.11 or later") from error
    with options.config.open("rb") as file:
        found: Mapping[str, Any] = tomllib.load(file)
    given = set(sys.argv[1:] if arguments is None else arguments)
    for name, value in found.items():
        if not hasattr(options, name) or name in ("command", "table", "files", "config"):
            raise ValueError(f"{os.fspath(options.config)} has an unknown option {name!r}")
        if "password" in name and name not in ("password_env", "password_file"):
            raise ValueError("a password does not stand in a file of options")
        flag = f"--{name.replace('_', '-')}"
        if not any(one == flag or one.startswith(f"{flag}=") for one in given):
            setattr(options, name, Path(value) if name in _PATHS else value)


_PATHS = frozenset({"password_file", "cafile", "cert", "key", "cloud_bundle"})
