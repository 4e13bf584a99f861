"""TLS protocol of the listener's connections."""

from __future__ import annotations

import ssl
from asyncio import sslproto
from contextlib import suppress
from typing import Any


class SmallBuffers(sslproto.SSLProtocol):
    """asyncio's TLS protocol with a smaller read buffer than its default of 256 KiB per connection."""

    max_size = 16 * 1024
    _sslobj: Any

    def _do_shutdown(self) -> None:
        # What a client still sends after our goodbye would else break the connection, and our answer be lost.
        with suppress(ssl.SSLError):
            while self._sslobj.read(self.max_size):
                pass
        super()._do_shutdown()  # type: ignore[misc]
