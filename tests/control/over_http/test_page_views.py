"""The page of a lab in a real browser: what its views show and do, for people with and without a mouse, on phones."""

from __future__ import annotations

import json
import shlex
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from labkit import DeviceError, Lab, LabWarning, Thermostat
from labkit.lab.device import Device
from tests.chromium import AXE, FAULTS, Tab, browser, needs_axe, needs_chromium
from tests.ondemand.test_labs import Served, served

pytestmark = [needs_chromium, pytest.mark.xdist_group("chromium")]
__all__ = ["served"]

MARKUP = "<img src=x onerror=alert(1)><b>bold</b>"
MAIL = f"""Email.send{{to = "ann@example.com", subject = "{MARKUP}", text = "see https://example.com/a?b=1.",
    html = "<script>alert(1)</script><p id=hello>hello"}}"""
VIEWS = ("now", "devices", "messages", "faults", "clock", "snapshots", "solutions", "data", "fleets", "labs")
RESOURCES: dict[str, Any] = {"temperature": {"format": "number", "settable": True}, "note": "string"}
RUN = """local given = tostring(data.value[2]) print("got " .. given) Keystore.set{key = "last", value = given}"""


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab(seed=7) as lab:
        yield lab


@pytest.fixture
def device(lab: Lab) -> Device:
    thermostat = lab.product("thermostat", resources=RESOURCES)
    lab.solution("acme", products=thermostat).on("device", "datapoint", lua=RUN)
    return thermostat.device("t-001").activate()


@pytest.fixture
async def tab(lab: Lab, device: Device, chromium_port: int) -> AsyncIterator[Tab]:
    async with browser(chromium_port) as tab:
        await tab.goto(lab.page())
        await until(tab, "document.querySelector('#state').textContent === 'following'")
        yield tab
        assert [each for each in await tab.errors() if "status of 4" not in each] == []


async def until(tab: Tab, expression: str) -> None:
    """Return once an expression is true in the page."""
    look = f"const look = () => ({expression}) ? done(true) : setTimeout(look, 5)"
    await tab.evaluate(f"new Promise(done => {{ {look}; look(); }})")


async def seen(tab: Tab, text: str) -> None:
    """Return once the view has a text."""
    await until(tab, f"document.body.innerText.includes({json.dumps(text)})")


async def view(tab: Tab, name: str) -> None:
    """Show a view."""
    await tab.evaluate(f"location.hash = {name!r}")
    await until(tab, f"document.querySelector('main h2')?.textContent.toLowerCase() === {name!r}")


async def press(tab: Tab, text: str, within: str = "body") -> None:
    """Click the button with a text, once it is there, and answer its question with yes."""
    found = f"[...document.querySelectorAll('{within} button')].find(each => each.textContent === {text!r})"
    await until(tab, found)
    await tab.evaluate(f"window.confirm = () => true; {found}.click()")


async def fill(tab: Tab, field: str, value: str) -> None:
    """Enter a value into the field with a label, as typing does."""
    labels = "[...document.querySelectorAll('label')]"
    label = f"{labels}.find(each => each.querySelector('span')?.textContent === {field!r})"
    await until(tab, label)
    await tab.evaluate(f"""(control => {{
        control.value = {value!r};
        control.dispatchEvent(new Event('input', {{bubbles: true}}));
        control.dispatchEvent(new Event('change', {{bubbles: true}}));
    }})({label}.querySelector('input, select, textarea'))""")


async def expect_no_barrier(tab: Tab) -> None:
    """Fail if axe-core, where it is installed, finds something on a narrow, dark page."""
    if AXE.is_file():
        await tab.size(400, colours="dark")
        await tab.evaluate(f"{AXE.read_text()}; 0")
        assert await tab.evaluate(FAULTS) == []


async def rows(tab: Tab) -> list[str]:
    """Return the texts of the rows of the first table, once the last changes are drawn."""
    drawn = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    found: list[str] = await tab.evaluate(
        f"{drawn}.then(() => [...document.querySelectorAll('main tbody tr')].map(each => each.innerText))"
    )
    return found


