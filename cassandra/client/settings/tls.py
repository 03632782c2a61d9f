"""Creates the engine's TLS settings from the settings of a cluster.

The cluster's settings for TLS are ``ssl_context``, ``ssl_options`` and ``ssl_session_cache``.
"""

from __future__ import annotations

import errno
import os
import ssl
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from cassandra._misspelt import nearest
from cassandra._secrets import Secret
from cassandra.engine.tls import TlsClient
from cassandra.ssl_session_cache import SSLSessionCache
from cassandra.tls import ReloadingContext

if TYPE_CHECKING:
    from cassandra.client.cloud import Cloud
    from cassandra.client.settings.table import ClusterSettings

# Arguments of `ssl.SSLContext.wrap_socket` that applications may have in `ssl_options`. For each of
# them, only this value is accepted, because the driver cannot use another value.
_FIXED_OPTIONS = {
    "do_handshake_on_connect": True,
    "server_side": False,
    "suppress_ragged_eofs": True,
}

# The options that `_make_context` reads.
_OPTIONS = (
    "ca_certs", "certfile", "keyfile", "password", "cert_reqs", "ssl_version", "ciphers",
    "check_hostname", "server_hostname",
)  # fmt: skip

# For each option, the names that other drivers and libraries, or other parts of Python's ssl
# module, use for it.
_OPTIONS_BY_OTHER_NAME = {
    **dict.fromkeys(
        ("cafile", "ca_file", "ca_cert", "cacert", "ca", "ssl_ca", "sslrootcert", "truststore"),
        "ca_certs",
    ),
    **dict.fromkeys(
        ("cert", "cert_file", "certificate", "client_cert", "ssl_cert", "sslcert", "usercert"),
        "certfile",
    ),
    **dict.fromkeys(("key", "key_file", "client_key", "ssl_key", "sslkey", "userkey"), "keyfile"),
    **dict.fromkeys(("verify_mode", "verify", "validate", "sslmode"), "cert_reqs"),
    **dict.fromkeys(("keyfile_password", "key_password", "passphrase"), "password"),
    **dict.fromkeys(("hostname", "servername", "server_name", "sni"), "server_hostname"),
}

# Old constants of Python's ssl module that allow only one version of TLS.
_VERSIONS = {
    "PROTOCOL_TLSv1": ssl.TLSVersion.TLSv1,
    "PROTOCOL_TLSv1_1": ssl.TLSVersion.TLSv1_1,
    "PROTOCOL_TLSv1_2": ssl.TLSVersion.TLSv1_2,
}


def tls_of(cluster: ClusterSettings) -> TlsClient | None:
    """Return the TLS settings of a cluster's connections; None if TLS is not used.

    Raises the same errors as `tls_client`.

    :param cluster: the cluster whose settings are read.
    """
    # Read the options through the setting, not as an attribute, because a user's subclass may have
    # a class attribute of that name.
    options = cluster._table["ssl_options"].secret_of(cluster)
    context = cluster.ssl_context
    cloud: Cloud | None = getattr(cluster, "_cloud", None)
    is_of_bundle = cloud is not None and cloud.created_context and context is cloud.context
    return tls_client(
        context, options, cluster.ssl_session_cache, is_context_unchanging=is_of_bundle
    )


