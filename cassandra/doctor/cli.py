"""The command ``python -m cassandra.doctor HOST...``."""

from __future__ import annotations

import argparse
import getpass
import json
import os
import ssl
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster.cluster import Cluster
from cassandra.doctor.checks import CHECKS
from cassandra.doctor.findings import NOTE, OK, PROBLEM, WARNING, Finding, found
from cassandra.doctor.network import installation, reach
from cassandra.engine.profile import EXEC_PROFILE_DEFAULT, ExecutionProfile
from cassandra.errors import DriverException
from cassandra.policies.balancing import RoundRobinPolicy

__all__ = ["main"]

DESCRIPTION = """\
Connect to a Cassandra or ScyllaDB cluster as a program would, look at what commonly goes wrong, and
say what to do about it.
"""
EPILOG = """\
exit codes: 0 if nothing is wrong, 1 if there is a problem (with --strict, a warning too), 2 if the
command cannot be understood
"""
_MARKS = {OK: "ok", NOTE: "note", WARNING: "WARNING", PROBLEM: "PROBLEM"}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m cassandra.doctor", description=DESCRIPTION, epilog=EPILOG
    )
    add = parser.add_argument
    add("hosts", nargs="*", metavar="HOST", help="contact points: names or addresses")
    add("--port", type=int, default=9042, help="of the native protocol (default: 9042)")
    add("--user", help="user name; the password is asked for, unless it is given otherwise")
    add("--password-env", metavar="NAME", help="environment variable that has the password")
    add("--password-file", type=Path, metavar="FILE", help="file that has the password")
    add("--ssl", action="store_true", help="connect by TLS")
    add("--cafile", type=Path, metavar="FILE", help="certificates of the CA; means --ssl")
    add("--cert", type=Path, metavar="FILE", help="client certificate; means --ssl")
    add("--key", type=Path, metavar="FILE", help="key of the client certificate")
    add(
        "--no-hostname-check",
        action="store_true",
        help="accept a certificate of another name, from a known CA",
    )
    add("--cloud-bundle", type=Path, metavar="FILE", help="secure connect bundle, for HOST")
    add("--timeout", type=float, default=5.0, help="seconds for each step (default: 5)")
    add("--strict", action="store_true", help="a warning makes the exit code 1, too")
    add("--json", action="store_true", help="print findings as JSON")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    :param arguments: the arguments, by default those of the process.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    if not options.hosts and options.cloud_bundle is None:
        parser.error(
            "name a host of the cluster, for example: python -m cassandra.doctor 127.0.0.1"
        )
    if options.hosts and options.cloud_bundle is not None:
        parser.error("a bundle stands for HOST: give one of the two")
    if not options.timeout > 0:
        parser.error(f"--timeout must be positive, but is {options.timeout}")
    try:
        settings, context = _settings(options)
    except (OSError, ssl.SSLError, KeyError, ValueError) as error:
        parser.error(_reason(error))
    findings = []
    for one in _examine(options, settings, context):
        findings.append(one)
        if not options.json:
            _print(one)
    levels = [one.level for one in findings]
    problems, warnings = levels.count(PROBLEM), levels.count(WARNING)
    if options.json:
        told = [{**vars(one)} for one in findings]
        print(json.dumps({"findings": told, "problems": problems, "warnings": warnings}, indent=2))
    else:
        print(_summary(problems, warnings))
    return int(problems > 0 or (options.strict and warnings > 0))


def _summary(problems: int, warnings: int) -> str:
    def counted(count: int, word: str) -> str:
        return f"{count} {word}{'s' * (count != 1)}"

    if not problems and not warnings:
        return "nothing is wrong"
    return f"{counted(problems, 'problem')}, {counted(warnings, 'warning')}"


def _reason(error: BaseException) -> str:
    if isinstance(error, KeyError):
        return f"the environment has no variable {error}"
    return str(error)


def _print(one: Finding) -> None:
    print(f"{_MARKS[one.level]:<8} {one.subject}: {one.text}", flush=True)
    if one.do:
        print(f"{'':<8} -> {one.do}", flush=True)


# -- how to connect --------------------------------------------------------------------------------


def _settings(options: argparse.Namespace) -> tuple[dict[str, Any], ssl.SSLContext | None]:
    context = None
    if options.ssl or options.cafile or options.cert:
        context = ssl.create_default_context(cafile=options.cafile)
        context.check_hostname = not options.no_hostname_check
        if options.cert:
            context.load_cert_chain(options.cert, options.key)
    # All data centres are looked at, whichever is the nearest.
    profile = ExecutionProfile(RoundRobinPolicy(), request_timeout=options.timeout)
    settings: dict[str, Any] = {
        "execution_profiles": {EXEC_PROFILE_DEFAULT: profile},
        "connect_timeout": options.timeout,
        "control_connection_timeout": options.timeout,
    }
    if options.cloud_bundle is not None:
        settings["cloud"] = {"secure_connect_bundle": str(options.cloud_bundle)}
    else:
        settings.update(contact_points=options.hosts, port=options.port, ssl_context=context)
    if options.user is not None:
        settings["auth_provider"] = PlainTextAuthProvider(options.user, _password(options))
    return settings, context


def _password(options: argparse.Namespace) -> str:
    if options.password_env is not None:
        return os.environ[options.password_env]
    if options.password_file is not None:
        path: Path = options.password_file
        return path.read_text().rstrip("\n")
    if not sys.stdin.isatty():
        raise ValueError("--user needs a password: give --password-env or --password-file")
    return getpass.getpass(f"password of {options.user}: ")


# -- the examination -------------------------------------------------------------------------------


def _examine(
    options: argparse.Namespace, settings: dict[str, Any], context: ssl.SSLContext | None
) -> Iterator[Finding]:
    yield from installation()
    for host in options.hosts:
        yield from reach(host, options.port, options.timeout, context)
    try:
        cluster = Cluster(**settings)
    except (DriverException, OSError, ValueError, TypeError) as error:
        yield found(PROBLEM, "settings", str(error))
        return
    try:
        try:
            session = cluster.connect(wait_for_all_pools=True)
        except (DriverException, OSError) as error:
            yield found(PROBLEM, "connect", str(error), _advice(error))
            return
        yield found(OK, "connect", f"connected to cluster {cluster.metadata.cluster_name!r}")
        for check in CHECKS:
            try:
                yield from check(session, options.timeout)
            except Exception as error:  # of one check: the others may still tell something
                text = f"could not be looked at: {type(error).__name__}: {error}"
                yield found(WARNING, check.__name__, text)
    finally:
        cluster.shutdown()


def _advice(error: BaseException) -> str:
    text = str(error)
    if "authentication" in text or "login" in text:
        return "give --user, and --password-env or --password-file"
    if "does it expect TLS" in text:
        return "give --ssl, and --cafile"
    return ""
