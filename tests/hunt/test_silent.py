"""Hunts that find nothing since nothing can be found: warnings, the last line and the exit status say so."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

import labkit.hunt
from labkit import Behaviour, Lab, LabError
from labkit.fleet.fleet_device import FleetDevice
from labkit.hunt import Draw, Hunt, always, eventually, hunt, never, play, story
from labkit.hunt.story import Story
from labkit.testing.hunts import last_lines
from tests.lab.story_parts import RESOURCES, Reports

LIBRARY: Any = labkit.hunt  # whose types are not checked here: the calls are wrong
PLAIN: dict[str, Any] = {"workers": 0, "shrink": 0, "progress": False, "level": "calm"}
MISSPELT = "solution 'app': device has no event 'datapiont', so that this handler does not run; did you mean datapoint?"
LUA = "Keystore.command{key = 'n', command = 'incr'}"


def count_is_small(lab: Lab) -> bool:
    return int(lab.solution("app").Keystore.get(key="n").get("value") or 0) < 100


UNLINKED = (
    "solution 'app': is linked to no product, so that no event of a device reaches this handler: "
    "lab.solution('app', products=…, replace=True) links it"
)


@story(promises=[always(count_is_small)])
def home(
    lab: Lab,
    draw: Draw,
    *,
    linked: bool = True,
    runs: bool = True,
    event: str = "datapoint",
    lua: str = LUA,
) -> None:
    """Count what two devices write, twice: the second product and solution do all right."""
    products = [lab.product(name, resources=RESOURCES) for name in ("lamp", "thermostat")]
    app = lab.solution("app", products=products[:1] if linked else ())
    app.on("device", event, lua=lua)
    lab.solution("other", products=products[1:]).on("device", "datapoint", lua=LUA)
    if runs:
        products[0].fleet(2, Reports, prefix="t-").run(minutes=2)
    else:
        products[0].fleet(2, Reports, prefix="t-")
    products[1].fleet(1, Reports).run(minutes=2)


def hunted(**parameters: object) -> Hunt:
    return hunt(home, 2, parameters=parameters, **PLAIN)


@pytest.mark.parametrize(
    ("parameters", "warnings"),
    [
        ({}, []),
        ({"linked": False}, [UNLINKED]),
        (
            {"runs": False},
            [
                "the fleet of product 'lamp' ran in no play",
                "solution 'app': its handler of device datapoint ran in no play",
            ],
        ),
        (
            {"event": "datapiont"},
            [
                MISSPELT,
            ],
        ),
        ({"lua": "error('ü')"}, ["solution 'app': its handler of device datapoint failed in all its runs"]),
        (
            {"lua": "Keystore.command{key = 'n', command = 'inccr'}"},
            [
                "solution 'app', device datapoint: Keystore.command: there is no command 'inccr'; did you mean incr?"
            ],
        ),
    ],
)
def test_what_never_works_is_a_warning(parameters: dict[str, object], warnings: list[str]) -> None:
    found = hunted(**parameters)
    assert found.good
    assert dict(found.warnings) == dict.fromkeys(warnings, 2)
    assert json.loads(json.dumps(found.as_dict()))["warnings"] == dict.fromkeys(warnings, 2)
    last = found.text().splitlines()[-1]
    assert last.startswith("nothing broke, but see the" if warnings else "nothing broke")
    assert all(f"warning: {each} (in 2 plays)" in found.text() for each in warnings)


def test_a_handler_that_runs_in_some_plays_is_no_warning() -> None:
    @story
    def sometimes(lab: Lab, draw: Draw) -> None:
        product = lab.product("lamp", resources=RESOURCES)
        lab.solution("app", products=[product]).on("device", "datapoint", lua=LUA)
        if draw.number(0, 1):
            product.fleet(1, Reports).run(minutes=1)

    found = hunt(sometimes, 12, **PLAIN)
    assert {each.row.records > 0 for each in found.done if each.row is not None} == {True, False}
    assert (found.warnings, found.reservations) == ({}, [])


def test_where_something_broke_nothing_is_said_about_what_never_ran() -> None:
    @story
    def breaks(lab: Lab, draw: Draw) -> None:
        lab.product("lamp", resources=RESOURCES).fleet(1, Reports)
        raise AssertionError("first")

    assert hunt(breaks, 1, **PLAIN).warnings == {}


@pytest.mark.parametrize("promise", [always(count_is_small, every=30), eventually(count_is_small)])
def test_a_promise_of_which_nothing_happens_but_its_looks_is_untested(promise: Any) -> None:
    def nothing(lab: Lab, draw: Draw) -> None:
        lab.solution("app")
        lab.wait(minutes=5)

    def something(lab: Lab, draw: Draw) -> None:
        nothing(lab, draw)
        lab.solution("app").Keystore.set(key="n", value="1")

    for told, state in ((nothing, "untested"), (something, "kept")):
        [verdict] = play(Story(told, {}, [promise]), 1).verdicts
        assert verdict.state == state
    found = hunt(Story(nothing, {}, [promise, never(kind="error")]), 1, **PLAIN)
    assert found.reservations == ["1 of 2 promises were never put to the test"]


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        (
            {"summary": "Keystore.comand"},
            "the lab has no operation 'Keystore.comand'; did you mean Keystore.command?",
        ),
        (
            {"summary": ["Keystore.*", "Usr.*"], "kind": "call", "status": 500},
            "the lab has no operation 'Usr.*'",
        ),
        (
            {"summary": "datapiont", "kind": "event"},
            "the lab has no event 'datapiont'; did you mean datapoint?",
        ),
        ({"product": "lmap"}, "the lab has no product 'lmap'; did you mean lamp?"),
        ({"identity": ["t-001", "t-x"], "status": 500}, "the lab has no device 't-x'"),
        ({"summary": "Keystore.command", "status": 500}, ""),
        ({"summary": "Made.up", "status": 500}, ""),  # which a handler did call
        ({"product": "l*p", "identity": "t-*", "kind": "error"}, ""),
    ],
)
def test_a_filter_with_a_misspelt_name_is_untested_and_warns(given: dict[str, Any], hint: str) -> None:
    def calls(lab: Lab, draw: Draw) -> None:
        home.function(lab, draw, lua=f"{LUA}; Made.up{{}}")

    promise = never(**given)
    found = hunt(Story(calls, {}, [promise]), 1, **PLAIN)
    own = [each for each in found.warnings if each.startswith("promise ")]
    assert (own == []) == (hint == "")
    if hint:
        assert own[0].startswith(f"promise {promise.name!r}: {hint}")
        assert found.untested == [promise.name]
    else:
        assert found.promises[promise.name] == {"kept": 1}


def sum_of(lab: Lab) -> str | None:
    count = int(lab.solution("app").Keystore.get(key="n").get("value") or 0)
    return f"counted {count}" if count > 2 else None


def test_the_shown_records_leave_out_the_looks_of_promises() -> None:
    """The requests of a look, and what follows from them, too; the story's own calls of that operation stay."""

    def seen(lab: Lab, draw: Draw) -> None:
        app = lab.solution("app", products=[lab.product("lamp", resources=RESOURCES)])
        app.on("device", "datapoint", lua=LUA)
        app.route("GET", "/n", lua="return Keystore.get{key = 'n'}")
        app.Keystore.get(key="of the story")
        lab.product("lamp").fleet(1, Reports).run(minutes=4)

    def asks(lab: Lab) -> str | None:
        lab.solution("app").get("/n")
        return sum_of(lab)

    played = play(Story(seen, {}, [always(asks, every=5)]), 1, check=False)
    assert played.verdicts[0].state == "broken"
    shown = last_lines(played.journal, 1000, played.looks)
    assert 0 < len(shown) < len(last_lines(played.journal, 1000)) - 30
    assert sum("Keystore.get" in each for each in shown) == 1
    assert not any("GET /n" in each for each in shown)
    assert sum("event lamp/l-001 datapoint" in each for each in shown) == 4
    assert play(Story(seen, {}, [never(kind="error")]), 1).looks == ()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: LIBRARY.always(lambda: True),
            r"always: <lambda>: expected a function of one argument, the lab, not of \(\)",
        ),
        (lambda: LIBRARY.eventually(lambda a, b: True), r"eventually: <lambda>: expected .* not of \(a, b\)"),
        (
            lambda: LIBRARY.never(where=lambda: True),
            r"where: expected a function of one argument, the record",
        ),
        (lambda: always(waits), "always: waits is async: expected a plain function"),
    ],
)
def test_a_check_that_cannot_be_called_is_refused_at_once(make: Callable[[], object], message: str) -> None:
    with pytest.raises(LabError, match=message):
        make()


