"""Makes the engine's TLS settings from a cluster's ``ssl_context``, ``ssl_options`` and
``ssl_session_cache``.
"""

from __future__ import annotations

import errno
import os
import ssl
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from cassandra._secrets import Secret
from cassandra.engine.tls import TlsClient
from cassandra.ssl_session_cache import SSLSessionCache

if TYPE_CHECKING:
    from cassandra.client.settings.table import ClusterSettings

# Arguments of `ssl.SSLContext.wrap_socket` that applications may have in `ssl_options`. Only the
# given value of each is accepted, because the driver cannot use another.
_FIXED_OPTIONS = {
    "do_handshake_on_connect": True,
    "server_side": False,
    "suppress_ragged_eofs": True,
}

# Old constants of Python's ssl module that mean a single version of TLS.
_VERSIONS = {
    "PROTOCOL_TLSv1": ssl.TLSVersion.TLSv1,
    "PROTOCOL_TLSv1_1": ssl.TLSVersion.TLSv1_1,
    "PROTOCOL_TLSv1_2": ssl.TLSVersion.TLSv1_2,
}


def tls_of(cluster: ClusterSettings) -> TlsClient | None:
    """Return the TLS settings of a cluster's connections; None for no TLS.

    Raises the same errors as `tls_client`.

    :param cluster: the cluster whose settings are read.
    """
    # Read the options through the setting and not as an attribute: a user's subclass may have a
    # class attribute of that name.
    options = cluster._table["ssl_options"].secret_of(cluster)
    return tls_client(cluster.ssl_context, options, cluster.ssl_session_cache)


def tls_client(
    context: ssl.SSLContext | Callable[[], ssl.SSLContext] | None,
    options: Mapping[str, Any] | Secret[Mapping[str, Any] | None] | None,
    sessions: SSLSessionCache | None,
) -> TlsClient | None:
    """Return TLS settings for connections; None for no TLS.

    :param context: a context, or a function that returns one.
    :param options: the mapping `ssl_options`. With a context it may only have ``server_hostname``;
        otherwise a context is made from the options.
    :raises TypeError: if an argument has a wrong type.
    :raises ValueError: if an option is unknown, or cannot be combined with a context; or if a key
        needs a password, and there is none.
    :raises OSError: if a file that the options name cannot be read.
    """
    # Wrap the options in a `Secret` first: tracebacks may show local variables, and an option may
    # be a password.
    options = Secret.of(options)
    _check_types(context, options, sessions)
    if context is None and options.reveal() is None:
        return None
    # The code below removes each option that it knows from this copy. If any remain, they are
    # unknown.
    remaining = _with_hidden_password(options)
    server_hostname = remaining.pop("server_hostname", None)
    if server_hostname is not None and not isinstance(server_hostname, str):
        raise TypeError(
            f"ssl_options['server_hostname'] must be a name, but is {server_hostname!r}"
        )
    # These options may be given, but only with the values that the driver uses anyway.
    for name, value in _FIXED_OPTIONS.items():
        if remaining.pop(name, value) != value:
            raise ValueError(f"ssl_options[{name!r}] can only be {value!r} here")
    if context is not None:
        _refuse_options(remaining, "cannot be given beside ssl_context: set it on the context")
        return TlsClient(context, server_hostname, sessions)
    return TlsClient(_make_context(remaining), server_hostname, sessions)


def _with_hidden_password(options: Secret[Mapping[str, Any] | None]) -> dict[str, Any]:
    hidden = Secret(dict(options.reveal() or {}))
    if "password" in hidden.reveal():
        hidden.reveal()["password"] = Secret(hidden.reveal()["password"])
    return hidden.reveal()


