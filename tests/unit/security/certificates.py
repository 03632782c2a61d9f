"""Valid and invalid certificates for tests of TLS."""

from __future__ import annotations

import datetime
import ssl
from typing import Any

from cassandra.testing import tls

DAY = datetime.timedelta(days=1)


class Authority(tls.Authority):
    """A certificate authority (CA) that issues certificates for servers."""

    def server(self, *names: str, clients: str | None = None, **validity: Any) -> ssl.SSLContext:
        """Return a TLS context for a server, with a certificate for `names`.

        :param clients: the path of a CA; clients must present a certificate that it has issued.
        :param validity: the arguments `begins` and `ends` of `issue`.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.issue(*names, **validity))
        if clients is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(clients)
        return context