async def test_records_arrive_are_filtered_and_open_with_their_effects(
    lab: Lab, device: Device, tab: Tab
) -> None:
    await seen(tab, "POST /provision/activate")  # what was before the page
    device.write(temperature=21.5)
    await seen(tab, "got 21.5")
    await fill(tab, "Kind", "log")
    assert len(await rows(tab)) == 1
    await press(tab, "Pause")
    device.write(temperature=22.5)
    await until(tab, "/[1-9]\\d* since the pause/.test(document.querySelector('.count').textContent)")
    assert len(await rows(tab)) == 1
    await press(tab, "Go on")
    await seen(tab, "got 22.5")
    await fill(tab, "Text", "21.5")
    assert [each.split("\t")[3:] for each in await rows(tab)] == [["acme", "got 21.5"]]
    await fill(tab, "Text", "")
    await fill(tab, "Kind", "request")
    await fill(tab, "Who", "thermostat")
    thermostat = lab.product("thermostat")
    thermostat.lock("t-001")
    device.request("GET", "/onep:v1/stack/alias?temperature")
    await fill(tab, "Status", "problem")
    await seen(tab, "this device is locked")
    assert len(await rows(tab)) == 1
    await fill(tab, "Status", "")
    await press(tab, "POST /onep:v1/stack/alias")
    await until(tab, "document.querySelector('dialog').open")
    tree = await tab.evaluate("document.querySelector('dialog').innerText")
    assert all(each in tree for each in ("datapoint", "got 22.5", "Keystore.set"))
    await press(tab, "Copy as curl", "dialog")
    command = await tab.evaluate("document.querySelector('dialog > pre').textContent")
    assert command.startswith("curl -sS --cacert ca.pem -X POST 'https://thermostat.m2.lab.localhost:")
    assert command.endswith(" --data-raw temperature=22.5")
    lab.reset()
    await until(tab, "document.querySelectorAll('main tbody tr').length === 0")


async def test_older_records_are_searched_in_the_journal(
    lab: Lab, device: Device, chromium_port: int
) -> None:
    for number in range(150):
        device.write(note=str(number))
    async with browser(chromium_port) as tab:
        await tab.goto(lab.page())
        await until(tab, "document.querySelector('#state').textContent === 'following'")
        await press(tab, "Show older")
        await until(tab, "document.querySelectorAll('main tbody tr').length === 400")
        await fill(tab, "Text", "/provision/activate")
        assert await rows(tab) == []  # the page has read the newest 500
        await press(tab, "Search the journal for older ones")
        await until(tab, "document.querySelectorAll('main tbody tr').length === 1")
        await press(tab, "POST /provision/activate", "main")
        await until(tab, "document.querySelector('dialog').open")


async def test_a_request_is_copied_with_its_body_without_secrets(chromium_port: int) -> None:
    with Lab(seed=7, journal={"values": True}) as lab:
        acme = lab.solution("acme")
        acme.route("POST", "/people", lua="return request.body")
        acme.post("/people", json={"name": "Ann O'Hara", "password": "correct horse"})
        acme.post("/people", json={"name": "a" * 5000})
        async with browser(chromium_port) as tab:
            await tab.goto(lab.page())
            await fill(tab, "Kind", "request")
            await until(tab, "document.querySelectorAll('main tbody tr').length === 2")
            copied = []
            for place in (1, 2):
                row = f"document.querySelector('main tbody tr:nth-child({place}) button')"
                await tab.evaluate(f"{row}.click()")
                await until(tab, "document.querySelector('dialog').open")
                await press(tab, "Copy as curl", "dialog")
                copied.append(await tab.evaluate("document.querySelector('dialog > pre').textContent"))
                await press(tab, "Close", "dialog")
    assert copied[0].endswith("# the record holds the beginning of the body only")
    *rest, body = shlex.split(copied[1])
    assert rest[-3:] == ["-H", "Content-Type: application/json", "--data-raw"]
    assert json.loads(body) == {"name": "Ann O'Hara", "password": "***"}


async def test_refused_writes_are_problems_and_copied_with_their_values(device: Device, tab: Tab) -> None:
    with pytest.raises(DeviceError, match="expected a number"):
        device.write(note="warm & dry", temperature="warm")
    with pytest.warns(LabWarning, match="no resource 'temprature'"):
        device.write(temprature=19)
    await fill(tab, "Status", "problem")
    await until(tab, "document.querySelectorAll('main tr.problem').length === 2")
    await tab.evaluate("document.querySelector('main tr.problem:last-child button').click()")
    await press(tab, "Copy as curl", "dialog")
    copied = await tab.evaluate("document.querySelector('dialog > pre').textContent")
    assert shlex.split(copied)[-2:] == ["--data-raw", "note=warm%20%26%20dry&temperature=warm"]


