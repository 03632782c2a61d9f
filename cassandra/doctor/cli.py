"""The command ``python -m cassandra.doctor HOST...``."""

from __future__ import annotations

import argparse
import json
import ssl
from collections.abc import Iterator, Sequence
from typing import Any

from cassandra._connecting import add_connection_options, connection_settings, reason_of
from cassandra.cluster.cluster import Cluster
from cassandra.doctor.checks import CHECKS, advice
from cassandra.doctor.findings import NOTE, OK, PROBLEM, WARNING, Finding, finding
from cassandra.doctor.network import client_certificate, installation, reach
from cassandra.engine.profile import EXEC_PROFILE_DEFAULT, ExecutionProfile
from cassandra.errors import DriverException
from cassandra.policies.balancing import RoundRobinPolicy

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
    add_option = parser.add_argument
    add_option("hosts", nargs="*", metavar="HOST", help="contact points: names or addresses")
    add_connection_options(parser)
    add_option("--timeout", type=float, default=5.0, help="seconds for each step (default: 5)")
    add_option("--strict", action="store_true", help="a warning makes the exit code 1, too")
    add_option("--json", action="store_true", help="print findings as JSON")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    :param arguments: the arguments of the command; None for ``sys.argv[1:]``.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    if not options.hosts and options.cloud_bundle is None:
        parser.error(
            "name a host of the cluster, for example: python -m cassandra.doctor 127.0.0.1"
        )
    if options.hosts and options.cloud_bundle is not None:
        parser.error("a bundle stands for HOST: give one of the two")
    for host in options.hosts:
        if host.isdecimal():  # name resolution would accept a number as an address
            parser.error(f"{host} is not a host: for a port, write --port {host}")
    if not options.timeout > 0:
        parser.error(f"--timeout must be positive, but is {options.timeout}")
    try:
        settings = _settings(options)
    except (OSError, ssl.SSLError, KeyError, ValueError) as error:
        parser.error(reason_of(error))
    findings = []
    for result in _run_checks(options, settings, settings.get("ssl_context")):
        findings.append(result)
        if not options.json:
            _print_finding(result)
    # Any problem makes the exit code 1; with --strict, any warning, too.
    levels = [result.level for result in findings]
    problems, warnings = levels.count(PROBLEM), levels.count(WARNING)
    if options.json:
        findings_as_dicts = [{**vars(result)} for result in findings]
        print(
            json.dumps(
                {"findings": findings_as_dicts, "problems": problems, "warnings": warnings},
                indent=2,
            )
        )
    else:
        print(_summary(problems, warnings))
    return int(problems > 0 or (options.strict and warnings > 0))


def _summary(problems: int, warnings: int) -> str:
    def counted(count: int, word: str) -> str:
        return f"{count} {word}{'s' * (count != 1)}"

    if not problems and not warnings:
        return "nothing is wrong"
    return f"{counted(problems, 'problem')}, {counted(warnings, 'warning')}"


def _print_finding(result: Finding) -> None:
    print(f"{_MARKS[result.level]:<8} {result.subject}: {result.text}", flush=True)
    if result.do:
        print(f"{'':<8} -> {result.do}", flush=True)


# -- connecting ------------------------------------------------------------------------------------


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return the keyword arguments of the `Cluster`, from the options of the command."""
    # Use a policy that includes all data centres: with the default policy, the session would
    # connect only to the local one.
    profile = ExecutionProfile(RoundRobinPolicy(), request_timeout=options.timeout)
    return {
        "execution_profiles": {EXEC_PROFILE_DEFAULT: profile},
        "connect_timeout": options.timeout,
        "control_connection_timeout": options.timeout,
        **connection_settings(options),
    }


# -- checks ----------------------------------------------------------------------------------------


def _run_checks(
    options: argparse.Namespace, settings: dict[str, Any], context: ssl.SSLContext | None
) -> Iterator[Finding]:
    """Yield the findings of all checks, beginning with those that need no session.

    :param settings: the keyword arguments of the `Cluster`.
    :param context: the TLS context of `settings`; None for no TLS.
    """
    yield from installation()
    if options.cert is not None:
        yield from client_certificate(options.cert)
    for host in options.hosts:
        yield from reach(host, options.port, options.timeout, context)
    try:
        cluster = Cluster(**settings)
    except (DriverException, OSError, ValueError, TypeError) as error:
        yield finding(PROBLEM, "settings", str(error))
        return
    try:
        try:
            session = cluster.connect(wait_for_all_pools=True)
        except (DriverException, OSError) as error:
            yield finding(PROBLEM, "connect", str(error), advice(str(error)))
            return
        yield finding(OK, "connect", f"connected to cluster {cluster.metadata.cluster_name!r}")
        for check in CHECKS:
            try:
                yield from check(session, options.timeout)
            except Exception as error:  # report the failed check, and continue with the others
                text = f"could not be looked at: {type(error).__name__}: {error}"
                yield finding(WARNING, check.__name__, text)
    finally:
        cluster.shutdown()