def tls_client(
    context: ssl.SSLContext | Callable[[], ssl.SSLContext] | None,
    options: Mapping[str, Any] | Secret[Mapping[str, Any] | None] | None,
    sessions: SSLSessionCache | None,
    is_context_unchanging: bool = False,
) -> TlsClient | None:
    """Return the TLS settings for connections; None if TLS is not used.

    :param context: a context, or a function that returns a context.
    :param options: the mapping `ssl_options`. With a context it may contain only
        ``server_hostname``; otherwise a context is created from the options, and created again
        when files that the options name have changed.
    :param is_context_unchanging: True if the application never loads another certificate into
        `context`.
    :raises TypeError: if an argument has a wrong type.
    :raises ValueError: if an option is unknown, or cannot be combined with a context; or if a key
        needs a password, but no password is set.
    :raises OSError: if a file that the options name cannot be read.
    """
    # Wrap the options in a `Secret` first, because an option may be a password, and tracebacks may
    # show local variables.
    options = Secret.of(options)
    _check_types(context, options, sessions)
    if context is None and options.reveal() is None:
        return None
    # The code below removes each known option from this copy. Options that remain are unknown.
    remaining = _with_hidden_password(options)
    server_hostname = remaining.pop("server_hostname", None)
    if server_hostname is not None and not isinstance(server_hostname, str):
        raise TypeError(
            f"ssl_options['server_hostname'] must be a name, but is {server_hostname!r}"
        )
    # These options are allowed, but only with the values that the driver always uses.
    for name, value in _FIXED_OPTIONS.items():
        if remaining.pop(name, value) != value:
            raise ValueError(f"ssl_options[{name!r}] can only be {value!r} here")
    if context is not None:
        _refuse_options(remaining, "cannot be given beside ssl_context: set it on the context")
        return TlsClient(context, server_hostname, sessions, is_unchanging=is_context_unchanging)
    source = _source_of(remaining)
    model = source if isinstance(source, ssl.SSLContext) else source()
    return TlsClient(source, server_hostname, sessions, model, is_unchanging=True)


def _source_of(options: dict[str, Any]) -> ssl.SSLContext | ReloadingContext:
    """Return a TLS context for the options of `ssl_options`, or an object that creates contexts.

    If the options name files, the object creates a new context when a file has changed, so that
    each new connection uses the current files.
    """
    paths = {
        name: options[name]
        for name in ("ca_certs", *(("certfile", "keyfile") if options.get("certfile") else ()))
        # Skip a value that is not a path: `_make_context` raises the error for it.
        if options.get(name) and isinstance(options[name], (str, bytes, os.PathLike))
    }
    if not paths:
        return _make_context(options)
    for name, path in paths.items():
        with _naming_files(**{name: path}):
            os.stat(path)
    # Make the paths absolute, because the application may change the working directory later, for
    # example to become a daemon.
    full_paths = {name: os.path.abspath(os.fsdecode(path)) for name, path in paths.items()}
    full_options = {**options, **full_paths}
    # `_make_context` empties its argument, so pass a copy.
    return ReloadingContext(lambda: _make_context(dict(full_options)), *full_paths.values())


def _with_hidden_password(options: Secret[Mapping[str, Any] | None]) -> dict[str, Any]:
    hidden = Secret(dict(options.reveal() or {}))
    if "password" in hidden.reveal():
        hidden.reveal()["password"] = Secret(hidden.reveal()["password"])
    return hidden.reveal()