async def test_a_link_works_once_and_a_reload_goes_on(lab: Lab, tab: Tab, chromium_port: int) -> None:
    assert await tab.evaluate("location.hash") in ("", "#now")
    assert await tab.evaluate("history.length") <= 2
    await tab.goto(await tab.evaluate("location.href"))
    await until(tab, "document.querySelector('#state').textContent === 'following'")
    link = lab.page()
    async with browser(chromium_port) as first, browser(chromium_port) as second:
        await first.goto(link)
        await until(first, "document.querySelector('#state').textContent === 'following'")
        await second.goto(link)
        await seen(second, "this link was used")
        await second.goto(link.partition("#")[0])
        await seen(second, "has no code")


async def test_devices_are_seen_and_handled(lab: Lab, device: Device, tab: Tab) -> None:
    device.write(temperature=21)
    lab.clock.advance(seconds=60)
    device.write(temperature=23)
    await view(tab, "devices")
    await press(tab, "t-001")
    await until(
        tab, "document.querySelector('svg[aria-label=\"temperature: 2 values from 21 to 23\"] polyline')"
    )
    await press(tab, "Lock")
    await press(tab, "Unlock")
    await press(tab, "Lock")
    await seen(tab, "locked")
    device.request("GET", "/onep:v1/stack/alias?temperature")
    await seen(tab, "this device is locked")
    await fill(tab, "Whitelist an identity", "t-002")
    await press(tab, "Whitelist")
    await seen(tab, "t-002")
    assert list(lab.product("thermostat").devices().index) == ["t-001", "t-002"]


async def test_the_page_acts_as_a_device(lab: Lab, device: Device, tab: Tab) -> None:
    await view(tab, "devices")
    await press(tab, "t-001")
    await fill(tab, "Value", "19")
    await press(tab, "Write as the device")
    # the credentials are those of the notebook's handle
    await seen(tab, "401 the lab keeps no credentials of this device: activate it here first")
    state = "document.querySelector('main section dd')?.textContent"
    await press(tab, "Forget its credentials")
    await until(tab, f"{state} === 'not activated'")
    await press(tab, "Activate it")
    await until(tab, f"{state} === 'provisioned'")
    await press(tab, "Write as the device")
    await seen(tab, "204")
    await seen(tab, "19")
    await fill(tab, "Value", "20")
    await press(tab, "Write from the cloud")
    await until(tab, "document.querySelector('main section td:nth-child(2)')?.textContent === '20'")
    await press(tab, "Cut its connections")
    code = await tab.evaluate("document.querySelector('.code pre').textContent")
    assert code == 'lab.product("thermostat").cut("t-001")'
    assert lab.product("thermostat").act("t-001", "read", aliases=["temperature"]).values == {
        "temperature": "20"
    }


async def test_what_services_keep_is_searched_and_states_are_kept(lab: Lab, device: Device, tab: Tab) -> None:
    acme = lab.solution("acme")
    acme.User.createUser(email="ann@example.com", name="Ann", password="correct horse")
    acme.Timer.sendAfter(message="later", duration=60_000, timer_id="soon")
    for number in range(101):
        acme.Keystore.set(key=f"key-{number:03}", value=number)
    await view(tab, "snapshots")
    await fill(tab, "name", "past")
    await press(tab, "Keep")
    await seen(tab, "bytes")
    await view(tab, "data")
    await press(tab, "More")
    await until(tab, "document.querySelectorAll('main tbody tr').length === 101")
    await fill(tab, "Text", "key-007")
    await until(tab, "document.querySelectorAll('main tbody tr').length === 1")
    await press(tab, "Show", "main")
    await seen(tab, "string: 7")
    await fill(tab, "Text", "")
    await fill(tab, "What", "Users")
    await seen(tab, "not activated")
    await fill(tab, "What", "Timers")
    await seen(tab, "later")
    await view(tab, "clock")
    await seen(tab, "2026-01-01 00:01:00")
    acme.Keystore.set(key="key-007", value="changed")
    await view(tab, "snapshots")
    await press(tab, "Restore")
    await until(tab, "document.querySelector('.code pre').textContent === 'lab.restore(name=\"past\")'")
    while acme.Keystore.get(key="key-007") != {"value": "7"}:
        await rows(tab)
    await press(tab, "Remove")
    await seen(tab, "Snapshots: none")


