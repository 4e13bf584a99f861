"""Planted bug: a lost update. A handler counts by get and set, and another run of it works between the two."""

from __future__ import annotations

from labkit import Lab
from labkit.hunt import Draw, eventually, story
from tests.hunt.planted.parts import Harm, Meter, finish, handled_datapoints, unharmed

BROKEN = """
local count = tonumber(Keystore.get{key = "count"}.value or 0)
Keystore.set{key = "count", value = count + 1}"""
MENDED = 'Keystore.command{key = "count", command = "incr"}'


def all_are_counted(lab: Lab) -> None:
    """Assert that the count is the number of datapoints."""
    count = int(lab.solution("app").Keystore.get(key="count").get("value") or 0)
    written = handled_datapoints(lab)
    assert count == written, f"counted {count} of {written} datapoints"


PROMISE = eventually(
    all_are_counted,
    within=60,
    under=("overlap", "request delay", "call delay", "event delay", "event late"),
)


@story(promises=[PROMISE])
def lost_update(lab: Lab, draw: Draw, *, mended: bool = False, harm: Harm = unharmed) -> None:
    """Count what devices write.

    Promise: the count is the number of datapoints. Holds under overlap, and under delays of requests, service calls and
    events; not under doubled or lost events, error answers at service calls, and restarts.
    """
    product = lab.product("meter", resources={"kwh": "number"})
    app = lab.solution("app", products=[product])
    app.on("device", "datapoint", lua=MENDED if mended else BROKEN)
    fleet = product.fleet(draw.number(3, 6), Meter)
    harm(lab, fleet)
    fleet.start(minutes=15, transport="memory").wait()
    finish(lab)
