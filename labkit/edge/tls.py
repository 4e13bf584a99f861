"""TLS context of the listener, which chooses `ssl` or pyOpenSSL for each connection."""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.edge.certificates import Certificates, Leaf
from labkit.edge.handshake import Handshake, current
from labkit.edge.names import NameRefused, ServerName, check_server_name

if TYPE_CHECKING:
    from labkit.edge.openssl import AnyClientContext


RECORD = 16 * 1024  # the largest plaintext of a TLS record (RFC 8446 5.1)
# What Python's `ssl` takes, and what old devices offer: key exchange by RSA, and SHA-1 in a MAC.
CIPHERS = "@SECLEVEL=2:ECDH+AESGCM:ECDH+CHACHA20:ECDH+AES:RSA+AESGCM:RSA+AES:!aNULL:!eNULL:!aDSS:!AESCCM"


class PlainObject(ssl.SSLObject):
    """TLS state of one connection by `ssl`; it stores the server name."""

    name: ServerName | None = None
    _incoming: ssl.MemoryBIO
    _outgoing: ssl.MemoryBIO
    _handshake: Handshake
    _greeting: bytearray | None  # what the client sent until it was known whom it wants
    _anew = False  # it wants to resume a session

    @property
    def server_name(self) -> str:
        return self.name.host if self.name else ""

    def read(self, len: int = RECORD, buffer: Any = None) -> Any:
        """Return or store decrypted bytes, as `ssl.SSLObject.read`; for uvloop it would allocate 256 KiB a time."""
        size = RECORD if len > RECORD else len
        return self._sslobj.read(size) if buffer is None else self._sslobj.read(size, buffer)

    def do_handshake(self) -> None:
        """Do a step of the handshake. Raises NameRefused, or as `ssl.SSLObject.do_handshake`."""
        if self._handshake.failure is not None:
            raise self._handshake.failure
        if self._greeting is not None:
            came = self._incoming.read()
            self._incoming.write(came)
            self._greeting += came
        try:
            super().do_handshake()
        except ssl.SSLWantReadError:
            raise
        except ssl.SSLError as error:
            if self.name is not None and self.name.refusal is not None:
                raise NameRefused(self.name.refusal) from None
            if self._anew and self._greeting:
                self._start_anew(self._greeting)
            else:
                self._handshake.fail(error, self._outgoing)

    def named(self, name: ServerName) -> int | None:
        """Store the server name that the client sent. Returns the alert if the handshake must end, else None.

        No session of TLS 1.2 is resumed: it may have been another name's (RFC 6066 3), and `ssl` tells that name
        here, not the one that the client said. Nor can it be told to agree on a new session, so the handshake is
        begun anew by a context that knows none.
        """
        cipher = self.cipher() if self._greeting and self.session_reused else None
        if cipher is not None and cipher[1] == "TLSv1.2":
            self._anew = True
            return ssl.ALERT_DESCRIPTION_INTERNAL_ERROR  # never leaves
        self.name, self._greeting = name, None
        return None if name.refusal is None else ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME

    def _start_anew(self, greeting: bytearray) -> None:
        self._outgoing.read()
        self._incoming.read()
        self._incoming.write(greeting)
        self._greeting = None
        assert isinstance(self.context, EdgeContext)
        self._sslobj = self.context.without_sessions(self._incoming, self._outgoing)
        self._sslobj.owner = self
        self.do_handshake()


class EdgeContext(ssl.SSLContext):
    """TLS context that asyncio and uvloop accept as an `ssl.SSLContext`.

    names: for the certificates, which are issued anew when they change. knows: is this host served here?
    wants_client_certificates: asked for each connection; while True, pyOpenSSL does its TLS. always: whether the
    certificates have to be valid at all times.
    """

    sslobject_class = PlainObject

    def __new__(cls, *_: Any) -> EdgeContext:
        return super().__new__(cls, ssl.PROTOCOL_TLS_SERVER)

    def __init__(
        self,
        certificates: Certificates,
        names: Callable[[], Sequence[str]],
        knows: Callable[[str], bool],
        wants_client_certificates: Callable[[], bool],
        always: Callable[[], bool] = lambda: False,
    ) -> None:
        self.minimum_version = ssl.TLSVersion.TLSv1_2
        self.set_ciphers(CIPHERS)
        self._certificates = certificates
        self._names = names
        self._knows = knows
        self._wants_client_certificates = wants_client_certificates
        self._always = always
        self._issued: tuple[tuple[str, ...], bool] | None = None
        self._leaves: list[Leaf] = []
        self._any_client: AnyClientContext | None = None
        self.sni_callback = self._named

    def prepare(self) -> None:
        """Issue certificates if the names have changed, or how long they have to be valid."""
        wanted = names, always = tuple(self._names()), self._always()
        if wanted != self._issued:
            self._leaves = self._certificates.leaves(names, always=always)
            load(self, self._leaves)
            self._any_client = None
            self._issued = wanted

    def wrap_bio(self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, *_: Any, **__: Any) -> Any:
        """Return a TLS object for one connection of a client."""
        self.prepare()
        if self._wants_client_certificates():
            return self._openssl().wrap_bio(incoming, outgoing)
        made = super().wrap_bio(incoming, outgoing, server_side=True)
        assert isinstance(made, PlainObject)
        made._incoming, made._outgoing, made._handshake = incoming, outgoing, current()
        made._greeting = bytearray()
        return made

    def without_sessions(self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO) -> Any:
        """Return the inner object of an `ssl.SSLObject`, of a new context without sessions."""
        fresh = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        fresh.minimum_version = self.minimum_version
        fresh.set_ciphers(CIPHERS)
        fresh.sni_callback = self._named
        load(fresh, self._leaves)
        made: Any = fresh.wrap_bio(incoming, outgoing, server_side=True)
        return made._sslobj

    def _openssl(self) -> AnyClientContext:
        if self._any_client is None:
            from labkit.edge.openssl import AnyClientContext  # heavy, and most labs do without

            self._any_client = AnyClientContext(
                self._leaves, CIPHERS, lambda name: check_server_name(name, self._knows)
            )
        return self._any_client

    def _named(self, connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> int | None:
        assert isinstance(connection, PlainObject)
        return connection.named(check_server_name(name, self._knows))


def load(context: ssl.SSLContext, leaves: Sequence[Leaf]) -> None:
    """Load these certificates into a context."""
    for certificate, key in leaves:
        number, name = tempfile.mkstemp()  # `ssl` reads files only; nobody else may read this one
        try:
            with os.fdopen(number, "wb") as file:
                file.write(certificate + b"\n" + key)
            context.load_cert_chain(name)
        finally:
            Path(name).unlink()