def _check_types(context: object, options: Secret[Any], sessions: object) -> None:
    """Raise TypeError if a TLS setting has a wrong type, or ValueError if it cannot be used."""
    # Check the context, then the session cache, then the options.
    if not (context is None or isinstance(context, ssl.SSLContext) or callable(context)):
        advice = "ssl.create_default_context()"
        if isinstance(context, (str, os.PathLike)):
            advice = f"ssl.create_default_context(cafile={os.fspath(context)!r})"
        raise TypeError(
            "ssl_context must be an ssl.SSLContext, or a function that gives one, "
            f"but is {context!r}: write {advice}"
        )
    # `ssl.SSLContext` itself is callable, but a call would return a context that verifies no
    # certificates.
    if context is ssl.SSLContext:
        raise TypeError(
            "ssl_context must be an instance, but is the class ssl.SSLContext: write "
            "ssl.create_default_context()"
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
    """Create a context from old-style options, which are removed from `options`."""
    ca_certs = options.pop("ca_certs", None)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # Require TLS 1.2, whatever OpenSSL's configuration says. The option `ssl_version` may allow an
    # older version.
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    _restrict_version(context, options.pop("ssl_version", None))
    # Set `check_hostname` before `verify_mode`, because Python rejects CERT_NONE while host names
    # are checked.
    context.check_hostname = bool(options.pop("check_hostname", False))
    verify_mode = options.pop("cert_reqs", None)
    context.verify_mode = ssl.CERT_REQUIRED if verify_mode is None else _verify_mode(verify_mode)
    if ca_certs:
        with _naming_files(ca_certs=ca_certs):
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
    for name in options:
        _refuse_options({name: None}, f"is unknown: {_instead_of_option(name)}")
    return context


def _verify_mode(verify_mode: Any) -> ssl.VerifyMode:
    """Convert the option ``cert_reqs`` to a member of `ssl.VerifyMode`."""
    try:
        return ssl.VerifyMode(verify_mode)
    except ValueError:
        name = verify_mode if verify_mode in ssl.VerifyMode.__members__ else "CERT_REQUIRED"
        raise TypeError(
            f"ssl_options['cert_reqs'] must be a constant of the module ssl, but is "
            f"{verify_mode!r}: write ssl.{name}"
        ) from None


def _instead_of_option(name: object) -> str:
    """Return what to write instead of an unknown option."""
    known_name = _OPTIONS_BY_OTHER_NAME.get(str(name)) or nearest(str(name), _OPTIONS)
    if known_name is not None:
        return f"did you mean {known_name!r}?"
    return f"use ssl_context instead; the options are {', '.join(_OPTIONS)}"


def _load_key(
    context: ssl.SSLContext, certfile: Any, keyfile: Any, password: Secret[Any] | None
) -> None:
    """Load the client's certificate and its key, which may be in the same file."""

    def raise_missing_password() -> NoReturn:
        raise ValueError(
            f"the key in {keyfile or certfile} has a pass phrase: ssl_options['password'] says it"
        )

    # If there is no password, pass a function that raises an error. Otherwise OpenSSL would ask for
    # a pass phrase on the terminal.
    if password is None or password.reveal() is None:
        password = Secret(raise_missing_password)
    paths = {"certfile": certfile, "keyfile": keyfile}
    with _naming_files(**{name: path for name, path in paths.items() if path}):
        context.load_cert_chain(certfile, keyfile, password.reveal())


@contextmanager
def _naming_files(**paths: Any) -> Iterator[None]:
    """Add file names to the errors of OpenSSL and of the system in the `with` block.

    :param paths: the files, by option.
    """
    try:
        yield
    except ssl.SSLError as error:
        names = " and ".join(map(str, paths.values()))
        raise ssl.SSLError(
            error.errno, f"{names} cannot be loaded: {error}{_why_not_loaded(error, paths)}"
        ) from error
    except OSError as error:
        # An OSError can name only one file: name a file that does not exist, or else the first
        # file.
        missing = [name for name, path in paths.items() if not os.path.exists(path)]
        option = (missing or list(paths))[0]
        raise type(error)(
            error.errno or errno.EIO, f"{error.strerror} (ssl_options[{option!r}])", paths[option]
        ) from error


def _why_not_loaded(error: ssl.SSLError, paths: Mapping[str, Any]) -> str:
    """Return the probable cause, as the end of a message; "" if no cause is found."""
    if error.reason == "KEY_VALUES_MISMATCH":
        return ": the key is not the key of this certificate"
    for option, path in paths.items():
        # If there is no separate file for the key, the key is in the file of the certificate.
        expected = ["PRIVATE KEY"] if option == "keyfile" else ["CERTIFICATE"]
        if option == "certfile" and "keyfile" not in paths:
            expected.append("PRIVATE KEY")
        try:
            text = Path(path).read_text(errors="replace")
        except (OSError, TypeError):
            continue
        for content in expected:
            if f"{content}-----" not in text:
                return f": ssl_options[{option!r}] has no BEGIN {content} (PEM is required)"
        if option in ("certfile", "keyfile") and "ENCRYPTED" in text:
            return ": is ssl_options['password'] the pass phrase of this key?"
    return ""


def _restrict_version(context: ssl.SSLContext, version: object) -> None:
    """Let `context` allow only the TLS version of an old constant of Python's ssl module."""
    if version is None:
        return
    name = getattr(version, "name", "")
    if name in _VERSIONS:
        with warnings.catch_warnings():
            # Suppress Python's warnings about TLS 1.0 and 1.1, because the application has
            # requested that version explicitly.
            warnings.simplefilter("ignore", DeprecationWarning)
            context.minimum_version = context.maximum_version = _VERSIONS[name]
    elif version not in (ssl.PROTOCOL_TLS, ssl.PROTOCOL_TLS_CLIENT):
        raise ValueError(f"ssl_options['ssl_version'] cannot be {version!r} for a client")
