"""Connecting for commands: their options, and the settings of a cluster that these stand for.

Passwords come from the environment, from a file or from the terminal, never from an argument, which
other users of a machine can read.
"""

from __future__ import annotations

import argparse
import getpass
import os
import ssl
import sys
from pathlib import Path
from typing import Any

from cassandra.auth import PlainTextAuthProvider

__all__ = ["add_connection_options", "connection_settings", "reason_of"]


def add_connection_options(
    parser: argparse.ArgumentParser | argparse._ArgumentGroup, prefix: str = ""
) -> None:
    """Add the options of a connection to a command's.

    :param parser: of the command, or a group of its options.
    :param prefix: of their names, such as "to-", if there are two clusters.
    """
    of = f" (of the cluster of --{prefix}hosts)" if prefix else ""

    def add(name: str, **settings: Any) -> None:
        settings["help"] += of
        parser.add_argument(f"--{prefix}{name}", **settings)

    add(
        "port",
        type=int,
        default=9042,
        metavar="PORT",
        help="port of the native protocol (default: 9042)",
    )
    add(
        "user",
        metavar="USER",
        help="user name; the password is asked for, unless it is given otherwise",
    )
    add("password-env", metavar="NAME", help="environment variable that has the password")
    add("password-file", type=Path, metavar="FILE", help="file that has the password")
    add("ssl", action="store_true", help="connect by TLS")
    add("cafile", type=Path, metavar="FILE", help="certificates of the CA; means TLS")
    add("cert", type=Path, metavar="FILE", help="client certificate; means TLS")
    add("key", type=Path, metavar="FILE", help="key of the client certificate")
    add(
        "no-hostname-check",
        action="store_true",
        help="accept a certificate of another name, from a known CA",
    )
    add("cloud-bundle", type=Path, metavar="FILE", help="secure connect bundle, for hosts")


def connection_settings(options: argparse.Namespace, prefix: str = "") -> dict[str, Any]:
    """Return the settings of `cassandra.cluster.Cluster` that a command's options stand for.

    :param options: of the command, with a list ``hosts``.
    :param prefix: of their names, as for `add_connection_options`.
    :raises OSError: if a file cannot be read.
    :raises KeyError: if the environment has no such variable.
    :raises ValueError: if there is a user and no password.
    """
    if prefix:
        start = prefix.replace("-", "_")
        found = {k.removeprefix(start): v for k, v in vars(options).items() if k.startswith(start)}
        options = argparse.Namespace(**found)
    context = None
    if options.ssl or options.cafile or options.cert:
        context = ssl.create_default_context(cafile=options.cafile)
        context.check_hostname = not options.no_hostname_check
        if options.cert:
            context.load_cert_chain(options.cert, options.key)
    settings: dict[str, Any] = {}
    if options.cloud_bundle is not None:
        settings["cloud"] = {"secure_connect_bundle": str(options.cloud_bundle)}
    else:
        settings.update(contact_points=options.hosts, port=options.port, ssl_context=context)
    if options.user is not None:
        settings["auth_provider"] = PlainTextAuthProvider(options.user, _password(options))
    return settings


def _password(options: argparse.Namespace) -> str:
    if options.password_env is not None:
        return os.environ[options.password_env]
    if options.password_file is not None:
        path: Path = options.password_file
        return path.read_text().rstrip("\n")
    if not sys.stdin.isatty():
        raise ValueError(
            f"user {options.user!r} needs a password: give --password-env or --password-file"
        )
    return getpass.getpass(f"password of {options.user}: ")


def reason_of(error: BaseException) -> str:
    """Return the text of an error of `connection_settings`.

    :param error: the error.
    """
    if isinstance(error, KeyError):
        return f"the environment has no variable {error}"
    return str(error)
