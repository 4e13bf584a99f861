"""Labs that run in another process: connections, errors, several clients, and the end of either side."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import threading
import time
import warnings
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from labkit import Lab, LabError, LabWarning, OwnProcessError, SettingsError, Thermostat
from labkit.core.errors import ArgumentError, TakenError, UnknownError
from tests.lab.conftest import Serve, connected

pytestmark = pytest.mark.xdist_group("served")
TOKEN = "a-token-of-a-test-0123456789"
PICTURE = bytes(range(256))
RESOURCES = {"temperature": "number", "message": "string"}

Errors = list[tuple[type[BaseException], str]]


@pytest.fixture
def lab(served_lab: Lab) -> Lab:
    return served_lab


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    return port


def test_a_connection_ends_without_the_lab(serve: Serve) -> None:
    ready = serve("--control", "--seed", "7")
    with connected(ready) as lab:
        assert (lab.seed, lab.clock.rate) == (7, 0)
        lab.product("thermostat", resources=RESOURCES).device("t-1").activate().write(temperature=1)
    assert lab.closed
    with pytest.raises(LabError, match="this lab is closed"):
        lab.settle()
    with connected(ready) as again:
        assert again.sql("select value from datapoint").value.tolist() == ["1"]


def test_two_labs_at_once(serve: Serve) -> None:
    first, second = connected(serve("--control", "--seed", "1")), connected(serve("--control", "--seed", "2"))
    with first, second:
        for lab, value in ((first, 1), (second, 2)):
            lab.product("thermostat", resources=RESOURCES).device("t-1").activate().write(temperature=value)
        first.clock.advance(hours=1)
        assert [each.sql("select value from datapoint").value.tolist() for each in (first, second)] == [
            ["1"],
            ["2"],
        ]
        assert first.clock.time - second.clock.time == 3600
        assert first.address.ca_pem != second.address.ca_pem


def test_several_clients_share_a_lab(serve: Serve) -> None:
    ready = serve("--control", "--seed", "7")
    with connected(ready) as one, connected(ready) as other:
        one.product("thermostat", resources=RESOURCES)
        acme = one.solution("acme", products="thermostat")
        acme.on("device", "datapoint", lua="Keystore.command{key = 'n', command = 'incrby', args = {1}}")
        device = other.product("thermostat").device("t-1").activate()
        poll = device.start_poll("message", timeout=30)
        one.product("thermostat").wait_for_poll("t-1", "message")
        device.write(message="hello")
        assert poll.result() == "hello"
        one.settle()
        assert other.solution("acme").Keystore.get(key="n") == {"value": "1"}
        with pytest.raises(TakenError, match="product 'thermostat' is there already with other settings"):
            other.product("thermostat", auth="password")


def test_errors_are_those_of_a_lab_in_this_process(lab: Lab) -> None:
    def mistakes(lab: Lab) -> Errors:
        lab.product("thermostat", resources=RESOURCES)
        lab.solution("acme")
        calls: list[Callable[[], object]] = [
            lambda: lab.solution("acme").Keystor,
            lambda: lab.product("thermostat", auth="password"),
            lambda: lab.solution("acme", products="x"),
            lambda: lab.solution("two", path="/nowhere"),
            lambda: lab.solution("acme").route("GET", "/a", lua="return ("),
            lambda: lab.product("T"),
            lambda: lab.sql("delete from datapoint"),
            lambda: lab.clock.advance_to("yesterday"),
            lambda: lab.clock.advance(seconds=-1),
            lambda: lab.faults["none"],
            lambda: lab.faults.add("POST /provision/activate", product="none", status=503),
            lambda: lab.product("thermostat").content.remove("fw"),
            lambda: lab.product("thermostat").lock("t-9"),
            lambda: lab.product("thermostat").settings.change(auth="x"),  # type: ignore[arg-type]
            lambda: lab.provider("nobody"),
            lambda: lab.handsets["nobody"].messages,
            lambda: lab.product("thermostat").device("t-1").poll("message"),
        ]
        found: Errors = []
        for call in calls:
            with pytest.raises(Exception, match=r".") as error:
                call()
            found.append((error.type, str(error.value)))
        return found

    with Lab(seed=7) as own:
        expected = mistakes(own)
    assert mistakes(lab) == expected
    assert {kind for kind, _ in expected} >= {LabError, SettingsError, TakenError, UnknownError}


def test_warnings_are_those_of_a_lab_in_this_process(lab: Lab) -> None:
    def warned(lab: Lab) -> list[tuple[str, str]]:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always", LabWarning)
            lab.faults.add("POST /onep:v1/stak/alias", status=503)
            lab.faults.add("POST /onep:v1/stack/alias", replace={"a": 1}, name="of a body")
            lab.faults.add("POST /onep:v1/stack/alias", status=503)
            lab.solution("acme").on("device", "datapoints", lua="")
        return [(str(each.message), each.filename) for each in seen if each.category is LabWarning]

    with Lab(seed=7) as own:
        expected = warned(own)
    assert warned(lab) == expected
    assert len(expected) == 3
    assert {file for _, file in expected} == {__file__}


def test_values_beyond_the_bounds_of_an_argument_are_refused(lab: Lab) -> None:
    with pytest.raises(LabError, match="rate: "):
        lab.clock.run(-1)
    with pytest.raises(ArgumentError, match="no argument 'second'"):
        lab.clock.advance(second=1)  # type: ignore[call-arg]


def test_functions_need_the_own_process_of_the_lab(lab: Lab) -> None:
    acme = lab.solution("acme")
    for call in (
        lambda: acme.route("GET", "/a", lambda: 1),
        lambda: acme.on("device", "datapoint", lambda: 1),
        lambda: lab.service("Twilio", send=lambda: 1),
        lambda: acme.route("GET", "/a", lua=object()),  # type: ignore[arg-type]
        lambda: acme.Keystore.set(key="a", value={"b": [object()]}),
    ):
        with pytest.raises(OwnProcessError, match="need the lab's own process: make it here") as error:
            call()
        assert not re.search(r"services\.|solutions\.|functions\.", str(error.value))


def test_a_story_needs_the_own_process_of_the_lab(lab: Lab) -> None:
    with pytest.raises(OwnProcessError, match=r"^story: needs the lab's own process"), lab.story():
        pass


def test_a_folder_is_sent_and_sent_again(lab: Lab, tmp_path: Path) -> None:
    script = tmp_path / "acme" / "endpoints" / "a.lua"
    script.parent.mkdir(parents=True)
    script.write_text("--#ENDPOINT GET /a\nreturn 1")
    (tmp_path / "acme" / ".git").mkdir()
    (tmp_path / "acme" / ".git" / "index").write_bytes(b"\xff")
    acme = lab.solution("acme", path=tmp_path / "acme")
    assert acme.get("/a").json() == 1
    script.write_text("--#ENDPOINT GET /a\nreturn 2")
    assert lab.solution("acme", path=tmp_path / "acme").get("/a").json() == 1
    assert acme.reload().get("/a").json() == 2
    script.write_text("--#ENDPOINT")
    with pytest.raises(SettingsError, match=r"endpoints/a.lua"):
        acme.reload()
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "acme" / "link.lua").symlink_to(tmp_path / "secret")
    with pytest.raises(SettingsError, match=r"link.lua leads out of the solution folder"):
        acme.reload()
    (tmp_path / "acme" / "link.lua").unlink()


def test_a_folder_may_have_files_that_are_no_text(lab: Lab, tmp_path: Path) -> None:
    picture = tmp_path / "acme" / "assets" / "logo.png"
    picture.parent.mkdir(parents=True)
    picture.write_bytes(PICTURE)
    (tmp_path / "acme" / "assets" / "a.txt").write_bytes(b"a\r\n\xc3\xa9")
    acme = lab.solution("acme", path=tmp_path / "acme")
    assert acme.get("/logo.png").content == PICTURE
    assert acme.get("/a.txt").content == b"a\r\n\xc3\xa9"
    picture.write_bytes(PICTURE[::-1])
    assert acme.reload().get("/logo.png").content == PICTURE[::-1]
    with picture.open("wb") as file:
        file.truncate(2**24 + 1)
    with pytest.raises(
        SettingsError, match=r"logo.png: a lab in another process takes files of at most 16 MiB"
    ):
        acme.reload()


def test_content_files_are_sent(lab: Lab, tmp_path: Path) -> None:
    """Files of this disk, which the lab's process need not see, as in a lab of this process."""
    file = tmp_path / "fw-1.bin"
    file.write_bytes(PICTURE)
    content: list[dict[str, Any]] = [
        {"file": file},
        {"file": file, "id": "other", "type": "text/x", "description": "é"},
    ]
    thermostat = lab.product("thermostat", content=content)
    device = thermostat.device("t-1").activate()
    assert sorted(device.content()) == ["fw-1.bin", "other"]
    assert device.download("fw-1.bin") == device.download("other") == PICTURE
    assert [each.type for each in thermostat.settings.content] == ["application/octet-stream", "text/x"]
    file.write_bytes(b"edited")
    assert lab.product("thermostat", content=content) is thermostat
    assert device.download("other") == PICTURE
    with pytest.raises(TakenError, match="content"):
        lab.product("thermostat", content=content[:1])
    lab.product("thermostat", content=content, replace=True)
    assert device.download("other") == b"edited"
    with pytest.raises(SettingsError, match=r"product 'lamp': .*nothing: No such file"):
        lab.product("lamp", content=[{"file": tmp_path / "nothing"}])
    assert lab.product("lamp").settings.content == ()