async def test_messages_are_shown_as_texts(lab: Lab, tab: Tab) -> None:
    acme = lab.solution("acme")
    acme.run(MAIL)
    await seen(tab, "onerror=alert(1)")
    await fill(tab, "Kind", "mail")  # which are not in the journal
    assert len(await rows(tab)) == 1
    await seen(tab, "earlier mails are in Messages")
    assert await tab.evaluate("[...document.querySelectorAll('main button')].at(-1).hidden")
    await view(tab, "messages")
    await until(tab, "document.querySelector('details.mail')")
    await tab.evaluate("document.querySelector('details.mail').open = true")
    assert await tab.evaluate("document.querySelector('details.mail a').href") == "https://example.com/a?b=1."
    assert not await tab.evaluate("document.querySelector('main img, main b')")
    opened = "window.open = (url, name, features) => window.opened = [url, name, features]"
    await tab.evaluate(f"{opened}; 0")
    await press(tab, "Open the HTML in a tab")
    await until(tab, "window.opened")
    url, name, features = await tab.evaluate("window.opened")
    assert (name, features) == ("_blank", "noopener")
    assert url.startswith("/page/document/")
    await press(tab, "Follow a link")
    await seen(tab, "is no HTTPS URL of this lab")


async def test_faults_are_added_at_places_that_exist(lab: Lab, device: Device, tab: Tab) -> None:
    await view(tab, "faults")
    await until(tab, "document.querySelector('#where-suggested option[value=\"Keystore.set\"]')")
    await fill(tab, "where *", "POST /onep:v1/stack/alias")
    await fill(tab, "status", "503")
    await fill(tab, "first", "1")
    told = "document.querySelector('.told')?.textContent"
    await until(tab, f"{told} === 'POST /onep:v1/stack/alias: status 503, first 1'")
    assert list(lab.faults) == []
    await press(tab, "Add")
    await seen(tab, "fault 1")
    response = device.request("POST", "/onep:v1/stack/alias", data={"temperature": "1"})
    assert response.status_code == 503
    await seen(tab, "1 of 1")
    code = await tab.evaluate("[...document.querySelectorAll('.code pre')].map(each => each.textContent)")
    lab.faults.clear()
    exec(code[0], {"lab": lab})  # as the page shows it
    [again] = lab.faults
    assert repr(again.info.where) == "'POST /onep:v1/stack/alias'"
    assert json.loads(code[1].partition(" -d ")[2].strip("'"))["fault"]["status"] == 503
    await press(tab, "Remove")
    await until(tab, "document.body.innerText.includes('all works as it should')")
    assert list(lab.faults) == []
    await fill(tab, "where *", "POST /onep:v1/stack/alia")
    await until(tab, f"{told}?.includes('did you mean /onep:v1/stack/alias?')")
    await fill(tab, "where *", "nowhere at all")
    await seen(tab, "expected a request (POST /path)")


async def test_the_clock_moves_and_clicks_are_shown_without_effect(lab: Lab, tab: Tab) -> None:
    await view(tab, "clock")
    await press(tab, "1 hour")
    await seen(tab, "2026-01-01 01:00:00 UTC, virtual clock")
    assert lab.clock.time == pytest.approx(1767229200)
    await tab.evaluate("document.querySelector('footer input').click()")
    await press(tab, "1 day")
    await seen(tab, "lab.clock.advance(days=1)")
    code = await tab.evaluate("[...document.querySelectorAll('.code pre')].map(each => each.textContent)")
    headers = '-H "Authorization: Bearer $LABKIT_TOKEN"'
    url = await tab.evaluate("location.origin")
    assert code[1:] == [
        f"""curl -sS {url}/v1/clock/advance {headers} -d '{{"days":1}}'""",
        f"LABKIT_URL={url} labkit call clock.advance days=1",
    ]
    assert lab.clock.time == pytest.approx(1767229200)
    await tab.evaluate("document.querySelector('footer input').click()")
    lab.clock.run(60)
    await seen(tab, "× 60")


