"""Misspelt calls of handlers: a warning in a cell, once for each handler."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from labkit import Lab, LabWarning
from labkit.lab import product
from labkit.lab.solution import Solution

CALLS = [
    ("Keystor.set", "there is no service 'Keystor'; did you mean Keystore?"),
    ("Keystore.sett", "Keystore has no operation 'sett'; did you mean set?"),
    ("Keystore.set", "ky is not a parameter of set; did you mean key?"),
]
NOW = 1767225600
IN_1970 = f"{NOW} is 1970-01-01T00:29:27.2256Z in microseconds; did you mean '{NOW}s'?"
# Valid values that are hardly meant, and what a cell, a handler's cell and the journal say of them.
DOUBTFUL: list[tuple[str, dict[str, Any], list[str]]] = [
    ("Tsdb.write", {"metrics": {"t": 1}, "ts": NOW}, [f"ts: {IN_1970}"]),
    ("Tsdb.write", {"metrics": {"t": 1}, "ts": NOW + 0.5}, [f"ts: {IN_1970}"]),
    (
        "Tsdb.write",
        {"metrics": {"t": 1}, "ts": f"{NOW}000"},
        [f"ts: {NOW}000 is 1970-01-21T10:53:45.6Z in microseconds; did you mean '{NOW}000ms'?"],
    ),
    ("Tsdb.query", {"metrics": "t", "end_time": NOW}, [f"end_time: {IN_1970}"]),
    (
        "Tsdb.multiWrite",
        {"datapoints": [{"metrics": {"t": 1}}, {"metrics": {"t": 1}, "ts": NOW}]},
        [f"datapoints: 2.ts: {IN_1970}"],
    ),
    (
        "Tsdb.deleteAll",
        {"limit": 1, "next": "x"},
        ["limit is not a parameter of deleteAll", "next is not a parameter of deleteAll"],
    ),
    ("Tsdb.recent", {"metrics": "t", "limit": 1}, ["limit is not a parameter of recent"]),
    (
        "Timeseries.write",
        {"query": f"t value=1 {NOW}\nt value=2"},
        [f"query: {NOW} is 1970-01-01T00:00:01.767225Z in nanoseconds; did you mean precision 's'?"],
    ),
    *(
        (
            "Timer.sendAfter",
            {"duration": seconds},
            [f"duration: {seconds} milliseconds are {seconds / 1000:g} s; did you mean {seconds}000?"],
        )
        for seconds in (5, 60, 300, 3600)
    ),
]
MEANT: list[tuple[str, dict[str, Any]]] = [
    *(("Tsdb.write", {"metrics": {"t": 1}, "ts": ts}) for ts in (f"{NOW}s", NOW * 10**6, 5, "2026-01-01")),
    ("Tsdb.query", {"metrics": "t", "relative_start": "1d"}),
    ("Tsdb.multiWrite", {"datapoints": [{"metrics": {"t": 1}}]}),
    *(("Timer.sendAfter", {"duration": duration}) for duration in (0, 1, 100, 250, 1000, 60_000, 0.5)),
    *(
        ("Timeseries.write", {"query": f"t value=1 {time}", "precision": unit})
        for time, unit in ((NOW, "s"), (NOW * 10**9, "ns"))
    ),
]


@pytest.fixture
def acme(lab: Lab) -> Solution:
    return lab.solution("acme", products=[lab.product("thermostat", resources={"a": "string"})])


def write(lab: Lab, values: str) -> None:
    """Write values one after the other, and let each be handled."""
    device = lab.product("thermostat").device("d-1").activate()
    for value in values:
        device.write(a=value)
        lab.settle()


def texts(caught: list[warnings.WarningMessage]) -> list[str]:
    return [str(each.message) for each in caught]


@pytest.mark.parametrize(("call", "hint"), CALLS)
def test_a_script_warns_once_at_the_cells_line(lab: Lab, acme: Solution, call: str, hint: str) -> None:
    acme.on("device", "datapoint", lua=f"{call}{{ky = 'n', value = '1'}}")
    with pytest.warns(LabWarning) as caught:
        write(lab, "xyz")
    assert texts(list(caught)) == [f"solution 'acme', device datapoint: {call}: {hint}"]
    assert caught[0].filename == __file__
    called = lab.journal.select("call")
    assert [(each.detail or {})["hint"] for each in called] == [hint] * 3
    assert [each.status for each in lab.journal.select("script")] == [204] * 3


def test_each_handler_warns_and_again_after_it_has_changed(lab: Lab, acme: Solution) -> None:
    def answers(services: object) -> object:
        services.Keystor.get(key="n")  # type: ignore[attr-defined]
        return 1

    acme.route("GET", "/a", answers)
    acme.route("GET", "/b", lua="return Keystor.get{key = 'n'}")
    for _ in range(2):
        for path in ("/a", "/b"):
            with pytest.warns(LabWarning, match=rf"GET {path}: Keystor\.get: there is no service") as caught:
                assert acme.get(path).status_code == 200
            assert len(caught) == 1
            assert acme.get(path).status_code == 200  # an error, if it warned again
        acme.route("GET", "/a", answers)  # the cell runs again


@pytest.mark.parametrize(("call", "given", "hints"), DOUBTFUL)
def test_a_value_that_is_hardly_meant_warns(
    lab: Lab, acme: Solution, call: str, given: dict[str, Any], hints: list[str]
) -> None:
    service, operation = call.split(".")
    with pytest.warns(LabWarning) as caught:
        assert "status" not in acme.call(service, operation, given)
    assert texts(list(caught)) == hints
    acme.route("POST", "/a", lua=f"return {call}(request.body)")
    with pytest.warns(LabWarning) as caught:
        assert acme.post("/a", json=given).status_code == 200
    assert texts(list(caught)) == [f"solution 'acme', POST /a: {call}: {', '.join(hints)}"]
    assert [(each.detail or {})["hint"] for each in lab.journal.select("call")] == [", ".join(hints)] * 2


@pytest.mark.parametrize(("call", "given"), MEANT)
def test_other_values_give_no_warning(acme: Solution, call: str, given: dict[str, Any]) -> None:
    service, operation = call.split(".")
    assert "status" not in acme.call(service, operation, given)


def test_handlers_of_two_solutions_warn(lab: Lab, acme: Solution) -> None:
    other = lab.solution("other", products=["thermostat"])
    for each in (acme, other):
        each.on("device", "datapoint", lua="Keystore.gett{key = 'n'}")
    with pytest.warns(LabWarning) as caught:
        write(lab, "x")
    assert sorted(each.partition(",")[0] for each in texts([*caught])) == [
        "solution 'acme'",
        "solution 'other'",
    ]


def test_a_name_of_a_client_forges_no_line(lab: Lab, acme: Solution) -> None:
    acme.route("POST", "/a", lua="return Keystore.get(request.body)")
    with pytest.warns(LabWarning) as caught:
        acme.post("/a", json={"key": "n", "x\n\x1b[31mLabWarning: é": 1})
    [text] = texts(list(caught))
    assert text == ("solution 'acme', POST /a: Keystore.get: x [31mLabWarning: é is not a parameter of get")


def test_an_alias_that_is_no_resource_warns(lab: Lab, acme: Solution) -> None:
    lab.product("thermostat").device("d-1").activate()
    acme.route("GET", "/a", lua="return Device2.setIdentityState{identity = 'd-1', A = '1'}")
    with pytest.warns(
        LabWarning, match=r"GET /a: .* A: no resource of product thermostat; did you mean a\?$"
    ):
        assert acme.get("/a").json()["status"] == 400
    assert acme.Device.write(device_sn="d-1", A="1") == {"A": "invalid"}
    assert "Device.write: A: no resource of product thermostat; did you mean a?" in [*acme.logs["text"]]


def test_an_answer_that_cannot_be_sent_is_in_the_log(acme: Solution) -> None:
    acme.route("GET", "/a", lua="response.headers.Location = User.getSocialLoginUrl{consumer = 'x'}")
    assert acme.get("/a").status_code == 500
    level, text = acme.logs.iloc[-1][["level", "text"]]
    assert level == "error"
    assert text.startswith(
        "the answer of GET /a cannot be sent: response.headers: the value of Location is the error"
    )


def test_other_refusals_and_right_calls_are_for_the_script(lab: Lab, acme: Solution) -> None:
    acme.route("GET", "/a", lua="Keystore.set{key = 'n', value = '1'} return User.getUser{id = 9}")
    assert acme.get("/a").json()["status"] == 404
    acme.route("GET", "/b", lua="return Keystore.set{value = '1'}")
    assert acme.get("/b").json()["status"] == 400


def test_a_service_that_was_added_is_there(lab: Lab, acme: Solution) -> None:
    lab.service("Weather", forecast=lambda place: [place])
    acme.route("GET", "/a", lua="return Weather.forecast{place = 'x'}")
    assert acme.get("/a").json() == ["x"]


def test_a_similar_id_of_a_solution_warns(lab: Lab, acme: Solution) -> None:
    lab.solution("city", products=[])
    lab.solution("city2")  # another number
    with pytest.warns(LabWarning, match="solution 'citty' is new and empty; did you mean city") as caught:
        lab.solution("citty")
    assert len(caught) == 1
    lab.solution("citty")  # not new
    lab.solution("cityy", products=["thermostat"])  # with settings


def test_among_many_solutions_no_similar_one_is_sought(
    lab: Lab, acme: Solution, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.solution("city", products=[])
    for most in (0, 1):  # handles, then solutions, are too many
        monkeypatch.setattr(product, "MOST_COMPARED", most)
        lab.solution(f"{'x' * most}citty")
