"""Ranges of delays: each hit draws its own delay from the seed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from labkit import Lab
from labkit.core.identifiers import Identifiers
from labkit.faults.fault import ActiveFault
from labkit.settings import FaultSettings, LabSettings, build
from labkit.settings.overlay import add_faults
from tests.context import make_context

ALIAS = "/onep:v1/stack/alias"


def fault(seed: int, **settings: Any) -> ActiveFault:
    identifiers = Identifiers(seed)

    def draw(name: str, actor: str) -> float:
        return int(identifiers.hex(f"fault {name} {actor}", 13), 16) / 16**13

    return ActiveFault("f", build(FaultSettings, {"where": "GET /x", **settings}), "hand", draw)


def test_delays_are_uniform_within_the_range_and_depend_on_the_seed() -> None:
    drawn = {seed: [fault(seed, delay=[2, 4]).draw_delay(f"d-{n}") for n in range(1000)] for seed in (1, 2)}
    for each in drawn.values():
        assert all(2 <= one < 4 for one in each)
        assert [210 < sum(low <= one < low + 0.5 for one in each) < 290 for low in (2, 2.5, 3, 3.5)] == [
            True
        ] * 4
    assert drawn[1] != drawn[2]
    assert drawn[1] == [fault(1, delay=(2, 4)).draw_delay(f"d-{n}") for n in range(1000)]


def test_an_actors_delays_do_not_depend_on_other_actors_and_differ() -> None:
    made, alone = fault(7, delay=[0, 1]), fault(7, delay=[0, 1])
    mixed = [(actor, made.draw_delay(actor)) for actor in ("a", "b", "é/c", "a", "b", "a")]
    assert [one for actor, one in mixed if actor == "a"] == [alone.draw_delay("a") for _ in range(3)]
    assert len({one for _, one in mixed}) == 6


def test_a_range_does_not_change_which_operations_a_chance_hits() -> None:
    def hits(delay: object) -> list[bool]:
        made, found = fault(7, delay=delay, chance=0.5), []
        for _ in range(50):
            found.append(made.is_due("a"))
            if found[-1]:
                made.draw_delay("a")
        return found

    assert hits(1) == hits([1, 2])


def test_a_fixed_delay_draws_nothing() -> None:
    assert [fault(7, delay=2.5).draw_delay("a"), fault(7, status=500).draw_delay("a")] == [2.5, 0]


@pytest.mark.parametrize("where", ["Keystore.set", "device datapoint", f"POST {ALIAS}"])
def test_at_each_kind_of_place_and_again_byte_for_byte(where: str) -> None:
    def play() -> tuple[list[float], str]:
        got: list[float] = []
        with Lab(seed=7) as lab:
            device = lab.product("thermostat", resources={"message": "string"}).device("t-1").activate()
            start = lab.clock.time

            def handle(data: Any, services: Any, now: Any) -> None:
                services.Keystore.set(key="a", value="b")
                got.append(now() - start)

            lab.solution("acme", products=["thermostat"]).on("device", "datapoint", handle)
            lab.faults.add(where, delay=(0.5, 8))
            for _ in range(6):
                begun = lab.begin(device.write, message="x")
                lab.clock.advance(10)
                begun.result()
            return got, lab.journal.canonical()

    first = play()
    delays = [when - 10 * number for number, when in enumerate(first[0])]
    assert all(0.5 <= each < 8 for each in delays)
    assert len(set(delays)) == 6
    assert play() == first


async def test_an_outgoing_request() -> None:
    context = make_context()
    clock = context.clock
    context.faults.add(build(FaultSettings, {"where": "https://a.example", "delay": [5, 6]}))

    async def send(*_: object) -> tuple[int, str]:
        return 200, "own"

    assert context.faults.outgoing is not None
    with context.activity:
        asking = asyncio.ensure_future(
            context.faults.outgoing.around("GET", "https://a.example", {}, None, send)
        )
        await asyncio.sleep(0)
        await clock.advance(5)
        assert not asking.done()
        await clock.advance(1)
        assert await asking == (200, "own")


def test_in_lab_yaml_and_at_a_terminal(tmp_path: Path) -> None:
    values = add_faults({}, ["POST /x delay=[0.1,2]"])
    assert [each.delay for each in build(LabSettings, values).faults] == [(0.1, 2)]
    file = tmp_path / "lab.yaml"
    file.write_text("faults: [{where: GET /x, delay: [0, 2]}, {where: GET /x, delay: 3}]\n")
    with Lab(config=file) as lab:
        assert [each.info.does for each in lab.faults] == ["delay 0 to 2 s", "delay 3 s"]
