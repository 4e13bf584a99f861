"""Handles: accepted and refused arguments, error messages, and lifetime."""

from __future__ import annotations

import gc
import threading
import weakref
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from labkit import Bulb, Lab, LabError, LabWarning, SettingsError
from labkit.lab.device import Device
from labkit.lab.product import Product
from tests.guard import PATIENCE

RESOURCES = {"temperature": "number", "message": "string"}


@pytest.fixture
def product(lab: Lab) -> Product:
    return lab.product("thermostat", resources=RESOURCES)


@pytest.fixture
def device(product: Product) -> Device:
    return product.device("t-1").activate()


class TestArguments:
    def test_a_settings_file_in_the_place_of_the_seed_is_an_error(self) -> None:
        with pytest.raises(LabError, match=r"Lab\(config='lab.yaml'\)"):
            Lab("lab.yaml")  # type: ignore[arg-type]

    def test_a_port_in_a_file_is_for_serve_and_a_lab_says_so(self, tmp_path: Path) -> None:
        (file := tmp_path / "lab.yaml").write_text("https_port: 8443")
        with pytest.warns(LabWarning, match="lab.yaml: https_port 8443 is for `labkit serve`"):
            lab = Lab(config=file)
        lab.close()

    def test_a_start_may_be_a_text(self) -> None:
        with Lab(seed=1, start="2026-03-01") as lab:
            assert lab.clock.now == datetime(2026, 3, 1, tzinfo=UTC)
        before = threading.active_count()
        with pytest.raises(LabError, match=r"start: expected .* not 'March'"):
            Lab(seed=1, start="March")
        assert threading.active_count() == before

    @pytest.mark.parametrize("wrong", [{"seed": 1.5}, {"seed": True}, {"speed": "fast"}])
    def test_numbers_are_numbers(self, wrong: dict[str, Any]) -> None:
        [name] = wrong
        with pytest.raises(LabError, match=f"{name}: expected"):
            Lab(**wrong)

    def test_one_product_needs_no_list(self, lab: Lab, product: Product) -> None:
        given: list[Any] = ["thermostat", product, [product], ("thermostat",)]
        for number, products in enumerate(given):
            lab.solution(f"s-{number}", products=products).on("device", "datapoint", lua='print("got")')
        product.device("t-1").activate().write(message="x")
        lab.settle()
        assert len(lab.journal.select("log")) == 4
        with pytest.raises(LabError, match="products: expected products or their ids, not 7"):
            lab.solution("wrong", products=[7])  # type: ignore[list-item]

    def test_an_invalid_value_is_not_written(self, lab: Lab, device: Device) -> None:
        with pytest.raises(LabError, match="message: None is no value; omit it"):
            device.write(message=None)
        with pytest.raises(LabError, match=r"message: expected a text, a number or a boolean, not \[1\]"):
            device.write({"message": [1]})
        with pytest.raises(LabError, match=r"write: expected temperature=21.5 or .* not 21.5"):
            device.write(21.5)  # type: ignore[arg-type]
        with pytest.raises(LabError, match="message: None is no value"):
            device.record({"message": {1: None}})
        with pytest.raises(LabError, match="record: expected"):
            device.record({"message": 5})  # type: ignore[dict-item]
        assert device.read("message", "temperature") == {}
        device.write({"message": ""}, temperature=2)
        assert device.read("message", "temperature") == {"message": "", "temperature": "2"}

    def test_aliases_may_come_in_a_list(self, device: Device) -> None:
        device.write(temperature=1, message="a")
        both = {"temperature": "1", "message": "a"}
        assert device.read(["temperature", "message"]) == both
        assert device.read("temperature", ("message",)) == both
        assert device.write_and_read({"message": "b"}, ["message"]) == {"message": "b"}
        with pytest.raises(LabError, match="at least one alias"):
            device.read()
        with pytest.raises(LabError, match="not 7"):
            device.read(7)  # type: ignore[arg-type]

    def test_identities_may_come_in_a_list(self, product: Product) -> None:
        product.allow("a", ["b", "c"])
        assert list(product.devices().index) == ["a", "b", "c"]
        with pytest.raises(LabError, match="expected identities such as 't-001', not 7"):
            product.allow("d", 7)  # type: ignore[arg-type]
        assert list(product.devices().index) == ["a", "b", "c"]

    def test_calls_with_wrong_parameters_are_errors_without_internal_frames(self, lab: Lab) -> None:
        acme = lab.solution("acme")
        with pytest.raises(
            LabError, match="listUsers: expected arguments by name, or a mapping of them, not 1"
        ):
            acme.User.listUsers(1)
        with pytest.raises(LabError, match='function: expected a function, or lua="…", not 7'):
            acme.route("GET", "/x", 7)  # type: ignore[arg-type]
        with pytest.raises(LabError, match="rate: expected a number, not 'fast'"):
            lab.clock.run("fast")  # type: ignore[arg-type]
        with pytest.raises(LabError, match="record: expected a record of the journal"):
            lab.journal.trace("x")  # type: ignore[arg-type]
        with pytest.raises(SettingsError, match="product 'Upper': id: expected lower-case letters"):
            lab.product("Upper")

    def test_numpy_values_are_written_as_plain_ones(self, device: Device) -> None:
        import numpy

        device.write(temperature=numpy.int64(3), message=numpy.bool_(True))
        assert device.read("temperature", "message") == {"temperature": "3", "message": "true"}

    def test_times_are_checked(self, lab: Lab, device: Device) -> None:
        with pytest.raises(LabError, match="timeout: expected a number of seconds, not '30'"):
            device.start_poll("message", timeout="30")  # type: ignore[arg-type]
        with pytest.raises(LabError, match="timeout: expected a number of seconds, not -1"):
            device.poll("message", -1)
        with pytest.raises(LabError, match="seconds: expected a number, not 'a day'"):
            lab.clock.advance("a day")  # type: ignore[arg-type]
        now = lab.clock.now
        device.record({"message": {now: "recorded"}})
        lab.clock.advance(5)
        assert device.poll("message", timeout=0, since=now.timestamp() - 0.5) == "recorded"
        assert device.poll("message", timeout=0, since=now) is None

    def test_a_path_needs_no_slash_and_may_be_a_url(self, lab: Lab, device: Device) -> None:
        solution = lab.solution("acme")
        solution.route("GET", "/metrics", lua="return {n = 1}")
        for path in ("metrics", "/metrics", solution.url("metrics"), solution.url("/metrics")):
            assert solution.get(path).json() == {"n": 1}, path
        with pytest.raises(LabError, match=r"is not at https://acme.*lab.browser\(\)"):
            solution.get("https://elsewhere.example/metrics")
        assert device.request("GET", "timestamp").status_code == 200
        for handle in (solution, lab.product("thermostat"), lab.provider("google")):
            assert handle.url("a").endswith("/a")
            assert handle.url("/a") == handle.url("a") == f"{handle.url()}/a"

    def test_a_text_that_looks_like_a_file_is_no_content(self, product: Product, tmp_path: Path) -> None:
        file = tmp_path / "firmware.bin"
        file.write_bytes(b"\x00\x01")
        for name in ("firmware.bin", str(file), "../fw-1.2.bin"):
            with pytest.raises(LabError, match=r"looks like the name of a file; Path\('.*'\) means the file"):
                product.content.add("fw", name)
        with pytest.raises(LabError, match=r"data: .*missing.bin: No such file"):
            product.content.add("fw", tmp_path / "missing.bin")
        with pytest.raises(LabError, match="data: expected bytes, a text or the Path of a file, not int"):
            product.content.add("fw", 7)  # type: ignore[arg-type]
        assert product.content.add("fw", file).size == 2
        assert product.content.add("text", "a text. And more.").size == 17
        assert product.content.add("empty", "").size == 0