async def waits(lab: Lab) -> bool:
    return True


def test_checks_with_defaults_and_built_in_ones_are_accepted() -> None:
    def with_default(lab: Lab, most: int = 3) -> bool:
        return True

    for check in (with_default, lambda *given: True, bool, count_is_small):
        always(check, name="x")


class Waits(Behaviour):
    async def run(self, device: FleetDevice) -> None:
        await device.write(temperature=20)


@pytest.mark.parametrize("kind", ["unawaited", "returned", "left", "right"])
def test_an_async_handler_that_does_nothing_fails(kind: str) -> None:
    async def right(services: Any) -> None:
        await services.Keystore.command(key="n", command="incr")

    async def unawaited(services: Any) -> None:
        services.Keystore.command(key="n", command="incr")

    async def left(services: Any) -> None:
        tasks.append(asyncio.ensure_future(services.Keystore.command(key="n", command="incr")))

    def returned(services: Any) -> object:
        return right(services)

    tasks: list[object] = []
    handlers = {
        "right": right,
        "unawaited": unawaited,
        "left": left,
        "returned": returned,
    }
    hints = {
        "unawaited": "unawaited: Keystore.command is called without await, so that it does nothing",
        "returned": f"returned: it returns the coroutine {right.__qualname__}, which nothing runs",
    }

    @story
    def told(lab: Lab, draw: Draw) -> None:
        product = lab.product("lamp", resources=RESOURCES)
        lab.solution("app", products=[product]).on("device", "datapoint", handlers[kind])
        product.fleet(2, Waits).run(minutes=1)

    found = hunt(told, 1, **PLAIN)
    if kind in hints:
        first, *others = found.warnings
        assert first.startswith(f"solution 'app', device datapoint: {hints[kind]}")
        assert others == ["solution 'app': its handler of device datapoint failed in all its runs"]
    else:
        assert found.warnings == {}
