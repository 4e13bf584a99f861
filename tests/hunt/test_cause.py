"""Causes of failures: hits, the way to the breach, and the difference to the play without the last fault."""

from __future__ import annotations

from typing import Any

from labkit import Behaviour, Lab
from labkit.fleet.fleet_device import FleetDevice
from labkit.hunt import Draw, Story, eventually, no_script_failed, play, story
from labkit.hunt.plays.breach import breach_of
from labkit.hunt.plays.future import PlayPlan
from labkit.hunt.search.cause import FailureCause, cause_of


class Gate(Behaviour):
    async def run(self, device: FleetDevice) -> None:
        while True:
            await device.sleep(60)
            await device.write(visit=1)


def cause(told: Story, *faults: tuple[str, dict[str, Any]]) -> FailureCause:
    played = play(told, 1, faults=faults, check=False)
    breach = breach_of(told, played)
    assert breach is not None
    return cause_of(PlayPlan(told), played, breach)


def stock_adds_up(lab: Lab) -> None:
    left, sold = (
        int(lab.solution("app").Keystore.get(key=name).get("value") or 0) for name in ("stock", "sold")
    )
    assert left + sold == 10, f"{left} left and {sold} sold"


@story(promises=[eventually(stock_adds_up, within=0)], journal={"values": True})
def kiosk(lab: Lab, draw: Draw) -> None:
    lab.service("Bank", charge=lambda amount: {"ok": True})
    app = lab.solution("app")
    app.Keystore.set(key="stock", value="10")
    app.route(
        "POST",
        "/buy",
        lua="""
        Keystore.command{key = "stock", command = "decr"}
        if Bank.charge{amount = 5}.error then response.code = 502 return end
        Keystore.command{key = "sold", command = "incr"}""",
    )
    for _ in range(3):
        app.post("/buy")
        lab.wait(seconds=5)


@story(promises=[no_script_failed()], journal={"values": True})
def limit(lab: Lab, draw: Draw) -> None:
    product = lab.product("gate", resources={"visit": "number"})
    app = lab.solution("app", products=[product])
    app.route("POST", "/limit", lua="limit = 5")
    app.on("device", "datapoint", lua='if tonumber(data.value[2]) > limit then error("many") end')
    app.post("/limit")
    product.fleet(1, Gate).run(minutes=4)


class Door(Behaviour):
    async def run(self, device: FleetDevice) -> None:
        for state in ("1", "0"):
            await device.sleep(60)
            await device.write(visit=state)


def is_closed(lab: Lab) -> bool:
    return bool(lab.solution("app").Keystore.get(key="door").get("value") == "0")


@story(promises=[eventually(is_closed, within=0)], journal={"values": True})
def entrance(lab: Lab, draw: Draw) -> None:
    product = lab.product("gate", resources={"visit": "number"})
    app = lab.solution("app", products=[product])
    app.on("device", "datapoint", lua='Keystore.set{key = "door", value = data.value[2]}')
    product.fleet(1, Door).run(minutes=5)


def visits_are_counted(lab: Lab) -> None:
    count = int(lab.solution("app").Keystore.get(key="visits").get("value") or 0)
    assert count == 2, f"{count} of 2 visits"


@story(promises=[eventually(visits_are_counted, within=0)], journal={"values": True})
def museum(lab: Lab, draw: Draw) -> None:
    product = lab.product("gate", resources={"visit": "number"})
    app = lab.solution("app", products=[product])
    app.on(
        "device",
        "datapoint",
        lua="""
        local count = Keystore.get{key = "visits"}.value or 0
        Keystore.set{key = "visits", value = count + 1}""",
    )
    product.fleet(2, Gate).run(minutes=1.5)


def test_a_way_leads_from_the_hit_by_causes_and_last_writers_to_the_breach() -> None:
    found = cause(kiosk, ("call error", {"where": "Bank.charge", "status": 503, "first": 1}))
    failed = "call 503 app Bank.charge: fault call error 1: amount 5"
    assert found.hits == (f"call error: a script's service call fails; at 0 s: {failed}",)
    decr = 'call 200 app Keystore.command: command "decr", key "stock"'
    get = 'call 200 app Keystore.get: key "stock", answer {value "7"}'
    assert [str(each) for each in found.steps if each.number in (3, 4, 9, 17)] == [
        " 3 0 s  script 204 app POST /buy  [hit by 5, caused by 2]",
        f" 4 0 s  {decr}, answer {{value 9}}  [caused by 3, reads what is written by 1]",
        f" 9 5 s  {decr}, answer {{value 8}}  [caused by 8, reads what is written by 4]",
        f"17 15 s  {get}  [reads what is written by 14, shows the breach]",
    ]
    assert [each.number for each in found.steps if each.is_hit] == [5]
    assert found.difference[1] == "  here:  nothing of the kind"
    assert 'Keystore.command: command "incr", key "sold", answer {value 1}' in found.difference[2]


def test_a_difference_is_that_of_the_same_run() -> None:
    found = cause(limit, ("restart", {"after": 100}))
    assert found.hits[0].endswith("and scripts what they keep in variables; at 100 s")
    nil = "device_datapoint:1: attempt to compare nil with number"
    assert found.difference == (
        "first difference to the play without the fault restart 1:",
        f"  here:  120 s  script 500 app device datapoint: {nil}",
        "  there: 120 s  script 204 app device datapoint",
    )


def test_of_an_overlap_in_step_only_the_lengths_of_calls_are_left_out() -> None:
    found = cause(museum, ("overlap", {"calls": (0.01, 0.05), "in_step": True}))
    assert found.hits[1].startswith("handlers overlap: 60.048075 s  call 200 app Keystore.get")
    assert "value 1  [caused by 5, after 8, does not know of 9]" in str(found)
    assert found.difference[0].endswith("the play in which service calls take no time:")
    assert [each.partition("visits")[2] for each in found.difference[1:]] == [
        '", answer {}  [nothing has written it before]',
        '", answer {value "1"}  [reads what is written by 60 s  call 200 app Keystore.set: key "visits", value 1]',
    ]


def test_a_late_event_overwrites_what_it_does_not_know() -> None:
    found = cause(entrance, ("event late", {"where": "device datapoint", "late": 100, "first": 1}))
    assert 'key "door", value "1"  [caused by 8, does not know of 7]' in str(found)
    assert found.difference[0].startswith(
        "no difference to the play without the fault event late 1 explains it"
    )
