"""The command ``python -m cassandra.doctor HOST...``, which runs all checks and prints findings."""

from __future__ import annotations

import argparse
import json
import ssl
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NoReturn

from cassandra._command_words import CommandParser, CommandWords
from cassandra._connecting import add_connection_options, connection_settings, reason_of
from cassandra.auth import Authenticator, AuthProvider
from cassandra.cluster.cluster import Cluster
from cassandra.cluster.session import Session
from cassandra.doctor.checks import CHECKS, advice
from cassandra.doctor.expectations import keyspace, local_datacenter
from cassandra.doctor.findings import NOTE, OK, PROBLEM, WARNING, Finding, counted, finding
from cassandra.doctor.network import (
    GIVE_CERTIFICATE,
    Examined,
    client_certificate,
    installation,
    reach,
)
from cassandra.engine.profile import EXEC_PROFILE_DEFAULT, ExecutionProfile
from cassandra.errors import DriverException, UnresolvableContactPoints
from cassandra.metadata.endpoint import EndPoint
from cassandra.policies.balancing import RoundRobinPolicy

DESCRIPTION = """\
Connect to a Cassandra or ScyllaDB cluster as a program would, look at what commonly goes wrong, and
say what to do about it.
"""
EPILOG = """\
exit codes: 0 if nothing is wrong, 1 if there is a problem (with --strict, a warning too), 2 if the
command cannot be understood
"""
# How the line of a finding begins, by the finding's level.
_MARKS = {OK: "ok", NOTE: "note", WARNING: "WARNING", PROBLEM: "PROBLEM"}


# Options of other commands that users may type here. The value is the advice in the error.
_COUNTERPARTS = {
    **dict.fromkeys(
        ("--contact-points", "--contact-point", "--seeds", "--address", "--url"),
        "write the hosts alone: python -m cassandra.doctor 10.0.0.1 10.0.0.2",
    ),
    **dict.fromkeys(
        ("--dc", "--datacenter", "--local-datacenter", "--data-center"), "write --local-dc NAME"
    ),
    **dict.fromkeys(("-p", "-P", "-port"), "write --port 9042"),
    **dict.fromkeys(("-u", "--username", "--login"), "write --user NAME"),
    **dict.fromkeys(("-k", "--ks"), "write --keyspace NAME"),
    **dict.fromkeys(("--tls", "--use-ssl"), "write --ssl, or --cafile FILE"),
    **dict.fromkeys(("--ca", "--cacert", "--ca-certs", "--ca-file"), "write --cafile FILE"),
    **dict.fromkeys(("--bundle", "--secure-connect-bundle", "-b"), "write --cloud-bundle FILE"),
    **dict.fromkeys(("-v", "--verbose", "--debug"), "all findings are printed in any case"),
    **dict.fromkeys(("-o", "--output", "--format"), "write --json > FILE"),
}


class _Parser(CommandParser):
    """A parser whose error for an unknown option says what to write instead."""

    def error(self, message: str) -> NoReturn:
        """Print the error, and exit.

        :param message: the error as argparse words it.
        """
        if message.startswith("unrecognized arguments: "):
            advice = [_COUNTERPARTS[word] for word in message.split() if word in _COUNTERPARTS]
            message = "; ".join([message, *dict.fromkeys(advice)])
        super().error(message)


def _parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = _Parser(prog="python -m cassandra.doctor", description=DESCRIPTION, epilog=EPILOG)
    add_option = parser.add_argument
    add_option("hosts", nargs="*", metavar="HOST", help="contact points: names or addresses")
    add_option(
        "--host",
        "--hosts",
        action="extend",
        nargs="+",
        default=[],
        dest="more_hosts",
        metavar="HOST",
        help="the same as HOST, for those who are used to it from other commands",
    )
    add_connection_options(parser)
    add_option("--keyspace", metavar="NAME", help="check that this keyspace can be used")
    add_option(
        "--local-dc", metavar="NAME", help="check that this data centre exists and has replicas"
    )
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
    words = CommandWords.of([parser])
    options.hosts += options.more_hosts
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
        parser.error(words.translate(reason_of(error)))
    findings = []
    for untranslated in _run_checks(options, settings, settings.get("ssl_context")):
        result = replace(untranslated, text=words.translate(untranslated.text))
        findings.append(result)
        if not options.json:
            _print_finding(result)
    # The exit code is 1 if there is a problem or, with --strict, a warning.
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
    """Return the last line of the output, with the numbers of problems and warnings."""
    if not problems and not warnings:
        return "nothing is wrong"
    return f"{counted(problems, 'problem')}, {counted(warnings, 'warning')}"


