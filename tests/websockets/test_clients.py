"""Other clients than our own: the library websocket-client, a page in Chromium, and a connection without TLS."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import websocket

from labkit import Lab
from labkit.http.websocket import MESSAGE_LIMIT
from labkit.lab.solution import Solution
from tests.chromium import Tab, browser, needs_chromium
from tests.guard import PATIENCE
from tests.websockets.rig import LUA

ODD = "é e\u0301 \0 😀 \u2028"
PAGE = """<!doctype html><title>live</title><p id=value>none</p><p id=state></p><script>
const log = [], socket = new WebSocket(location.href.replace("https", "wss") + "live", ["v1.json"]);
socket.binaryType = "arraybuffer";
socket.onopen = () => document.getElementById("state").textContent = "open " + socket.protocol;
socket.onclose = event => document.getElementById("state").textContent = "closed " + event.code;
socket.onmessage = event => {
  log.push(event.data instanceof ArrayBuffer ? [...new Uint8Array(event.data)] : event.data);
  document.getElementById("value").textContent = String(event.data);
};
</script>"""


def opened(solution: Solution, path: str, **options: Any) -> websocket.WebSocket:
    address = solution._runtime.address
    trusted = ssl.create_default_context(cadata=address.ca_pem)
    trusted.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    url = solution.url(path).replace("https", "wss", 1)
    # By address, since names below .localhost may not resolve.
    plain = socket.create_connection((address.host, address.https_port), timeout=PATIENCE)
    secure = trusted.wrap_socket(plain, server_hostname=solution.domain)
    return websocket.create_connection(url, socket=secure, timeout=PATIENCE, **options)


def test_websocket_client(acme: Solution) -> None:
    client = opened(acme, "/live", subprotocols=["a", "b"])
    assert client.getsubprotocol() == "a"
    for sent in (ODD, "", "x" * MESSAGE_LIMIT):
        client.send(sent)
        assert client.recv() == sent
    for data in (b"\xff", bytes(range(256))):
        client.send_binary(data)
        assert client.recv() == data
    client.ping("are you there")
    assert client.recv_data(control_frame=True) == (websocket.ABNF.OPCODE_PONG, b"are you there")
    client.send_close(4001, b"enough")
    opcode, data = client.recv_data(control_frame=True)
    assert (opcode, data) == (websocket.ABNF.OPCODE_CLOSE, (4001).to_bytes(2, "big"))
    client.shutdown()  # type: ignore[no-untyped-call]


def test_websocket_client_sends_an_origin(acme: Solution) -> None:
    client = opened(acme, "/live")  # its default is the URL's own origin
    client.send("a")
    assert client.recv() == "a"
    client.close()
    with pytest.raises(websocket.WebSocketBadStatusException, match="403"):
        opened(acme, "/live", origin="https://elsewhere.example")


def test_without_tls() -> None:
    with Lab(seed=7, http_port=0) as lab:
        acme = lab.solution("acme")
        acme.route("WEBSOCKET", "/live", lua=LUA)
        client = websocket.create_connection(
            f"ws://127.0.0.1:{lab.http_port}/live", host=acme.domain, suppress_origin=True, timeout=PATIENCE
        )
        client.send(ODD)
        assert client.recv() == ODD
        client.close()


@pytest.fixture
def live() -> Iterator[tuple[Lab, Solution]]:
    with Lab(seed=7) as lab:
        lamp = lab.product("lamp", resources={"on": "string"})
        acme = lab.solution("acme", products=[lamp])
        acme.route(
            "GET", "/", lua=f"response.headers['Content-Type'] = 'text/html' return {json.dumps(PAGE)}"
        )
        acme.route("GET", "/favicon.ico", lua="response.code = 204")
        acme.route("WEBSOCKET", "/live", lua=LUA)
        acme.on(
            "device",
            "datapoint",
            lua="for _, id in ipairs(Websocket.list()) do Websocket.send{socket_id = id, message = data.value[2]} end",
        )
        yield lab, acme


@pytest.fixture
async def tab(chromium_port: int) -> AsyncIterator[Tab]:
    async with browser(chromium_port, insecure=True) as tab:
        yield tab


async def until(tab: Tab, expression: str) -> None:
    """Return once an expression is true in the page."""
    await tab.evaluate(
        f"new Promise(done => {{ const look = () => ({expression}) ? done(true) : setTimeout(look, 5); look(); }})"
    )


@needs_chromium
@pytest.mark.xdist_group("chromium")
async def test_a_page_with_live_values(live: tuple[Lab, Solution], tab: Tab) -> None:
    lab, acme = live
    await tab.goto(acme.url("/"))
    await until(tab, "document.getElementById('state').textContent == 'open v1.json'")
    device = lab.product("lamp").device("lamp-1").activate()
    for value in ("on", ODD):
        device.write(on=value)
        await until(tab, f"document.getElementById('value').textContent == {json.dumps(value)}")
    await tab.evaluate("socket.send('from the page'); socket.send(new Uint8Array([0, 255]))")
    await until(tab, "log.length == 4")
    assert await tab.evaluate("log") == ["on", ODD, "from the page", [0, 255]]
    await tab.evaluate("socket.send('bye')")
    await until(tab, "document.getElementById('state').textContent == 'closed 1000'")
    assert await tab.errors() == []
    lab.settle()
    assert acme.Websocket.list() == []


@needs_chromium
@pytest.mark.xdist_group("chromium")
async def test_a_page_of_another_origin(live: tuple[Lab, Solution], tab: Tab) -> None:
    lab, acme = live
    other = lab.solution("other")
    other.route("GET", "/", lua="response.headers['Content-Type'] = 'text/html' return '<p>other'")
    await tab.goto(other.url("/"))
    url = acme.url("/live").replace("https", "wss", 1)
    closed = f"new Promise(done => {{ new WebSocket({url!r}).onclose = event => done(event.code); }})"
    assert await tab.evaluate(closed) == 1006
    refused = [each for each in lab.journal.select("request") if each.summary == "WEBSOCKET /live"]
    assert [each.status for each in refused] == [403]


@needs_chromium
@pytest.mark.xdist_group("chromium")
async def test_what_a_page_can_give(tab: Tab) -> None:
    """A cookie, a parameter and subprotocols reach the script; no other credentials can."""
    key = {"type": "apiKey", "in": "query", "name": "key"}
    settings = {"webservice": {"security_schemes": {"key": key}, "security": "key"}}
    with Lab(seed=7) as lab:
        acme = lab.solution("acme", services=settings)
        html = "response.headers['Content-Type'] = 'text/html' response.headers['Set-Cookie'] = 'session=ann; HttpOnly'"
        acme.route("GET", "/", lua=f"{html} return '<p>page'")
        acme.route(
            "WEBSOCKET",
            "/keyed",
            lua="""if websocketInfo.type ~= "open" then return end
            local headers = websocketInfo.headers
            return {cookie = headers.cookie, protocols = headers["sec-websocket-protocol"],
              key = websocketInfo.parameters.key, authorization = headers.authorization}""",
        )
        await tab.goto(acme.url("/?key=a"))
        for query, expected in (
            ("?key=%C3%A9", {"cookie": "session=ann", "protocols": "v1, secret", "key": "é"}),
            ("", 1006),
        ):
            url = acme.url(f"/keyed{query}").replace("https", "wss", 1)
            found = await tab.evaluate(
                f"""new Promise(done => {{
                  const socket = new WebSocket({url!r}, ["v1", "secret"]);
                  socket.onmessage = event => done(socket.protocol == "v1" && JSON.parse(event.data));
                  socket.onclose = event => done(event.code);
                }})"""
            )
            assert found == expected