def _check_types(context: object, options: Secret[Any], sessions: object) -> None:
    """Raise TypeError or ValueError for TLS settings that are not usable at all."""
    if not (context is None or isinstance(context, ssl.SSLContext) or callable(context)):
        advice = "ssl.create_default_context()"
        if isinstance(context, (str, os.PathLike)):
            advice = f"ssl.create_default_context(cafile={os.fspath(context)!r})"
        raise TypeError(
            "ssl_context must be an ssl.SSLContext, or a function that gives one, "
            f"but is {context!r}: write {advice}"
        )
    if isinstance(context, ssl.SSLContext) and context.protocol == ssl.PROTOCOL_TLS_SERVER:
        raise ValueError(
            "ssl_context is for servers (PROTOCOL_TLS_SERVER): write "
            "ssl.create_default_context(), or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)"
        )
    if sessions is not None and not isinstance(sessions, SSLSessionCache):
        raise TypeError(f"ssl_session_cache must be an SSLSessionCache, but is {sessions!r}")
    if options.reveal() is None:
        return
    if not isinstance(options.reveal(), Mapping):
        raise TypeError(f"ssl_options must be a mapping, but is of type {options.kind}")
    if not options.reveal() and context is None:
        raise ValueError(
            "ssl_options is empty, which would connect without TLS: pass None for that, "
            "or ssl_context=ssl.create_default_context() for TLS"
        )


def _refuse_options(options: Mapping[str, Any], why: str) -> None:
    for name in options:
        raise ValueError(f"ssl_options[{name!r}] {why}")


def _make_context(options: dict[str, Any]) -> ssl.SSLContext:
    """Make a context from old-style options, which are removed from `options`."""
    ca_certs = options.pop("ca_certs", None)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # Require TLS 1.2, whatever OpenSSL's configuration says. `ssl_version` may request an older
    # version.
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    _restrict_version(context, options.pop("ssl_version", None))
    # Set this before `verify_mode`: Python refuses CERT_NONE while host names are checked.
    context.check_hostname = bool(options.pop("check_hostname", False))
    verify_mode = options.pop("cert_reqs", None)
    context.verify_mode = ssl.CERT_REQUIRED if verify_mode is None else verify_mode
    if ca_certs:
        with _naming_files(ca_certs):
            context.load_verify_locations(ca_certs)
    elif context.verify_mode != ssl.CERT_NONE:
        context.load_default_certs()
    certfile, keyfile = options.pop("certfile", None), options.pop("keyfile", None)
    password = options.pop("password", None)
    if certfile:
        _load_key(context, certfile, keyfile, password)
    ciphers = options.pop("ciphers", None)
    if ciphers:
        context.set_ciphers(ciphers)
    _refuse_options(options, "is unknown: use ssl_context instead")
    return context


def _load_key(
    context: ssl.SSLContext, certfile: Any, keyfile: Any, password: Secret[Any] | None
) -> None:
    """Load the client's certificate and its key, which may be in the same file."""

    def raise_missing_password() -> NoReturn:
        raise ValueError(
            f"the key in {keyfile or certfile} has a pass phrase: ssl_options['password'] says it"
        )

    # If there is no password, pass a function that raises an error: otherwise OpenSSL would ask for
    # a pass phrase on the terminal.
    if password is None or password.reveal() is None:
        password = Secret(raise_missing_password)
    with _naming_files(*filter(None, (certfile, keyfile))):
        context.load_cert_chain(certfile, keyfile, password.reveal())


@contextmanager
def _naming_files(*paths: Any) -> Iterator[None]:
    """Add the names of the files to errors of OpenSSL and of the system in the `with` block."""
    try:
        yield
    except ssl.SSLError as error:
        names = " and ".join(map(str, paths))
        raise ssl.SSLError(error.errno, f"{names} cannot be loaded: {error}") from error
    except OSError as error:
        # An OSError can name one file: a missing one, or else the first.
        missing = [path for path in paths if not os.path.exists(path)]
        named_paths = (missing or paths)[:1]
        raise type(error)(error.errno or errno.EIO, error.strerror, *named_paths) from error


def _restrict_version(context: ssl.SSLContext, version: object) -> None:
    """Let `context` allow only the TLS version of an old constant of Python's ssl module."""
    if version is None:
        return
    name = getattr(version, "name", "")
    if name in _VERSIONS:
        with warnings.catch_warnings():
            # Suppress Python's warnings about TLS 1.0 and 1.1: the application has requested that
            # version.
            warnings.simplefilter("ignore", DeprecationWarning)
            context.minimum_version = context.maximum_version = _VERSIONS[name]
    elif version not in (ssl.PROTOCOL_TLS, ssl.PROTOCOL_TLS_CLIENT):
        raise ValueError(f"ssl_options['ssl_version'] cannot be {version!r} for a client")
