"""One TLS context for the listener, which chooses for each connection who does the TLS."""

from __future__ import annotations

import ssl
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.edge.certificates import Authority
from labkit.edge.names import NameRefused, ServerName, judge

if TYPE_CHECKING:
    from labkit.edge.openssl import AnyClientContext


RECORD = 16 * 1024  # the largest plaintext of a TLS record (RFC 8446 5.1)


class PlainObject(ssl.SSLObject):
    """One connection's TLS by `ssl`; it remembers the server name."""

    name: ServerName | None = None

    @property
    def server_name(self) -> str:
        return self.name.host if self.name else ""

    def read(self, len: int = RECORD, buffer: Any = None) -> Any:
        """As `ssl.SSLObject.read`. uvloop has it allocate 256 KiB each time; no more than a record comes."""
        return super().read(min(len, RECORD), buffer)

    def do_handshake(self) -> None:
        """Raises NameRefused, or as `ssl.SSLObject.do_handshake`."""
        try:
            super().do_handshake()
        except ssl.SSLWantReadError:
            raise
        except ssl.SSLError:
            if self.name is not None and self.name.refusal is not None:
                raise NameRefused(self.name.refusal) from None
            raise


class EdgeContext(ssl.SSLContext):
    """What asyncio and uvloop take for an `ssl.SSLContext`.

    names: for the certificate, which is issued anew when they change. knows: is this host served here?
    wants_client_certificates: asked for each connection; while True, pyOpenSSL does its TLS.
    """

    sslobject_class = PlainObject

    def __new__(cls, *_: Any) -> EdgeContext:
        return super().__new__(cls, ssl.PROTOCOL_TLS_SERVER)

    def __init__(
        self,
        authority: Authority,
        names: Callable[[], Sequence[str]],
        knows: Callable[[str], bool],
        wants_client_certificates: Callable[[], bool],
    ) -> None:
        self.minimum_version = ssl.TLSVersion.TLSv1_2
        self._authority = authority
        self._names = names
        self._knows = knows
        self._wants_client_certificates = wants_client_certificates
        self._issued: tuple[str, ...] = ()
        self._leaf = (b"", b"")
        self._any_client: AnyClientContext | None = None
        self.sni_callback = self._named

    def wrap_bio(self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, *_: Any, **__: Any) -> Any:
        """A TLS object for one connection of a client."""
        names = tuple(self._names())
        if names != self._issued:
            self._issue(names)
        if self._wants_client_certificates():
            return self._openssl().wrap_bio(incoming, outgoing)
        return super().wrap_bio(incoming, outgoing, server_side=True)

    def _issue(self, names: tuple[str, ...]) -> None:
        self._leaf = certificate, key = self._authority.leaf(names)
        with (
            tempfile.TemporaryDirectory() as folder
        ):  # `ssl` reads files only; nobody else may look into this one
            file = Path(folder, "leaf.pem")
            file.write_bytes(certificate + key)
            self.load_cert_chain(file)
        self._any_client = None
        self._issued = names

    def _openssl(self) -> AnyClientContext:
        if self._any_client is None:
            from labkit.edge.openssl import AnyClientContext  # heavy, and most labs do without

            self._any_client = AnyClientContext(*self._leaf, lambda name: judge(name, self._knows))
        return self._any_client

    def _named(self, connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> int | None:
        assert isinstance(connection, PlainObject)
        connection.name = judge(name, self._knows)
        return None if connection.name.refusal is None else ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