async def test_a_solution_with_routes_log_and_calls(lab: Lab, device: Device, tab: Tab) -> None:
    lab.solution("acme").route("GET", "/metrics", lua="return 1")
    device.write(note=MARKUP)
    await view(tab, "solutions")
    await seen(tab, "/metrics")
    await seen(tab, f"got {MARKUP}")
    await fill(tab, "service *", "Keystore")
    await fill(tab, "operation *", "get")
    await fill(tab, "parameters", '{"key": "last"}')
    await press(tab, "Call")
    await seen(tab, f'"value": "{MARKUP}"')
    assert not await tab.evaluate("document.querySelector('main img, main b')")


async def test_a_route_is_called_by_a_form(lab: Lab, device: Device, tab: Tab) -> None:
    lab.solution("acme").route("POST", "/square", lua="local n = request.body.n\nreturn {n * n}")
    await view(tab, "solutions")
    await press(tab, "/square")
    await fill(tab, "body", '{"n": 12}')
    await press(tab, "Send")
    await seen(tab, "200 application/json, 5 bytes\n[144]")
    code = await tab.evaluate("document.querySelector('.code pre').textContent")
    assert eval(code, {"lab": lab}).json() == [144]  # as the page shows it
    await expect_no_barrier(tab)
    await fill(tab, "body", "{}")
    await press(tab, "Send")
    await seen(tab, "500 application/json")
    wrong = "[...document.querySelectorAll('td .wrong')].map(each => each.textContent)"
    error = "POST /square:2: attempt to perform arithmetic"
    await until(tab, f"({wrong}).some(each => each.startsWith({error!r}))")


async def test_a_folder_is_checked_and_read_again(lab: Lab, tab: Tab, tmp_path: Path) -> None:
    script = tmp_path / "endpoints" / "a.lua"
    script.parent.mkdir()
    script.write_text("--#ENDPOINT GET /a\nreturn 1")
    lab.solution("broken", path=tmp_path)
    script.write_text("--#ENDPOINT GET /a\nreturn = 2")
    await view(tab, "solutions")
    await fill(tab, "Solution", "broken")
    await press(tab, "Read its folder again")
    state = "document.querySelector('#state').textContent"
    await until(tab, f"{state}.includes('endpoints/a.lua:2:')")
    await press(tab, "Check its folder")
    await until(tab, "document.querySelector('main pre').textContent.includes('endpoints/a.lua:2:')")
    script.write_text("--#ENDPOINT GET /b\nreturn 2")
    await press(tab, "Read its folder again")
    await until(tab, f"{state} === 'Read its folder again: done'")
    await seen(tab, "/b")


async def test_the_run_of_a_fleet_is_followed_and_stopped(lab: Lab, device: Device, tab: Tab) -> None:
    token = await tab.evaluate("sessionStorage.getItem('labkit-token')")
    url = lab.page().partition("/#")[0]
    async with httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {token}"}) as client:
        given = {"product": "thermostat", "identities": ["t-7"]}
        [made] = (await client.post("/v1/fleets/provision", json=given)).json()
        run = {
            "product": "thermostat",
            "behaviours": [{"name": "thermostat"}],
            "seconds": 1e8,
            "seed": 7,
            "members": [{"number": 1, "identity": "t-7", "token": made["token"]}],
            "outlives": True,
        }
        async with client.stream("POST", "/v1/fleets/start", json=run) as started:
            await anext(each async for each in started.aiter_lines() if "data: " in each)
    await view(tab, "fleets")
    await press(tab, "Follow")
    for each in ("requests", "devices: sleeping"):
        await until(tab, f"document.querySelector('section svg[aria-label^=\"{each}\"] polyline')")
    await press(tab, "Stop")
    await seen(tab, "over, 2026-")
    await expect_no_barrier(tab)
    code = await tab.evaluate("document.querySelector('.code pre').textContent")
    assert "/v1/fleets/stop" in code
    assert lab.clock.time < 1767225600 + 1e8


