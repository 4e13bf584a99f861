"""Faults of the listener: names, versions, plain HTTP."""

from __future__ import annotations

from typing import Any

from labkit.conformance.breaking import always
from labkit.conformance.mutant import patch
from labkit.edge.names import ServerName
from labkit.storage.database import execute

SOME_PRODUCT = "token-open.m2.conformance.localhost"
HOSTS = "labkit.edge.hosts"
HOST_NAME = f"{HOSTS}:host_name"
JUDGE = "labkit.edge.names:check_server_name"
REFUSAL = "labkit.core.journal:Journal.record_refusal"
WRONG_HOST = "labkit.edge.server:EdgeServer.wrong_host"
WRONG_HOST_IN = f"{HOSTS}:wrong_host_in"


def _anywhere(table: str, column: str) -> Any:
    """Return a change that looks a row up by a column in all products."""
    query = f"SELECT product FROM {table} WHERE {column} = ?"

    def broken(original: Any, connection: Any, product: str, value: object) -> Any:
        row = connection.exec_driver_sql(query, (value,)).first()
        return original(connection, row[0] if row else product, value)

    return broken


tokens_everywhere = patch(
    "DEV-TLS-1", "labkit.devices.registry:find_by_digest", "a token is good at every product"
)(_anywhere("device", "digest"))
one_store = patch(
    "DEV-TLS-1", "labkit.devices.content:item_info", "a content is found whatever product has it"
)(_anywhere("content", "id"))
any_name_in_host = patch("DEV-TLS-3", WRONG_HOST, "Host is ignored")(always(None))
any_name_where_unreadable = patch(
    "DEV-TLS-3", WRONG_HOST_IN, "a request that cannot be read is answered, whatever its Host"
)(always(None))
exact_port = patch("DEV-TLS-4", HOST_NAME, "a Host with a port is another name")(
    lambda original, text: None if ":" in text else original(text)
)
exact_case = patch("DEV-TLS-4", HOST_NAME, "names are compared letter by letter")(
    lambda original, text: original(text) and text.partition(":")[0]
)
silent = patch("DEV-TLS-5", REFUSAL, "the journal has no records of refusals")(always(None))
nameless = patch("DEV-TLS-5", f"{HOSTS}:described", "the journal does not say which Host was named")(
    always("another Host")
)
no_token_in_the_clear = patch(
    "DEV-TLS-7", "labkit.device_api.authenticate:presented_credential", "over plain HTTP tokens are ignored"
)(lambda original, exchange: original(exchange) if exchange.connection.tls else None)


@patch("DEV-TLS-1", "labkit.devices.content:item_ids")
def one_list(original: Any, connection: Any, product: str) -> Any:
    """every product lists the contents of all products"""
    rows = connection.exec_driver_sql("SELECT DISTINCT product FROM content").all()
    return [item for row in rows for item in original(connection, row[0])]


@patch("DEV-TLS-2", JUDGE)
def default_host(original: Any, name: str | None, knows: Any) -> Any:
    """a connection without SNI is for the first product"""
    return ServerName(SOME_PRODUCT) if name is None else original(name, knows)


@patch("DEV-TLS-2", JUDGE)
def any_host(original: Any, name: str | None, knows: Any) -> Any:
    """a connection with an unknown SNI is for the first product"""
    found: ServerName = original(name, knows)
    return ServerName(SOME_PRODUCT) if name is not None and found.refusal else found


@patch("DEV-TLS-3", WRONG_HOST)
def first_host_counts(original: Any, server: Any, protocol: Any, request: Any) -> Any:
    """Host is compared only in the first request of a connection"""
    return None if protocol.host_header else original(server, protocol, request)


@patch("DEV-TLS-3", WRONG_HOST)
def any_product_in_host(original: Any, server: Any, protocol: Any, request: Any) -> Any:
    """any product may be named in Host"""
    named = (request.headers.get("Host") or "").partition(":")[0]
    return None if server.context.hosts.serves(named) else original(server, protocol, request)


@patch("DEV-TLS-3", WRONG_HOST_IN)
def no_name_where_unreadable(original: Any, connection: Any, serves: Any, head: bytes) -> Any:
    """a request that cannot be read is answered if it has no Host"""
    return original(connection, serves, head) if b"\r\nHost:" in head else None


@patch("DEV-TLS-6", "labkit.edge.openssl:AnyClientContext.__init__", alone=True)
def newest_only(original: Any, context: Any, *arguments: Any) -> None:
    """TLS 1.3 only"""
    from OpenSSL import SSL

    original(context, *arguments)
    context._context.set_min_proto_version(SSL.TLS1_3_VERSION)


@patch("DEV-TLS-7", WRONG_HOST)
def one_product_in_the_clear(original: Any, server: Any, protocol: Any, request: Any) -> Any:
    """over plain HTTP all requests are for the first product"""
    wrong = original(server, protocol, request)
    if not protocol.connection.tls:
        protocol.connection.host, protocol.host_header = SOME_PRODUCT, None
    return wrong


@patch("DEV-TLS-8", "labkit.devices.state:latest_values", alone=True)
def value_of_namesake(original: Any, connection: Any, product: str, identity: str, aliases: Any) -> Any:
    """a device without a value reads that of its namesake in another product"""
    query = "SELECT DISTINCT product FROM datapoint WHERE identity = ?"
    others = [each for (each,) in execute(connection, query, (identity,)).fetchall()]
    found = (original(connection, each, identity, aliases) for each in (product, *others))
    return next(filter(None, found), [])
