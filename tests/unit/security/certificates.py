"""Valid and invalid certificates for tests of TLS."""

from __future__ import annotations

import datetime
import functools
import ssl
from typing import Any

from cassandra.testing import tls

DAY = datetime.timedelta(days=1)


class Authority(tls.Authority):
    """A certificate authority (CA) that issues certificates for servers."""

    @functools.cached_property
    def _server_files(self) -> dict[tuple[Any, ...], tuple[str, str]]:
        """The files of server certificates, by names and validity. Tests share certificates."""
        return {}

    def server(self, *names: str, clients: str | None = None, **validity: Any) -> ssl.SSLContext:
        """Return a TLS context for a server, with a certificate for `names`.

        :param clients: the path of a CA; clients must present a certificate that this CA has
            issued. None requires no client certificate.
        :param validity: the arguments `begins` and `ends` of `issue`.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        key = (names, *validity.items())
        if key not in self._server_files:
            self._server_files[key] = self.issue(*names, **validity)
        context.load_cert_chain(*self._server_files[key])
        if clients is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(clients)
        return context
