"""Faults of the listener: names, versions, plain HTTP."""

from __future__ import annotations

from typing import Any

from labkit.conformance.mutant import mutant
from labkit.device_api.exchange import Exchange
from labkit.devices.registry import Device
from labkit.edge.names import ServerName

SOME_PRODUCT = "token-open.m2.conformance.localhost"
WRONG_HOST = "labkit.edge.server:EdgeServer.wrong_host"


@mutant("DEV-TLS-1", "labkit.devices.registry:by_digest")
def tokens_everywhere(original: Any) -> Any:
    """a token is good at every product"""

    def broken(connection: Any, product: str, digest: bytes) -> Device | None:
        row = connection.exec_driver_sql("SELECT product FROM device WHERE digest = ?", (digest,)).first()
        found: Device | None = original(connection, row[0] if row else product, digest)
        return found

    return broken


@mutant("DEV-TLS-1", "labkit.devices.content:item_ids")
def one_list(original: Any) -> Any:
    """every product lists the content of all"""

    def broken(connection: Any, product: str) -> list[Any]:
        rows = connection.exec_driver_sql("SELECT DISTINCT product FROM content").all()
        return [item for row in rows for item in original(connection, row[0])]

    return broken


@mutant("DEV-TLS-1", "labkit.devices.content:item_info")
def one_store(original: Any) -> Any:
    """a content is found whatever product has it"""

    def broken(connection: Any, product: str, id: str) -> Any:
        row = connection.exec_driver_sql("SELECT product FROM content WHERE id = ?", (id,)).first()
        return original(connection, row[0] if row else product, id)

    return broken


@mutant("DEV-TLS-2", "labkit.edge.names:judge")
def default_host(original: Any) -> Any:
    """a connection without SNI is for the first product"""

    def broken(name: str | None, knows: Any) -> ServerName:
        found: ServerName = original(name, knows)
        return ServerName(SOME_PRODUCT) if name is None else found

    return broken


@mutant("DEV-TLS-2", "labkit.edge.names:judge")
def any_host(original: Any) -> Any:
    """a connection with an unknown SNI is for the first product"""

    def broken(name: str | None, knows: Any) -> ServerName:
        found: ServerName = original(name, knows)
        return ServerName(SOME_PRODUCT) if name is not None and found.refusal else found

    return broken


@mutant("DEV-TLS-3", WRONG_HOST)
def any_name_in_host(original: Any) -> Any:
    """Host is not looked at"""
    return lambda server, protocol, request: None


@mutant("DEV-TLS-3", WRONG_HOST)
def first_host_counts(original: Any) -> Any:
    """Host is looked at in the first request of a connection only"""

    def broken(server: Any, protocol: Any, request: Any) -> str | None:
        wrong: str | None = None if protocol.host_header else original(server, protocol, request)
        return wrong

    return broken


@mutant("DEV-TLS-3", WRONG_HOST)
def any_product_in_host(original: Any) -> Any:
    """any product may be named in Host"""

    def broken(server: Any, protocol: Any, request: Any) -> str | None:
        named = (request.headers.get("Host") or "").partition(":")[0]
        wrong: str | None = (
            None if server.context.hosts.serves(named) else original(server, protocol, request)
        )
        return wrong

    return broken


@mutant("DEV-TLS-3", "labkit.edge.hosts:wrong_host_in")
def any_name_where_unreadable(original: Any) -> Any:
    """what cannot be read is answered, whatever Host it names"""
    return lambda connection, serves, head: None


@mutant("DEV-TLS-3", "labkit.edge.hosts:wrong_host_in")
def no_name_where_unreadable(original: Any) -> Any:
    """what cannot be read is answered where it names no Host"""

    def broken(connection: Any, serves: Any, head: bytes) -> str | None:
        wrong: str | None = original(connection, serves, head)
        return wrong if b"\r\nHost:" in head else None

    return broken


@mutant("DEV-TLS-4", "labkit.edge.hosts:host_name")
def exact_case(original: Any) -> Any:
    """names are compared letter by letter"""

    def broken(text: str) -> str | None:
        found: str | None = original(text)
        return text.partition(":")[0] if found else None

    return broken


@mutant("DEV-TLS-4", "labkit.edge.hosts:host_name")
def exact_port(original: Any) -> Any:
    """a Host with a port is another name"""
    return lambda text: None if ":" in text else original(text)


@mutant("DEV-TLS-5", "labkit.core.journal:Journal.record_refusal")
def silent(original: Any) -> Any:
    """the journal does not mention what was refused"""
    return lambda self, reason, detail: None


@mutant("DEV-TLS-5", "labkit.edge.hosts:described")
def nameless(original: Any) -> Any:
    """the journal does not say which Host was named"""
    return lambda connection, host_header: "another Host"


@mutant("DEV-TLS-6", "labkit.edge.openssl:AnyClientContext.__init__")
def newest_only(original: Any) -> Any:
    """TLS 1.3 only"""

    def broken(context: Any, *args: Any) -> None:
        from OpenSSL import SSL

        original(context, *args)
        context._context.set_min_proto_version(SSL.TLS1_3_VERSION)

    return broken


@mutant("DEV-TLS-7", WRONG_HOST)
def one_product_in_the_clear(original: Any) -> Any:
    """over plain HTTP all requests are for the first product"""

    def broken(server: Any, protocol: Any, request: Any) -> str | None:
        wrong: str | None = original(server, protocol, request)
        if not protocol.connection.tls:
            protocol.connection.host, protocol.host_header = SOME_PRODUCT, None
        return wrong

    return broken


@mutant("DEV-TLS-7", "labkit.device_api.authenticate:presented")
def no_token_in_the_clear(original: Any) -> Any:
    """over plain HTTP tokens do not count"""

    def broken(exchange: Exchange) -> Any:
        return original(exchange) if exchange.connection.tls else None

    return broken
