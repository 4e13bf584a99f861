"""Names, values and messages of strangers that are markup, on the page of a lab."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from contextlib import suppress

import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from labkit import Lab
from labkit.lab.device import Device
from tests.cases import case
from tests.chromium import browser, needs_chromium
from tests.control.over_http.test_page_views import MARKUP, fill, press, seen, until, view

pytestmark = [needs_chromium, pytest.mark.xdist_group("chromium")]

WRITE = "/onep:v1/stack/alias"


def asks(lab: Lab, server_name: str, host: str = "") -> None:
    """Send a request over TLS with any server name, and any Host, that the lab refuses."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    plain = socket.create_connection(("127.0.0.1", lab.address.https_port))
    with plain, suppress(OSError), context.wrap_socket(plain, server_hostname=server_name) as secure:
        secure.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        secure.recv(1000)


def says(lab: Lab, text: str) -> None:
    """Send a message over a websocket, which the solution prints."""
    acme = lab.solution("acme")
    acme.route("WEBSOCKET", "/live", lua="if websocketInfo.message then print(websocketInfo.message) end")
    acme.websocket("/live").send(text)
    lab.settle()


# Of each view, what strangers fill: the field's name is in the markup. Ids of solutions have letters and digits alone.
STRANGERS: dict[str, dict[str, Callable[[Lab, Device, str], object]]] = {
    "now": {
        "path": lambda _, device, text: device.request("GET", f"/{text}"),
        "alias": lambda _, device, text: device.request("POST", WRITE, data={text: "1"}),
        "sni": lambda lab, _, text: asks(lab, text),
        "host": lambda lab, _, text: asks(lab, "thermostat.m2.lab.localhost", text),
        "message": lambda lab, _, text: says(lab, text),
        "print": lambda lab, _, text: lab.solution("acme").run(f"print([[{text}]])"),
        "operation": lambda lab, _, text: lab.solution("acme").run(f"Email[ [[{text}]] ]{{}}"),
    },
    "devices": {
        "identity": lambda lab, _, text: lab.product("thermostat").allow(text),
        "value": lambda _, device, text: device.write(note=text),
    },
    "messages": {"subject": lambda lab, _, text: lab.solution("acme").Email.send(to="a@b.de", subject=text)},
    "faults": {"fault": lambda lab, _, text: lab.faults.add(f"POST {WRITE}", name=text, status=503)},
    "clock": {
        "timer": lambda lab, _, text: lab.solution("acme").Timer.sendAfter(message=text, duration=60_000)
    },
    "data": {
        "key": lambda lab, _, text: lab.solution("acme").Keystore.set(key=text, value=1),
        "user": lambda lab, _, text: lab.solution("acme").User.createUser(
            email="a@b.de", name=text, password="correct horse 7"
        ),
    },
}


@pytest.mark.filterwarnings("ignore:.*has no operation:labkit.LabWarning")
async def test_whatever_strangers_send_is_text(lab: Lab, chromium_port: int) -> None:
    thermostat = lab.product("thermostat", resources={"note": "string"})
    lab.solution("acme", products=thermostat)
    device = thermostat.device("t-001").activate()
    async with browser(chromium_port) as tab:
        await tab.goto(lab.page())
        await until(tab, "document.querySelector('#state').textContent === 'following'")
        made = "[...document.querySelectorAll('main :is(b, img), dialog :is(b, img)')].map(each => each.outerHTML)"
        for name, fields in STRANGERS.items():
            for field, fill_in in fields.items():
                fill_in(lab, device, f"<img src=x onerror=hit=1><b>{field}</b>")
            await view(tab, name)
            for field in fields:
                if field == "value":
                    await press(tab, "t-001")
                elif field == "user":
                    await fill(tab, "What", "Users")
                with case(field):
                    await seen(tab, f"<b>{field}</b>")
            assert await tab.evaluate(made) == [], name
        await view(tab, "snapshots")
        await fill(tab, "name", MARKUP)
        await press(tab, "Keep")
        await seen(tab, MARKUP)  # the reason why it is refused
        await view(tab, "now")
        await press(tab, "POST /onep:v1/stack/alias")
        await until(tab, "document.querySelector('dialog').textContent.includes('<b>value</b>')")
        assert await tab.evaluate(made) == []
        assert await tab.evaluate("window.hit") is None


FOREIGN = """<!doctype html><iframe src="LAB"></iframe><script>
const tried = (options) => fetch("LAB/v1/lab/reset", { method: "POST", body: "{}", ...options })
    .then((answer) => answer.text(), (error) => "refused").then((text) => text || "nothing");
const found = Promise.all([tried(), tried({ mode: "no-cors" }), tried({ headers: { Authorization: "Bearer x" } }),
    fetch("LAB/page/token", { method: "POST" }).then((answer) => answer.text(), (error) => "refused")]);
</script><form method="post" action="LAB/v1/lab/reset" enctype="text/plain"><input name="a"><button></form>"""


async def test_a_foreign_page_gets_and_changes_nothing(lab: Lab, chromium_port: int) -> None:
    lab.product("thermostat").device("t-001").activate()
    url = lab.page().partition("/#")[0]

    async def foreign(_: web.BaseRequest) -> web.Response:
        return web.Response(text=FOREIGN.replace("LAB", url), content_type="text/html")

    async with RawTestServer(foreign) as server, browser(chromium_port) as tab:
        await tab.goto(str(server.make_url("/")))
        assert await tab.evaluate("found") == ["refused", "nothing", "refused", "refused"]
        said = await tab.log_entries()
        assert any("frame-ancestors 'none'" in each for each in said), said
        await tab.goto(str(server.make_url("/")))
        await tab.click("button")
        assert await tab.evaluate("location.pathname") == "/v1/lab/reset"
        assert "Origin: no web page" in await tab.evaluate("document.body.innerText")
    assert list(lab.product("thermostat").devices().index) == ["t-001"]
