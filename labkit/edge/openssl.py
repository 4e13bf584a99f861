"""TLS by pyOpenSSL, because Python's own `ssl` refuses a client certificate that it cannot verify.

`AnyClientContext.wrap_bio` returns an object with the methods of `ssl.SSLObject`, which both event loops accept.
It costs more CPU than `ssl`, so it is used only where client certificates are needed.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from OpenSSL import SSL, crypto

from labkit.edge.certificates import Leaf
from labkit.edge.handshake import current
from labkit.edge.names import NameRefused, ServerName

RECORD_HEADER = 5
RECORD = 16 * 1024  # the largest plaintext of a TLS record (RFC 8446 5.1)
RECORD_EXTRA = 256  # the most that a record grows by (RFC 8446 5.2)
HAND_OUT = 4 * 1024  # pyOpenSSL allocates what it is asked for: small pieces keep the memory in one

# Of what pyOpenSSL does not export.
PARTIAL_WRITE = 0x1  # SSL_MODE_ENABLE_PARTIAL_WRITE


class AnyClientContext:
    """TLS context of a server that requests a client certificate and accepts any, or none.

    No session is ever resumed: a resumed one would carry the certificate of the first.
    """

    def __init__(
        self, leaves: Sequence[Leaf], ciphers: str, check_server_name: Callable[[str | None], ServerName]
    ) -> None:
        self._check_name = check_server_name
        self._context = context = SSL.Context(SSL.TLS_SERVER_METHOD)
        context.set_min_proto_version(SSL.TLS1_2_VERSION)
        context.set_options(SSL.OP_NO_TICKET | SSL.OP_NO_COMPRESSION | SSL.OP_NO_RENEGOTIATION)
        context.set_session_cache_mode(SSL.SESS_CACHE_OFF)
        context.set_mode(SSL.MODE_RELEASE_BUFFERS)
        context.clear_mode(PARTIAL_WRITE)
        context.set_cipher_list(ciphers.encode())
        for certificates, key in leaves:
            own, *others = x509.load_pem_x509_certificates(certificates)
            context.use_certificate(own)
            context.use_privatekey(load_pem_private_key(key, password=None))  # type: ignore[arg-type]
            for each in others:
                context.add_extra_chain_cert(each)
        context.set_verify(SSL.VERIFY_PEER, lambda *_: True)
        context.set_tlsext_servername_callback(self._named)

    def wrap_bio(self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO) -> AnyClientObject:
        return AnyClientObject(SSL.Connection(self._context, None), incoming, outgoing)

    def _named(self, connection: SSL.Connection) -> None:
        name = connection.get_servername()
        greeting: Greeting = connection.get_app_data()
        greeting.name = self._check_name(None if name is None else name.decode("ascii", "backslashreplace"))


@dataclass(slots=True)
class Greeting:
    """Server name that the client sent; separate from the TLS object, to avoid a reference cycle."""

    name: ServerName | None = None


class AnyClientObject:
    """TLS state of one connection, with the methods of `ssl.SSLObject` that event loops call."""

    __slots__ = (
        "_connection",
        "_drained",
        "_fed",
        "_greeting",
        "_handshake",
        "_incoming",
        "_missing",
        "_one_record",
        "_outgoing",
    )

    def __init__(self, connection: SSL.Connection, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO) -> None:
        self._connection = connection
        self._incoming = incoming
        self._outgoing = outgoing
        # To ask OpenSSL whether it holds more data means an exception: what it was fed often tells.
        self._drained = True  # it holds no input that it could turn into data now
        self._fed = 0  # bytes of input that it was fed last: seldom does more come out at once
        self._missing = 0  # bytes until the record it was fed last is whole; -1 when not known any more
        self._one_record = False  # all that it holds is one whole record
        self._greeting = Greeting()
        self._handshake = current()
        connection.set_app_data(self._greeting)
        connection.set_accept_state()

    @property
    def server_name(self) -> str:
        return self._greeting.name.host if self._greeting.name else ""

    def do_handshake(self) -> None:
        """Do a step of the handshake. Raises NameRefused, or as `ssl.SSLObject.do_handshake`."""
        self._feed()
        failure: SSL.Error | None = None
        try:
            self._connection.do_handshake()
        except SSL.Error as error:
            failure = error
        name = self._greeting.name
        if name is not None and name.refusal is not None:
            # pyOpenSSL's callback could only take note of it: what OpenSSL wrote since must not leave.
            raise NameRefused(name.refusal)
        self._send()
        if failure is not None:
            self._handshake.fail(self._translated(failure), self._outgoing)

    def read(self, size: int = RECORD, buffer: Any = None) -> bytes | int:
        """Return or store decrypted bytes, as `ssl.SSLObject.read`; none at the end of the stream."""
        if self._incoming.pending:
            self._feed()
        elif self._drained:
            raise ssl.SSLWantReadError(ssl.SSL_ERROR_WANT_READ, "no input")
        wanted = min(size, self._fed, RECORD)
        try:
            data = self._connection.recv(wanted)
        except SSL.WantReadError:
            self._drained = True
            raise ssl.SSLWantReadError(ssl.SSL_ERROR_WANT_READ, "no input") from None
        except SSL.ZeroReturnError:
            self._drained = True
            data = b""
        except SSL.Error as error:
            self._drained = True
            self._send()  # an alert, if it is the client's fault
            raise self._translated(error) from None
        if self._one_record and len(data) < wanted:
            self._drained = True
        if buffer is None:
            return data
        buffer[: len(data)] = data
        return len(data)

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Encrypt all of `data`, as `ssl.SSLObject.write`."""
        try:
            sent = self._connection.send(data)
        except SSL.Error as error:
            raise self._translated(error) from None
        self._send(len(data) + RECORD_EXTRA * (1 + len(data) // RECORD))
        return sent

    def unwrap(self) -> None:
        """Send the closing alert and wait for the client's, as `ssl.SSLObject.unwrap`."""
        self._feed()
        try:
            done = self._connection.shutdown()
        except SSL.Error as error:
            raise self._translated(error) from None
        finally:
            self._send()
        if not done:
            raise ssl.SSLWantReadError(ssl.SSL_ERROR_WANT_READ, "the client has not said goodbye")

    def pending(self) -> int:
        """Return the number of decrypted bytes, as `ssl.SSLObject.pending`; 1 while a record may be undecrypted."""
        return 0 if self._drained else self._connection.pending() or 1

    def getpeercert(self, binary_form: bool = False) -> bytes | dict[str, Any] | None:
        """Return the client's certificate in DER; to event loops an empty dictionary, which they do not use."""
        if not binary_form:
            return {}
        certificate = self._connection.get_peer_certificate()
        return crypto.dump_certificate(crypto.FILETYPE_ASN1, certificate) if certificate else None

    def cipher(self) -> tuple[str | None, str, int | None]:
        connection = self._connection
        return (
            connection.get_cipher_name(),
            connection.get_protocol_version_name(),
            connection.get_cipher_bits(),
        )

    def compression(self) -> None:
        return None

    def _feed(self) -> None:
        if data := self._incoming.read():
            nothing_held = self._drained and self._missing == 0
            self._missing = missing(data, self._missing)
            self._one_record = nothing_held and self._missing == 0 and len(data) == record_length(data)
            self._fed = len(data)
            self._drained = False
            self._connection.bio_write(data)

    def _send(self, size: int = HAND_OUT) -> None:
        try:
            while True:
                data = self._connection.bio_read(size)
                self._outgoing.write(data)
                if len(data) < size:
                    return
        except SSL.WantReadError:
            return

    def _translated(self, error: SSL.Error) -> ssl.SSLError:
        if isinstance(error, SSL.WantReadError):
            return ssl.SSLWantReadError(ssl.SSL_ERROR_WANT_READ, "no input")
        if isinstance(error, SSL.ZeroReturnError):
            return ssl.SSLZeroReturnError(ssl.SSL_ERROR_ZERO_RETURN, "the client closed TLS")
        if isinstance(error, SSL.SysCallError):
            return ssl.SSLEOFError(ssl.SSL_ERROR_EOF, "the client left without closing TLS")
        reasons = error.args[0] if error.args else []
        return ssl.SSLError(ssl.SSL_ERROR_SSL, "; ".join(reason for *_, reason in reasons) or "TLS failed")


def record_length(data: bytes, start: int = 0) -> int:
    """Return the length of the TLS record that begins at `start`, header included (RFC 8446 5.1)."""
    return RECORD_HEADER + int.from_bytes(data[start + 3 : start + 5], "big")


def missing(data: bytes, before: int) -> int:
    """Return the number of missing bytes of the last record in `data`; -1 if unknown, as after a split header.

    before: the number of bytes that the record before `data` lacked.
    """
    if before < 0:
        return -1
    end = before
    while end < len(data):
        if len(data) - end < RECORD_HEADER:
            return -1
        end += record_length(data, end)
    return end - len(data)