async def test_a_run_of_this_process_is_paused_and_stopped(lab: Lab, device: Device, tab: Tab) -> None:
    running = lab.product("thermostat").fleet({Thermostat(every=60): 3}, prefix="f-").start(days=10_000)
    await view(tab, "fleets")
    await press(tab, "Pause")
    await seen(tab, "Go on")
    assert running.paused
    await press(tab, "Go on")
    await press(tab, "Follow")
    await press(tab, "Stop")
    await seen(tab, "over, 2026-")
    running.wait()
    await seen(tab, "Runs: none")


async def reach(tab: Tab, name: str) -> None:
    """Move the focus by the tabulator key to what has a text or a label."""
    focused = "document.activeElement"
    text = f"({focused}.labels?.[0]?.querySelector('span') ?? {focused}).textContent"
    for _ in range(100):
        await tab.key("Tab")
        if await tab.evaluate(text) == name:
            return
    raise AssertionError(f"{name} cannot be reached")


async def test_a_device_is_written_and_its_request_opened_by_the_keyboard_alone(lab: Lab, tab: Tab) -> None:
    lab.product("thermostat").allow("t-002")
    for name, then in (("Devices", "t-002"), ("t-002", "Activate it"), ("Activate it", "provisioned")):
        await reach(tab, name)
        await tab.key("Enter")
        await seen(tab, then)
    await reach(tab, "Value")
    for each in "21.5":
        await tab.key(each)
    await tab.key("Enter")  # writes as the device
    await reach(tab, "Now")
    await tab.key("Enter")
    await seen(tab, "got 21.5")
    await reach(tab, "POST /onep:v1/stack/alias")
    await tab.key("Enter")
    await until(tab, "document.querySelector('dialog[open]')")
    await reach(tab, "Close")
    await tab.key("Escape")
    await until(tab, "!document.querySelector('dialog[open]')")
    assert await tab.evaluate("document.activeElement.textContent") == "POST /onep:v1/stack/alias"


async def test_a_new_link_in_a_tab_is_followed(lab: Lab, tab: Tab) -> None:
    await view(tab, "faults")
    await tab.goto(lab.page())
    await until(tab, "document.querySelector('#state').textContent === 'following'")
    assert await tab.evaluate("location.hash") == ""


async def test_labs_on_demand_are_started_opened_and_ended(
    served: Served,
    chromium_port: int,
) -> None:
    async with browser(chromium_port) as tab, browser(chromium_port) as other:
        await tab.goto(served.address.page())
        await view(tab, "labs")
        await fill(tab, "note", "ann's")
        await press(tab, "Start")
        await until(tab, "document.querySelectorAll('main tbody tr').length === 1")
        assert (await rows(tab))[0].split("\t")[:2] == ["ann's", "7"]
        await expect_no_barrier(tab)
        await tab.evaluate("window.open = url => window.opened = url; 0")
        await press(tab, "Open")
        await until(tab, "window.opened")
        await other.goto(await tab.evaluate("window.opened"))
        await view(other, "labs")
        await seen(other, "this lab starts no others: serve it with `labkit serve --labs`")
        await press(tab, "End")
        await seen(tab, "Labs: none")
        code = await tab.evaluate("document.querySelector('.code pre').textContent")
        assert code.startswith(f'httpx.post("{served.address.url}/v1/labs/end", json={{"id": "')
        assert await tab.errors() == []


async def test_every_view_fits_a_phone(tab: Tab) -> None:
    await tab.size(400)
    for name in VIEWS:
        await view(tab, name)
        wide: Any = await tab.evaluate("document.documentElement.scrollWidth")
        assert wide <= 400, name


@needs_axe
async def test_no_view_has_a_barrier(lab: Lab, device: Device, tab: Tab) -> None:
    device.write(temperature=21)
    lab.faults.add("POST /onep:v1/stack/alias", status=503, first=1)
    lab.solution("acme").run(MAIL)
    await tab.evaluate(f"{AXE.read_text()}; 0")
    for colours in ("light", "dark"):
        for width in (400, 1200):
            await tab.size(width, colours=colours)
            for name in VIEWS:
                await view(tab, name)
                await until(
                    tab, "[...document.querySelectorAll('.live')].every(each => each.childNodes.length)"
                )
                assert await tab.evaluate(FAULTS) == [], (name, colours, width)