def _print_finding(result: Finding) -> None:
    print(f"{_MARKS[result.level]:<8} {result.subject}: {result.text}", flush=True)
    if result.do:
        print(f"{'':<8} -> {result.do}", flush=True)


# -- connecting ------------------------------------------------------------------------------------


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    """Convert the options of the command to keyword arguments for `Cluster`."""
    # Connect to the nodes of all data centres. With the default policy, the session would connect
    # only to the local data centre.
    profile = ExecutionProfile(RoundRobinPolicy(), request_timeout=options.timeout)
    return {
        "execution_profiles": {EXEC_PROFILE_DEFAULT: profile},
        "connect_timeout": options.timeout,
        "control_connection_timeout": options.timeout,
        **connection_settings(options),
    }


class _Login(AuthProvider):
    """Forwards the login of another provider, and records whether a node has asked for it."""

    def __init__(self, provider: AuthProvider) -> None:
        self._provider = provider
        self.is_asked_for = False

    def new_authenticator(self, host: str) -> Authenticator:
        self.is_asked_for = True
        return self._provider.new_authenticator(host)


# -- checks ----------------------------------------------------------------------------------------


def _run_checks(
    options: argparse.Namespace, settings: dict[str, Any], context: ssl.SSLContext | None
) -> Iterator[Finding]:
    """Yield the findings of all checks, beginning with the checks that need no session.

    :param options: the parsed options of the command.
    :param settings: the keyword arguments for `Cluster`.
    :param context: the TLS context of `settings`; None for no TLS.
    """
    yield from installation()
    client_has_problem = False
    if options.cert is not None:
        for result in client_certificate(options.cert):
            client_has_problem |= result.level == PROBLEM
            yield result
    examined: Examined = {}
    for host in options.hosts:
        for result in reach(host, options.port, options.timeout, context, examined=examined):
            # If a problem of the client's certificate was reported above, the server rejects the
            # certificate for this reason.
            is_consequence = client_has_problem and result.do == GIVE_CERTIFICATE
            yield _consequence(result) if is_consequence else result
    # If all contact points have problems, these explain why the driver cannot connect.
    no_contact_point_is_usable = bool(examined) and all(examined.values())
    login = _Login(settings["auth_provider"]) if settings.get("auth_provider") else None
    if login is not None:
        settings = {**settings, "auth_provider": login}
    try:
        cluster = Cluster(**settings)
    except (DriverException, OSError, ValueError, TypeError) as error:
        result = finding(PROBLEM, "settings", reason_of(error))
        # If the names of all contact points cannot be resolved, `reach` has already reported that.
        # But the error for a malformed contact point, which is also a ValueError, was not reported
        # yet.
        is_consequence = (
            no_contact_point_is_usable
            and isinstance(error, UnresolvableContactPoints)
            and not isinstance(error, ValueError)
        )
        yield _consequence(result) if is_consequence else result
        return
    try:
        try:
            session = cluster.connect(wait_for_all_pools=True)
        except (DriverException, OSError) as error:
            result = finding(PROBLEM, "connect", str(error), advice(str(error)))
            yield _consequence(result) if no_contact_point_is_usable else result
            return
        yield finding(OK, "connect", f"connected to cluster {cluster.metadata.cluster_name!r}")
        if login is not None and not login.is_asked_for:
            yield finding(
                WARNING,
                "login",
                "no node asks for a login: --user and its password are not checked, and anyone may "
                "connect",
                "set authenticator in cassandra.yaml, or leave --user out",
            )
        tls = cluster.ssl_context  # a secure connect bundle has its own TLS context
        if isinstance(tls, ssl.SSLContext):
            yield from _check_discovered(session, tls, options.timeout, examined)
        yield from _check_other_clusters(session, settings, examined)
        yield from _checks_of_session(session, options, examined)
    finally:
        cluster.shutdown()