def test_a_token_and_a_url_are_needed(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    url = serve("--control", token=TOKEN)["control"]["url"]
    monkeypatch.setenv("LABKIT_TOKEN", TOKEN)
    with pytest.raises(LabError, match=r"url: expected that of `labkit serve --control`"):
        Lab.connect()
    monkeypatch.setenv("LABKIT_URL", url)
    with Lab.connect() as lab:
        assert lab.seed is None
    with pytest.raises(LabError, match="refuses this token: expected") as refused:
        Lab.connect(url, "another-token-0123456789")
    assert "another-token" not in str(refused.value)
    monkeypatch.delenv("LABKIT_TOKEN")
    with pytest.raises(LabError, match="token: expected the one"):
        Lab.connect(url)
    for wrong in ("127.0.0.1:1", "http://127.0.0.1:1/v1", "ftp://127.0.0.1"):
        with pytest.raises(LabError, match=r"url: expected such as http://127.0.0.1:8444"):
            Lab.connect(wrong, TOKEN)
    with pytest.raises(LabError, match="a token is sent over https only"):
        Lab.connect("http://lab.example:8444", TOKEN)
    with pytest.raises(SettingsError, match=r"nowhere.pem: expected a certificate \(PEM\): No such file"):
        Lab.connect(url, TOKEN, "nowhere.pem")


def test_the_file_of_a_ready_line_suffices(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, ready = tmp_path / "ready.json", {}
    for config in ("{https_port: 0}", "{https_port: 0, control: {host: localhost, port: 0}}"):
        ready = serve(*([] if "control" in config else ["--control"]), "--seed", "7", config=config)
        del ready["process"]
        file.write_text(json.dumps(ready))
        monkeypatch.chdir(tmp_path)
        for given in ("ready.json", file, json.dumps(ready)):
            with Lab.connect(given) as lab:
                assert lab.seed == 7
    monkeypatch.setenv("LABKIT_URL", str(file))
    with Lab.connect() as lab:
        assert lab.seed == 7
    with pytest.raises(LabError, match="refuses this token"):
        Lab.connect(file, "another-token-0123456789")
    file.write_text("")
    with pytest.raises(SettingsError, match=r"url: .*ready.json: is empty, so the server is not ready yet"):
        Lab.connect(file)
    file.write_text(json.dumps({**ready, "control": None}))
    with pytest.raises(SettingsError, match="url: this lab has no control; serve it with --control"):
        Lab.connect(file)
    with pytest.raises(SettingsError, match=r"url: nowhere.json: No such file"):
        Lab.connect("nowhere.json")


def test_texts_and_errors_of_handles_when_the_server_is_gone(serve: Serve) -> None:
    ready = serve("--control", "--seed", "7")
    lab = connected(ready)
    product = lab.product("thermostat", resources=RESOURCES)
    acme = lab.solution("acme", products=product)
    device = product.device("t-1").activate()
    handles = [
        *(lab, product, acme, device, lab.clock, lab.journal, lab.mailbox, lab.faults, lab.messaging),
        *(lab.handsets, product.content, product.settings, acme.Keystore, lab.provider("google")),
        *(lab.browser(), product.fleet(1, Thermostat), product.held("t-1", "message")),
    ]
    poll = device.start_poll("message", timeout=300)
    ready["process"].kill()
    ready["process"].communicate()
    url = ready["control"]["url"]
    calls: list[Callable[[], object]] = [
        *(lab.settle, lambda: device.write(temperature=1), lambda: acme.Keystore.get(key="a"), lab.dashboard),
        *(
            poll.result,
            lambda: acme.get("/"),
            lambda: lab.hosts,
            lambda: product.fleet(1, Thermostat, prefix="x"),
        ),
    ]
    for call in calls:
        with pytest.raises(LabError, match=f"the lab at {url} cannot be reached"):
            call()
    for reason in (url, "this lab is closed"):
        for each in handles:
            assert repr(each).startswith("<")
            assert getattr(each, "_repr_html_", lambda: "<")().startswith("<")
            assert dir(each)[:0] == []
        assert reason in repr(lab.journal)
        assert (
            f"<b>journal</b>: {reason if reason != url else 'the lab at ' + url}" in lab.journal._repr_html_()
        )
        lab.close()


def test_an_https_control_needs_the_certificate_of_its_ca(serve: Serve) -> None:
    ready = serve("--seed", "7", config="{https_port: 0, control: {host: localhost, port: 0}}")
    assert ready["control"]["url"].startswith("https://localhost:")
    with pytest.raises(LabError, match="is not trusted: pass ca_file="):
        connected(ready)
    with connected(ready, ready["ca_file"]) as lab:
        lab.product("thermostat", resources=RESOURCES).device("t-1").activate().write(temperature=1)


def test_a_server_that_is_no_lab() -> None:
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        with pytest.raises(LabError, match="answers with HTTP 501, but not as the control of a lab"):
            Lab.connect(f"http://127.0.0.1:{server.server_port}", TOKEN)
    with pytest.raises(LabError, match="cannot be reached"):
        Lab.connect(f"http://127.0.0.1:{free_port()}", TOKEN)


def test_an_interrupt_ends_the_call_here_and_there(lab: Lab) -> None:
    """The lab has no request left of a cell that was interrupted, and both go on."""
    thermostat = lab.product("thermostat", resources=RESOURCES)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        lab.sql("with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n")
    assert time.monotonic() - begin < 8  # before the query's own limit
    device = thermostat.device("t-1").activate()
    device.write(temperature=1)
    assert device.read("temperature") == {"temperature": "1"}


def test_delays_are_noticed_whichever_request_comes_first(lab: Lab) -> None:
    device = lab.product("thermostat", resources=RESOURCES).device("t-1").activate()
    lab.faults.add("POST /onep:v1/stack/alias", delay=30, name="slow")
    for number in range(20):
        with pytest.raises(LabError, match="the fault 'slow' would delay this for ever"):
            device.write(temperature=number)
    for number in range(20):
        pending = lab.begin(device.write, temperature=number)
        assert not pending.done
        lab.clock.advance(seconds=30)
        pending.result()


def test_a_websocket_of_a_lab_elsewhere(lab: Lab) -> None:
    acme = lab.solution("sockets")
    acme.route(
        "WEBSOCKET", "/live", lua="if websocketInfo.type == 'data' then return websocketInfo.message end"
    )
    with acme.websocket("/live") as websocket:
        for sent, received in (("é", "é"), (b"\xff", "/w==")):  # scripts get bytes in base64
            websocket.send(sent)
            assert websocket.receive() == received
        [id] = acme.Websocket.list()
        acme.Websocket.send(socket_id=id, message="pushed")
        assert websocket.messages() == ["pushed"]
    assert acme.Websocket.list() == []


def test_a_lab_elsewhere_saves_and_restores(served_lab: Lab, tmp_path: Path) -> None:
    product = served_lab.product("thing", resources={"a": "string"})
    device = product.device("d").activate()
    device.write(a="1")
    path = served_lab.save(tmp_path / "past.lab")
    device.write(a="2")
    device.activate()
    served_lab.restore(path)
    assert device.read("a") == {"a": "1"}
    with Lab(seed=7) as own:
        own.restore(path)
        assert own.product("thing").device("d").read("a") == {"a": "1"}
        own.product("thing").device("d").write(a="3")
        served_lab.restore(own.snapshot())
    assert device.read("a") == {"a": "3"}


def test_a_lab_elsewhere_cannot_fork(served_lab: Lab) -> None:
    with pytest.raises(OwnProcessError, match=r"^fork: needs the lab's own process: .* lab.save\(path\)$"):
        served_lab.fork(lambda lab, value: value, over=[1])