class TestSettings:
    def test_an_assignment_changes_the_platform(self, lab: Lab, product: Product) -> None:
        product.settings.self_registration = False
        refused = product.device("t-1").request("POST", "/provision/activate", data={"id": "t-1"})
        assert refused.status_code == 404
        assert lab.product("thermostat").settings.self_registration is False
        with pytest.raises(SettingsError, match="auth"):
            product.settings.auth = "magic"
        with pytest.raises(AttributeError, match="no setting 'authentication'"):
            product.settings.authentication = "token"

    def test_a_setting_that_cannot_change_is_an_error(self, product: Product) -> None:
        with pytest.raises(TypeError):
            product.settings.resources["other"] = "string"
        with pytest.raises(Exception, match="frozen"):
            product.settings.resources["message"].format = "number"
        assert list(product.settings.resources) == list(RESOURCES)

    def test_two_products_change_independently(self, lab: Lab, product: Product) -> None:
        other = lab.product("other", resources=RESOURCES)
        other.settings.provisioning = False
        assert (product.settings.provisioning, other.settings.provisioning) == (True, False)


class TestWaits:
    def test_a_pending_poll_on_a_virtual_clock_names_the_alternative(self, lab: Lab, device: Device) -> None:
        poll = device.start_poll("message", timeout=30)
        for _ in range(2):  # the poll stays pending
            with pytest.raises(LabError, match=r"lab.clock.advance\(\) or write"):
                poll.result()
        device.write(message="x")
        assert poll.result() == "x"
        late = device.start_poll("message", timeout=30)
        lab.clock.advance(seconds=30)
        assert late.result() is None
        assert late.result() is None

    def test_a_poll_that_an_interrupt_has_ended_says_so(self, lab: Lab, device: Device) -> None:
        poll = device.start_poll("message", timeout=30)
        poll.task.cancel()  # as an interrupt of `result` does
        with pytest.raises(LabError, match="the poll of 'message' was ended before an answer came"):
            poll.result()
        another = device.start_poll("message", timeout=30)  # whether or not the lab still holds the ended one
        device.write(message="x")
        assert another.result() == "x"

    def test_several_polls_of_one_alias_are_distinct(self, lab: Lab, device: Device) -> None:
        short, long = (device.start_poll("message", timeout) for timeout in (10, 20))
        lab.clock.advance(seconds=10)
        assert short.result() is None
        with pytest.raises(LabError, match="stands still"):
            long.result()
        lab.clock.advance(seconds=10)
        assert long.result() is None

    def test_a_poll_waits_while_the_run_of_a_fleet_moves_a_virtual_clock(
        self, product: Product, device: Device
    ) -> None:
        fleet, late = product.fleet(1, Bulb()), device.start_poll("message", timeout=300)
        fleet.start(minutes=1)
        with pytest.raises(LabError, match="stands still"):  # once the run is over
            late.result()
        run = fleet.start(days=10_000)
        assert device.poll("temperature", timeout=60) is None
        assert device.start_poll("temperature", timeout=300).result() is None
        run.stop()

    def test_a_poll_without_a_wait_is_allowed(self, device: Device) -> None:
        held = device.start_poll("message")
        assert device.poll("message", timeout=0) is None
        assert not held.done

    def test_a_request_that_becomes_a_poll_is_an_error(self, lab: Lab, device: Device) -> None:
        alias = "/onep:v1/stack/alias?message"
        with pytest.raises(LabError, match="start_poll"):
            device.request("GET", alias, headers={"Request-Timeout": "30000"})
        assert device.request("GET", alias, headers={"Request-Timeout": "0"}).status_code == 304
        lab.clock.run(1000.0)
        assert device.request("GET", alias, headers={"Request-Timeout": "1000"}).status_code == 304

    def test_waiting_for_a_poll_that_is_not_pending_is_an_error(self, device: Device) -> None:
        with pytest.raises(
            LabError, match=r"holds 0 polls of t-1/message, not 1, after 0.05 s; .*start_poll"
        ):
            device.held("message", within=0.05).result()
        device.start_poll("message")
        held = device.held("message")
        assert held.done
        held.result()

    def test_a_wait_is_neither_true_nor_false(self, device: Device) -> None:
        held = device.held("message", within=0.05)
        with pytest.raises(LabError, match=r"use held\(…\)\.result\(\) to wait"):
            assert held
        with pytest.raises(LabError, match=r"use held\(…\)\.result\(\) to wait"):
            assert not held

    def test_a_poll_of_another_thread_counts(self, device: Device) -> None:
        held = device.held("message", within=30)
        thread = threading.Thread(target=device.start_poll, args=("message",))
        thread.start()
        held.result()
        thread.join()


