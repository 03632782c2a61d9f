"""A fake of Astra: a metadata service and a proxy, both with real TLS, in front of fake nodes.

Astra is a cloud service with Cassandra, which drivers reach with a secure connect bundle.
"""

from __future__ import annotations

import asyncio
import http.server
import json
import threading
import weakref
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.proxies import Relay

from .certificates import Authority


class Astra:
    """The metadata service and the proxy, each running in its own thread.

    `request_count` counts the requests to the service. `received_server_names` lists the server
    names that clients sent to the proxy. A test may set `answer` to the status and the body that
    the service returns; with None, the service returns `service_response()`.

    :param authority: the CA of all certificates.
    :param nodes: the addresses of the nodes, by host id.
    """

    def __init__(self, authority: Authority, nodes: Mapping[str, tuple[str, int]]) -> None:
        self.nodes = dict(nodes)
        self.authority = authority
        self.request_count = 0
        self.received_server_names: list[str | None] = []
        self.answer: tuple[int, bytes] | None = None
        self._names: weakref.WeakKeyDictionary[Any, str | None] = weakref.WeakKeyDictionary()
        self._relay = Relay(self._target)

    def __enter__(self) -> Astra:
        self._start_service()
        self._start_proxy()
        return self

    def _start_service(self) -> None:
        """Start the metadata service, an HTTPS server, in its own thread."""
        astra = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                astra.request_count += 1
                status, body = astra.answer or (200, json.dumps(astra.service_response()).encode())
                self.send_response(status if self.path == "/metadata" else 404)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: Any) -> None:
                pass

        self._service = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = self.authority.server("127.0.0.1", clients=self.authority.path)
        # The thread of the connection makes the TLS handshake, so a slow handshake does not block
        # the thread that accepts connections.
        self._service.socket = context.wrap_socket(
            self._service.socket, server_side=True, do_handshake_on_connect=False
        )
        # `server_close` waits only for threads that are not daemons
        self._service.daemon_threads = False
        self._service.handle_error = lambda *args: None  # type: ignore[method-assign]
        self._service_thread = threading.Thread(
            target=self._service.serve_forever, args=(0.01,), daemon=True
        )
        self._service_thread.start()

    def _start_proxy(self) -> None:
        """Start the proxy in its own thread.

        Its TLS callback records the server name of each connection.
        """
        self._loop = asyncio.SelectorEventLoop()
        context = self.authority.server("proxy", clients=self.authority.path)
        context.sni_callback = lambda connection, name, context_of_handshake: (
            self._names.__setitem__(connection, name)
        )
        self._loop.run_until_complete(self._relay.start(context=context))
        self._proxy_thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._proxy_thread.start()

    @property
    def proxy(self) -> str:
        """Return the address and port of the proxy, as ``address:port``."""
        return f"{self._relay.address}:{self._relay.port}"

    def service_response(self) -> dict[str, Any]:
        """Return the response of the metadata service, unless the test has set `answer`."""
        return {
            "version": 1,
            "region": "here",
            "contact_info": {
                "type": "sni_proxy",
                "local_dc": "datacenter1",
                "contact_points": list(self.nodes),
                "sni_proxy_address": self.proxy,
            },
        }

    def bundle(self, path: Path, **changes: Any) -> str:
        """Write a secure connect bundle, and return its path.

        :param path: the path of the bundle.
        :param changes: other contents for files of the bundle. In the names, ``_`` stands for the
            dot; None leaves a file out.
        """
        certificate, key = self.authority.issue("client")
        config = {"host": "127.0.0.1", "port": self._service.server_address[1], "keyspace": "ks"}
        files: dict[str, Any] = {
            "config_json": json.dumps(config),
            "ca_crt": Path(self.authority.path).read_text(),
            "cert": Path(certificate).read_text(),
            "key": Path(key).read_text(),
            **changes,
        }
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in files.items():
                if text is not None:
                    archive.writestr(name.replace("_", "."), text)
        return str(path)

    def _target(self, writer: asyncio.StreamWriter) -> tuple[str, int] | None:
        """Return the address of the node for a connection; None to close the connection."""
        name = self._names.get(writer.get_extra_info("ssl_object"))
        self.received_server_names.append(name)
        return None if name is None else self.nodes.get(name)

    def __exit__(self, *args: object) -> None:
        self._service.shutdown()
        self._service_thread.join()
        self._service.server_close()
        asyncio.run_coroutine_threadsafe(self._relay.stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._proxy_thread.join()
        self._loop.close()
