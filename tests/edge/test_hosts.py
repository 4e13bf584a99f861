import re
import socket
import ssl

import pytest

from labkit.edge.hosts import host_name
from tests.cases import cases
from tests.edge.rig import HOST, OTHER, EdgeRig, get


@cases(
    "text",
    ["a.example", "A.Example", "a.example:443", "a.example:", "a.example.", "a.example.:8443"],
)
def test_host_names_are_equal_despite_case_port_and_final_dot(text: str) -> None:
    assert host_name(text) == "a.example"


@cases("text", ["", ".", ":443", "a b", "a,b", "a@b", "a/b", "a:b", "[::1]", "a\n", "ä", "a.."])
def test_an_invalid_host_name(text: str) -> None:
    assert host_name(text) is None


async def test_sni_selects_the_product(rig: EdgeRig, engine: str) -> None:
    for host in (HOST, OTHER):
        client = await rig.connect(host)
        _, _, body = await client.answer(get(host=host))
        assert body.decode() == f"{host} GET / "
    assert [each.tls for each in rig.connections] == [True, True]
    assert [each.host for each in rig.connections] == [HOST, OTHER]
    assert {each.peer_ip for each in rig.connections} == {"127.0.0.1"}
    assert rig.refused == []


async def test_letter_case_of_the_server_name_does_not_matter(rig: EdgeRig, engine: str) -> None:
    client = await rig.connect(HOST.upper())
    assert (await client.answer(get()))[2].decode() == f"{HOST} GET / "


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("name", ["c.lab.localhost", None])
async def test_an_unknown_or_missing_sni_ends_the_handshake(
    rig: EdgeRig, engine: str, name: str | None, version: ssl.TLSVersion
) -> None:
    with pytest.raises(OSError) as caught:  # noqa: PT011 - ssl.SSLError, or a reset
        await rig.connect(name, rig.trusting(version=version))
    assert not isinstance(caught.value, ssl.SSLCertVerificationError)
    reason, detail = await rig.refusal()
    assert reason == "unknown server name"
    assert (repr(name) if name else "named no server") in detail
    assert "127.0.0.1" in detail
    [record] = rig.context.journal.select("refused")
    assert record.detail is not None
    assert re.fullmatch(r"127\.0\.0\.1:\d+", str(record.detail["peer"]))
    assert rig.connections == []


@cases(
    ("request_text", "named"),
    [
        (get(host=OTHER), OTHER),
        (get(host="c.lab.localhost"), "c.lab.localhost"),
        (get(host=f"{HOST}.evil"), f"{HOST}.evil"),
        (get(host=f"{HOST}:x"), f"{HOST}:x"),
        (get(host=""), "''"),
        ("GET / HTTP/1.1\r\n\r\n", "no Host header"),
        ("GET / HTTP/1.0\r\n\r\n", "no Host header"),
        (get(f"https://{OTHER}/"), OTHER),
        (get(f"https://x@{OTHER}:8443?q=@{HOST}"), OTHER),
        (get(f"https://{HOST}/", OTHER), OTHER),
        (get(f"{OTHER}:443", method="CONNECT"), OTHER),
    ],
)
async def test_another_host_than_sni_ends_the_connection_without_a_byte(
    rig: EdgeRig, request_text: str, named: str, engine: str, parser: str
) -> None:
    await rig.begin_case()
    assert await rig.ask(request_text) == b""
    reason, detail = await rig.refusal()
    assert reason == "wrong host"
    assert named in detail
    assert HOST in detail
    assert rig.connections == []


@cases(
    "request_text",
    [
        get(host=HOST.upper()),
        get(host=f"{HOST}:8443"),
        get(host=f"{HOST}."),
        get(f"https://{HOST}:8443/"),
        get(f"https://{HOST.upper()}"),
        get("*", method="OPTIONS"),
    ],
)
async def test_the_same_host_may_be_spelt_differently(rig: EdgeRig, request_text: str, parser: str) -> None:
    await rig.begin_case()
    client = await rig.connect()
    status, _, body = await client.answer(request_text)
    assert (status, body.decode().split()[0]) == (200, HOST)
    assert rig.refused == []


async def test_requests_before_the_one_with_a_wrong_host_are_answered(rig: EdgeRig, parser: str) -> None:
    answer = await rig.ask(get("/1") + get("/2") + get("/3", OTHER) + get("/4"))
    assert answer.count(b"HTTP/1.1 200 OK") == 2
    assert (await rig.refusal())[0] == "wrong host"


async def test_removing_a_host_ends_its_connections(rig: EdgeRig) -> None:
    client = await rig.connect()
    assert (await client.answer(get()))[0] == 200
    rig.context.hosts.remove(HOST)
    assert await client.ask(get()) == b""
    assert (await rig.refusal())[0] == "wrong host"


async def test_over_plain_http_the_host_header_selects_the_product(rig: EdgeRig) -> None:
    await rig.start(http=True)
    client = await rig.connect_plainly()
    for host in (HOST, OTHER, HOST):
        assert (await client.answer(get(host=host)))[2].decode() == f"{host} GET / "
    (connection,) = rig.connections
    assert not connection.tls
    assert connection.certificate is None


@pytest.mark.parametrize(
    "text", [get(host="c.lab.localhost"), "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"]
)
async def test_over_plain_http_an_unknown_host_ends_the_connection(rig: EdgeRig, text: str) -> None:
    await rig.start(http=True)
    client = await rig.connect_plainly()
    assert await client.ask(text) == b""
    assert (await rig.refusal())[0] == "wrong host"


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="the system keeps IPv4 and IPv6 apart")
async def test_addresses_include_ipv4_and_ipv6(rig: EdgeRig) -> None:
    await rig.start(http=True, host="::")
    for address in ("127.0.0.1", "::1"):
        client = await rig.connect_plainly(address=address)
        assert (await client.answer(get()))[0] == 200
        assert rig.connections[-1].peer_ip == address
        await client.close()


async def test_plain_http_is_off_by_default(rig: EdgeRig) -> None:
    await rig.start()
    assert rig.address.http_port is None