class TestLife:
    def test_a_handle_keeps_its_lab_alive(self) -> None:
        device = Lab(seed=1).product("p", resources=RESOURCES).device("d").activate()
        solution = Lab(seed=1).solution("acme")
        inbox = Lab(seed=1).provider("google").inbox
        gc.collect()
        device.write(message="x")
        assert device.read("message") == {"message": "x"}
        assert solution.Keystore.get(key="a") == {}
        assert list(inbox) == []

    def test_a_lab_ends_with_its_last_handle(self) -> None:
        before = {each for each in threading.enumerate() if each.is_alive()}
        lab = Lab(seed=1)
        device = lab.product("p", resources=RESOURCES).device("d").activate()
        watch = weakref.ref(lab._runtime)
        [thread] = {each for each in threading.enumerate() if each not in before and each.name == "labkit"}
        del lab
        assert watch() is not None
        del device
        gc.collect()
        assert watch() is None
        thread.join(PATIENCE)
        assert not thread.is_alive()


class TestCookies:
    def test_a_cell_stores_no_cookies_by_default(self, lab: Lab) -> None:
        for name in ("acme", "other"):
            solution = lab.solution(name)
            solution.route("GET", "/set", lua='response.headers["Set-Cookie"] = "sid=1; Path=/"')
            solution.route("GET", "/show", lua='return {cookie = request.headers.cookie or "none"}')
            assert "sid=1" in solution.get("/set").headers["Set-Cookie"]
            assert solution.get("/show").json() == {"cookie": "none"}
            one, two = solution.session(), solution.session()
            one.get("/set")
            assert one.get("/show").json() == {"cookie": "sid=1"}
            assert two.get("/show").json() == {"cookie": "none"}
            assert solution.get("/show", headers={"Cookie": "sid=2"}).json() == {"cookie": "sid=2"}


