"""Planted bug: a handler that is not idempotent. An event that arrives twice is billed twice."""

from __future__ import annotations

from labkit import Lab
from labkit.hunt import Draw, eventually, story
from tests.hunt.planted.parts import Harm, Meter, finish, unharmed

BROKEN = 'Keystore.command{key = "bill", command = "incrby", args = {data.value[2]}}'
MENDED = """
local id = data.device_sn .. " " .. data.value[1]
if Keystore.command{key = "billed", command = "sadd", args = {id}}.value == 1 then
  Keystore.command{key = "bill", command = "incrby", args = {data.value[2]}}
end"""


def bill_is_right(lab: Lab) -> None:
    """Assert that the bill is the sum of all values that devices have written."""
    bill = int(lab.solution("app").Keystore.get(key="bill").get("value") or 0)
    used = sum(int(each.values["kwh"]) for each in lab.journal.writes())
    assert bill == used, f"billed {bill} kWh of {used}"


PROMISE = eventually(
    bill_is_right,
    within=60,
    under=("event doubled", "event late", "event delay", "overlap", "request delay", "call delay"),
)


@story(promises=[PROMISE])
def doubled_event(lab: Lab, draw: Draw, *, mended: bool = False, harm: Harm = unharmed) -> None:
    """Bill what devices write.

    Promise: the bill is the sum of all values that devices have written. Holds under doubled and late events, overlap,
    and delays of requests, service calls and events; not under lost events, error answers at service calls, restarts,
    and a device that sends twice.
    """
    product = lab.product("meter", resources={"kwh": "number"})
    app = lab.solution("app", products=[product])
    app.on("device", "datapoint", lua=MENDED if mended else BROKEN)
    fleet = product.fleet(draw.number(1, 4), Meter)
    harm(lab, fleet)
    fleet.start(minutes=10, transport="memory").wait()
    finish(lab)