def _consequence(result: Finding) -> Finding:
    """Return a note that replaces a problem whose cause was reported before.

    So each fault counts as a problem only once.
    """
    return finding(NOTE, result.subject, f"{result.text} (because of the problem above)")


def _check_discovered(
    session: Session, context: ssl.SSLContext, timeout: float, examined: Examined
) -> Iterator[Finding]:
    """Check the TLS of nodes that are not contact points: each node has its own certificate."""
    hosts = session.cluster.metadata.all_hosts()
    for endpoint in sorted((host.endpoint for host in hosts), key=str):
        key = _examined_key(endpoint)
        if key not in examined:
            address, port, server_name = key
            yield from reach(
                address, port, timeout, context, server_name=server_name, examined=examined
            )


def _check_other_clusters(
    session: Session, settings: dict[str, Any], examined: Examined
) -> Iterator[Finding]:
    """Report contact points that belong to another cluster than the session does.

    Comparing addresses is not enough: behind a proxy, for example, a contact point has another
    address than its node has in the cluster. So connect to the contact point, and compare the ids
    of the hosts.

    :param settings: the keyword arguments for `Cluster`.
    """
    hosts = session.cluster.metadata.all_hosts()
    known_keys = {_examined_key(host.endpoint) for host in hosts}
    host_ids = {host.host_id for host in hosts}
    # A policy object belongs to one cluster, so connect to the other clusters with new default
    # policies.
    settings = {name: value for name, value in settings.items() if name != "execution_profiles"}
    for key, has_problem in examined.items():
        address, port, server_name = key
        if has_problem or server_name is not None or key in known_keys:
            continue
        other_settings = {**settings, "contact_points": [address], "schema_metadata_enabled": False}
        try:
            with Cluster(**other_settings) as other_cluster:
                other_cluster.connect()
                other_hosts = other_cluster.metadata.all_hosts()
        except (DriverException, OSError):
            continue  # a contact point that cannot be connected to is useless, but harmless
        if host_ids.isdisjoint(host.host_id for host in other_hosts):
            yield finding(
                PROBLEM,
                f"{address}:{port}",
                "belongs to another cluster than the contact point that was connected to",
                "leave it out of the contact points: a program that reaches it first uses the "
                "other cluster",
            )


def _examined_key(endpoint: EndPoint) -> tuple[str, int, str | None]:
    """Return the key under which `Examined` has the problems of an end point."""
    server_name = (endpoint.ssl_options or {}).get("server_hostname")
    return (*endpoint.resolve(), server_name)


def _checks_of_session(
    session: Session, options: argparse.Namespace, examined: Examined
) -> Iterator[Finding]:
    """Yield the findings of the checks that query the cluster."""
    endpoints = [host.endpoint for host in session.cluster.metadata.all_hosts()]
    # The hosts for which the checks of the network have already reported a problem.
    subjects = {str(endpoint) for endpoint in endpoints if examined.get(_examined_key(endpoint))}
    checks = {check.__name__: partial(check, session, options.timeout) for check in CHECKS}
    checks["local_datacenter"] = partial(local_datacenter, session, options.local_dc)
    checks["keyspace"] = partial(keyspace, session, options.keyspace, options.local_dc)
    for name, check in checks.items():
        try:
            for result in check():
                is_consequence = result.level == PROBLEM and result.subject in subjects
                yield _consequence(result) if is_consequence else result
        except Exception as error:  # report the failed check, and continue with the other checks
            text = f"could not be looked at: {type(error).__name__}: {error}"
            yield finding(WARNING, name, text)