class TestUnknownArguments:
    def test_a_cell_gets_a_warning(self, lab: Lab) -> None:
        user = lab.solution("acme").User
        with pytest.warns(
            LabWarning, match=r"filtr is not a parameter of listUsers; did you mean filter\?"
        ) as seen:
            assert user.listUsers(filtr="email::eq::x") == []
        assert seen[0].filename == __file__
        with pytest.warns(LabWarning, match="limit"):
            lab.solution("acme").call("User", "listUsers", {"limitt": 1})

    def test_functions_with_free_argument_names_warn_of_none(self, lab: Lab) -> None:
        acme = lab.solution("acme")
        acme.Keystore.get(key="a")
        lab.service("Twilio", send=lambda **given: given)
        assert acme.call("Twilio", "send", {"to": "1"}) == {"to": "1"}


def test_what_is_empty_says_so_in_words(lab: Lab) -> None:
    fleet = lab.product("t").fleet(1, Bulb)
    empty: Any = (
        lab.faults,
        lab.mailbox,
        lab.journal,
        lab.handsets,
        fleet.faults,
        lab.provider("google").inbox,
    )
    for each, words in zip(
        empty, ("faults", "mails", "records", "handsets", "faults", "requests"), strict=True
    ):
        html = each._repr_html_()
        assert words in html
        assert "<table" not in html
    frame: Any = lab.journal.frame()
    assert frame._repr_html_().startswith("<i>no rows; columns: time, kind, actor, ")


def test_the_representation_of_a_mailbox_escapes_mails(lab: Lab) -> None:
    subject = "<script>alert(1)</script>"
    for name in ("acme", "other"):
        sent = lab.solution(name).Email.send(to=f"{name}@example.com", subject=subject, text="x")
        assert "error" not in (sent or {})
    assert "<script>" not in lab.mailbox._repr_html_()
    assert "&lt;script&gt;" in lab.mailbox._repr_html_()
    assert "acme@example.com" in repr(lab.mailbox)
    assert [len(lab.mailbox), len(lab.mailbox.find(solution="acme"))] == [2, 1]
    assert lab.mailbox[-1].solution == "other"
    lab.mailbox.clear()
    assert len(lab.mailbox) == 0
