"""The connection options of the driver's commands, such as ``--port`` and ``--user``.

A password comes from an environment variable, from a file or from the terminal. A command does not
accept it as an argument, because other users of the machine can read arguments.
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


def add_connection_options(
    parser: argparse.ArgumentParser | argparse._ArgumentGroup, prefix: str = ""
) -> None:
    """Add connection options to a command.

    :param parser: the parser of the command, or a group of its options.
    :param prefix: a prefix for the names of the options, for commands that connect to two clusters:
        "to-" adds ``--to-port``.
    """
    help_suffix = f" (of the cluster of --{prefix}hosts)" if prefix else ""

    def add_option(name: str, **settings: Any) -> None:
        settings["help"] += help_suffix
        parser.add_argument(f"--{prefix}{name}", **settings)

    add_option(
        "port",
        type=int,
        default=9042,
        metavar="PORT",
        help="port of the native protocol (default: 9042)",
    )
    add_option(
        "user",
        metavar="USER",
        help="user name; the password is asked for, unless it is given otherwise",
    )
    add_option("password", action=_RefusedPassword, dest="_password", help=argparse.SUPPRESS)
    add_option("password-env", metavar="NAME", help="environment variable that has the password")
    add_option("password-file", type=Path, metavar="FILE", help="file that has the password")
    add_option("ssl", action="store_true", help="connect by TLS")
    add_option("cafile", type=Path, metavar="FILE", help="certificates of the CA; implies TLS")
    add_option("cert", type=Path, metavar="FILE", help="client certificate; implies TLS")
    add_option("key", type=Path, metavar="FILE", help="key of the client certificate")
    add_option(
        "no-hostname-check",
        action="store_true",
        help="accept a certificate for another host name",
    )
    add_option(
        "cloud-bundle", type=Path, metavar="FILE", help="secure connect bundle, in place of hosts"
    )


class _RefusedPassword(argparse.Action):
    """Ends the command with advice for ``--password``, which is not an option."""

    def __call__(self, parser: argparse.ArgumentParser, *details: object) -> None:
        names = [name for name in self.option_strings if name.endswith("password")]
        parser.error(
            f"other users of the machine can read the arguments of a command: write "
            f"{names[0]}-env NAME for a variable of the environment, or {names[0]}-file FILE; or "
            "leave it out to be asked"
        )


def connection_settings(options: argparse.Namespace, prefix: str = "") -> dict[str, Any]:
    """Return the settings of `cassandra.cluster.Cluster` for a command's options.

    :param options: the parsed options. They must have ``hosts``, a list of addresses.
    :param prefix: the prefix of the option names, as in `add_connection_options`.
    :raises OSError: if the file of the password cannot be read.
    :raises KeyError: if the environment variable of the password does not exist.
    :raises ValueError: if there is a user but no password, if an option has no effect alone, if a
        host or the port is not valid, or if the file of a certificate or key cannot be used.
    """
    if prefix:
        options = _without_prefix(options, prefix)
    # Check the options before any file is read.
    _check_companions(options, prefix)
    for host in options.hosts:
        _check_host(host, prefix)
    if not 1 <= options.port <= _HIGHEST_PORT:
        raise ValueError(
            f"--{prefix}port must be a number from 1 to {_HIGHEST_PORT}, but is {options.port}"
        )
    context = None
    if options.ssl or options.cafile or options.cert:
        context = _tls_context(options, prefix)
    # If there is a cloud bundle, it contains the contact points and the TLS settings, so do not
    # pass these.
    settings: dict[str, Any] = {}
    if options.cloud_bundle is not None:
        settings["cloud"] = {"secure_connect_bundle": str(options.cloud_bundle)}
    else:
        settings.update(contact_points=options.hosts, port=options.port, ssl_context=context)
    if options.user is not None:
        settings["auth_provider"] = PlainTextAuthProvider(options.user, _password(options))
    return settings


def _without_prefix(options: argparse.Namespace, prefix: str) -> argparse.Namespace:
    """Return the options whose names begin with `prefix`, under their names without the prefix."""
    # For the option --to-port, argparse has the attribute `to_port`.
    attribute_prefix = prefix.replace("-", "_")
    values = {
        name.removeprefix(attribute_prefix): value
        for name, value in vars(options).items()
        if name.startswith(attribute_prefix)
    }
    return argparse.Namespace(**values)


def _tls_context(options: argparse.Namespace, prefix: str) -> ssl.SSLContext:
    """Return a TLS context with the files that the options name.

    :raises ValueError: if a file cannot be read or used. The message names its option.
    """
    try:
        context = ssl.create_default_context(cafile=options.cafile)
    except OSError as error:  # the message of Python does not name the file
        raise ValueError(_unreadable(f"--{prefix}cafile {options.cafile}", error)) from error
    context.check_hostname = not options.no_hostname_check
    if options.cert:
        try:
            context.load_cert_chain(options.cert, options.key)
        except ssl.SSLError as error:
            key = options.key or "the same file"
            raise ValueError(
                f"--{prefix}cert {options.cert} cannot be used with the key in {key}: "
                f"{error.reason or error}; does the key belong to the certificate?"
            ) from error
        except OSError as error:
            files = f"--{prefix}cert {options.cert}"
            if options.key:
                files += f" or --{prefix}key {options.key}"
            raise ValueError(_unreadable(files, error)) from error
    return context


def _unreadable(option: str, error: OSError) -> str:
    """Return the message for a file that cannot be read, or has no certificate."""
    if isinstance(error, ssl.SSLError):
        return f"{option} has no certificate in PEM format: {error.reason or error}"
    return f"{option} cannot be read: {error.strerror or error}"


_HIGHEST_PORT = 65535  # the highest number of a TCP port


def _check_host(host: str, prefix: str) -> None:
    """Check that a host is a name or an address alone.

    :raises ValueError: if it has a port, is a URL, or has several hosts.
    """
    # Refuse a list such as "a,b".
    if "," in host:
        hosts = " ".join(part.strip() for part in host.split(",") if part.strip())
        raise ValueError(
            f"host {host!r} is a list: write {f'--{prefix}hosts ' if prefix else ''}{hosts}"
        )
    # Two or more colons without brackets are a plain IPv6 address, which is allowed.
    address, has_scheme, rest = host.partition("://")
    if has_scheme:
        address = rest.partition("/")[0]
        problem = "is a URL"
    elif host.count(":") == 1 or host.startswith("["):
        address = host
        problem = "has a port"
    else:
        return
    # Split off the port, for the advice. An IPv6 address with a port is in brackets.
    if address.startswith("["):
        address, _, port = address[1:].partition("]")
        port = port.removeprefix(":")
    elif address.count(":") == 1:
        address, _, port = address.partition(":")
    else:
        port = ""
    name = f"--{prefix}hosts {address}" if prefix else address
    advice = f"{name} --{prefix}port {port}" if port.isdecimal() else name
    raise ValueError(f"host {host!r} {problem}: write {advice}")


def _check_companions(options: argparse.Namespace, prefix: str) -> None:
    """Check that options which have no effect without another option are not given alone.

    :raises ValueError: for the first option that is given without the option that it needs.
    """
    has_tls = options.ssl or options.cafile or options.cert
    # Each row has an option, whether it is given, whether another option that it needs is given,
    # and the name of that other option.
    for name, is_given, has_companion, companions in (
        ("key", options.key, options.cert, "cert"),
        ("no-hostname-check", options.no_hostname_check, has_tls, "ssl or --{prefix}cafile"),
        ("password-env", options.password_env, options.user is not None, "user"),
        ("password-file", options.password_file, options.user is not None, "user"),
    ):
        if is_given and not has_companion:
            raise ValueError(
                f"--{prefix}{name} has no effect alone: add --{prefix}"
                f"{companions.format(prefix=prefix)}"
            )


def _password(options: argparse.Namespace) -> str:
    """Return the password from the environment, a file, or the terminal."""
    if options.password_env is not None:
        return os.environ[options.password_env]
    if options.password_file is not None:
        path: Path = options.password_file
        return path.read_text().rstrip("\n")
    if sys.stdin is None or not sys.stdin.isatty():
        raise ValueError(
            f"user {options.user!r} needs a password: give --password-env or --password-file"
        )
    return getpass.getpass(f"password of {options.user}: ")


def reason_of(error: BaseException) -> str:
    """Return the message that a command prints for an error of `connection_settings`."""
    if isinstance(error, KeyError):
        return f"the environment has no variable {error}"
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{os.fsdecode(error.filename)} cannot be read: {error.strerror}"
    return str(error)
