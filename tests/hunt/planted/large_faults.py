"""Eight planted bugs that no short fault shows: they need bursts, partial or long failures, or wrong clocks."""

from __future__ import annotations

import zlib

from labkit import Behaviour, Lab
from labkit.fleet.fleet_device import EXCHANGE_ERRORS, FleetDevice
from labkit.hunt import Draw, always, eventually, requests_bounded, story
from labkit.lab.product import Product
from tests.hunt.planted.parts import Harm, Meter, finish, handled_datapoints, unharmed

KWH = {"kwh": "number"}
PIECE, PAGE = 8, 32  # bytes
IMAGE = bytes(range(160))


class Mendable(Behaviour):
    """Behaviour with a bug, or without it."""

    mended: bool


async def is_written(device: FleetDevice, **values: object) -> bool:
    """Write values, and return whether the platform has accepted them."""
    try:
        await device.write(values)
    except EXCHANGE_ERRORS:
        return False
    return True


def run_fleet(
    lab: Lab, draw: Draw, product: Product, behaviour: Behaviour, harm: Harm, minutes: float
) -> None:
    """Let one or two devices run for so long, and wait until all is handled."""
    fleet = product.fleet(draw.number(1, 2), behaviour)
    harm(lab, fleet)
    fleet.start(minutes=minutes, transport="memory").wait()
    finish(lab)


def none_is_silent(lab: Lab) -> None:
    """Assert that each device that has ever written has done so in the last 20 minutes."""
    newest = {each.identity: each.time for each in lab.journal.writes()}
    assert lab.clock.time - min(newest.values(), default=lab.clock.time) < 1200, newest


# ---- pieces in one instant


class Updater(Mendable):
    """Behaviour that loads an image in pieces, and after a failure goes on at the page that is not whole yet."""

    async def run(self, device: FleetDevice) -> None:
        image, place = bytearray(), 0
        await device.sleep(60)
        while place < len(IMAGE):
            try:
                image += await device.download("firmware", f"bytes={place}-{place + PIECE - 1}")
                place += PIECE
            except EXCHANGE_ERRORS:
                place -= place % PAGE
                if self.mended or not place:
                    del image[place:]
                await device.sleep(30)
        while True:
            await is_written(device, crc=zlib.crc32(image))
            await device.sleep(60)


def no_image_is_torn(lab: Lab) -> None:
    """Assert that devices have installed the image as it is."""
    assert all(int(each.values["crc"]) == zlib.crc32(IMAGE) for each in lab.journal.writes())


@story(promises=[always(no_image_is_torn, every=600, under=("requests", "cut off"))])
def torn_update(lab: Lab, draw: Draw, *, mended: bool = False, harm: Harm = unharmed) -> None:
    """Update firmware. A page that a failure ends after the first one stays in the image, and is loaded again."""
    product = lab.product("meter", resources={"crc": "number"})
    product.content.add("firmware", IMAGE)
    run_fleet(lab, draw, product, Updater(mended=mended), harm, 15)


# ---- partial failures over half an hour, and bursts


class Reporter(Mendable):
    """Behaviour that writes each minute, tries again after 15 s, and after ten failures in all waits for a day."""

    async def run(self, device: FleetDevice) -> None:
        failures = 0
        while True:
            is_lost = not await is_written(device, kwh=1)
            failures += is_lost
            is_enough = failures == 10 and not self.mended
            await device.sleep(86400 if is_enough else 15 if is_lost else 60)


@story(promises=[eventually(none_is_silent, within=0, under=("requests", "cut off"))])
def given_up(lab: Lab, draw: Draw, *, mended: bool = False, harm: Harm = unharmed) -> None:
    """Let devices write each minute. Failures are counted for ever, rather than until a success."""
    run_fleet(lab, draw, lab.product("meter", resources=KWH), Reporter(mended=mended), harm, 60)


class Buffer(Mendable):
    """Behaviour that measures each minute, and writes what it has: all at once, or at most three values a minute."""

    async def run(self, device: FleetDevice) -> None:
        count = 0
        while True:
            await device.sleep(60)
            count += 1
            for _ in range(min(count, 3) if self.mended else count):
                if not await is_written(device, kwh=1):
                    break
                count -= 1


@story(promises=[requests_bounded(10, per=60, under=("requests", "cut off"))])
def flood_after_outage(lab: Lab, draw: Draw, *, mended: bool = False, harm: Harm = unharmed) -> None:
    """Let devices keep values that they could not write. After a long outage a device writes all in one instant."""
    run_fleet(lab, draw, lab.product("meter", resources=KWH), Buffer(mended=mended), harm, 45)


FORWARD = """
local function sent(kwh)
  for try = 1, 2 do if not Hub.put{kwh = kwh}.error then return true end end
  Keystore.command{key = "dead", command = "rpush", args = {kwh}}
end
local next = data.value[2]
while next and sent(next) do next = Keystore.command{key = "dead", command = "lpop"}.value end"""
TRIM = '\nKeystore.command{key = "dead", command = "ltrim", args = {-3, -1}}'


def all_reach_the_hub(lab: Lab) -> None:
    """Assert that each value that devices have written is at the hub, or waits for it."""
    calls = [each for each in lab.journal.select("call") if each.summary == "Hub.put"]
    put, written = sum((each.status or 0) < 400 for each in calls), handled_datapoints(lab)
    waiting = lab.solution("app").Keystore.command(command="llen", key="dead")["value"]
    assert put + waiting == written, f"the hub has {put} of {written} values, and {waiting} wait"


@story(promises=[eventually(all_reach_the_hub, within=60, under={"call error": {"where": "Hub.*"}})])
def dead_letters(lab: Lab, draw: Draw, *, mended: bool = False, harm: Harm = unharmed) -> None:
    """Forward values to a hub. Those that it refuses twice wait until it accepts one; only the last three do."""
    lab.service("Hub", put=lambda kwh: {})
    product = lab.product("meter", resources=KWH)
    app = lab.solution("app", products=[product])
    app.on("device", "datapoint", lua=FORWARD if mended else FORWARD + TRIM)
    fleet = product.fleet(1, Meter)
    harm(lab, fleet)
    fleet.start(minutes=45, transport="memory").wait()
    finish(lab)


class Counting(Behaviour):
    """Behaviour that writes the next number each minute, and repeats it each minute until it is accepted."""

    async def run(self, device: FleetDevice) -> None:
        number = 0
        await device.sleep(self.random.randint(1, 59))
        while True:
            number += 1
            while not await is_written(device, number=number):
                await device.sleep(60)
            await device.sleep(60)


NOTE_GAPS = """
local last = tonumber(Keystore.command{key = "last", command = "hget", args = {data.device_sn}}.value or 0)
local number = tonumber(data.value[2])
for each = number > last and math.max(last + 1, number - MOST) or number, number do
  Keystore.command{key = "known", command = "sadd", args = {data.device_sn .. " " .. each}}
end
if number > last then
  Keystore.command{key = "last", command = "hset", args = {data.device_sn, number}}
end"""


def all_gaps_are_known(lab: Lab) -> None:
    """Assert that each number up to the last one of its device has arrived, or is known to be missing."""
    app = lab.solution("app")
    known = app.Keystore.command(key="known", command="scard").get("value") or 0
    last = sum(map(int, app.Keystore.command(key="last", command="hvals").get("value") or ()))
    assert known == last, f"{known} of {last} numbers are known"


@story(promises=[eventually(all_gaps_are_known, within=60, under="events")])
def wide_gap(lab: Lab, draw: Draw, *, mended: bool = False, harm: Harm = unharmed) -> None:
    """Note which numbers of devices are missing. Of a gap only the last two are noted."""
    product = lab.product("meter", resources={"number": "number"})
    app = lab.solution("app", products=[product])
    app.on("device", "datapoint", lua=NOTE_GAPS.replace("MOST", "1000" if mended else "2"))
    run_fleet(lab, draw, product, Counting(), harm, 30)


# ---- delivery twice, after a restart

BILL = """
local id = data.device_sn .. " " .. data.value[2]
if IS_NEW then Keystore.command{key = "bill", command = "incr"} end"""
IN_MEMORY = "seen = seen or {}\nlocal is_new = not seen[id]\nseen[id] = true\nif is_new then"
STORED = 'if Keystore.command{key = "billed", command = "sadd", args = {id}}.value == 1 then'


def nothing_is_billed_twice(lab: Lab) -> None:
    """Assert that the bill has no more than what devices have written."""
    bill = int(lab.solution("app").Keystore.get(key="bill").get("value") or 0)
    written = len({(each.identity, each.values["number"]) for each in lab.journal.writes()})
    assert bill <= written, f"billed {bill} of {written}"


@story(promises=[always(nothing_is_billed_twice, every=300, under=("request cut after", "restart"))])
def forgotten_deliveries(lab: Lab, draw: Draw, *, mended: bool = False, harm: Harm = unharmed) -> None:
    """Bill what devices write, once for each number. A restart forgets which numbers have been billed."""
    product = lab.product("meter", resources={"number": "number"})
    app = lab.solution("app", products=[product])
    app.on("device", "datapoint", lua=BILL.replace("if IS_NEW then", STORED if mended else IN_MEMORY))
    run_fleet(lab, draw, product, Counting(), harm, 45)


# ---- clocks


class Lock(Mendable):
    """Behaviour that carries out an order unless it is older than its time: by the server's clock, or by its own."""

    async def run(self, device: FleetDevice) -> None:
        while True:
            until = await device.wait_for("order", 120)
            if until is None:
                continue
            if (await device.timestamp() if self.mended else device.now()) < float(until):
                await device.write(done=until)


def all_orders_are_done(lab: Lab) -> None:
    """Assert that each order was carried out."""
    orders = sum(each.summary == "Device2.setIdentityState" for each in lab.journal.select("call"))
    done = len(lab.journal.writes())
    assert done == orders, f"{done} of {orders} orders are done"


@story(promises=[eventually(all_orders_are_done, within=60, under="wrong clock")])
def stale_order(lab: Lab, draw: Draw, *, mended: bool = False, harm: Harm = unharmed) -> None:
    """Order locks to open within two minutes. A lock whose clock is five minutes fast takes each order for old."""
    product = lab.product(
        "lock", resources={"order": {"format": "number", "settable": True}, "done": "number"}
    )
    app = lab.solution("app", products=[product])
    fleet = product.fleet(draw.number(1, 2), Lock(mended=mended))
    harm(lab, fleet)
    run = fleet.start(minutes=20, transport="memory")
    lab.wait(seconds=30)
    for _ in range(4):
        lab.wait(seconds=draw.number(1, 60) + 0.5)
        for identity in fleet.identities:
            app.Device2.setIdentityState(pid="lock", identity=identity, order=int(lab.clock.time) + 120)
        lab.wait(seconds=200)
    run.wait()
    finish(lab)


class Scheduled(Mendable):
    """Behaviour that writes every ten minutes: ten minutes after the last time, or when its own clock says so."""

    async def run(self, device: FleetDevice) -> None:
        due = device.now()
        while True:
            due += 600
            await (device.sleep(600) if self.mended else device.sleep_until(due))
            await is_written(device, kwh=1)


@story(promises=[always(none_is_silent, every=600, under="wrong clock")])
def wall_time_schedule(lab: Lab, draw: Draw, *, mended: bool = False, harm: Harm = unharmed) -> None:
    """Let devices write every ten minutes. One whose clock goes back by an hour is silent for an hour."""
    run_fleet(lab, draw, lab.product("meter", resources=KWH), Scheduled(mended=mended), harm, 180)


STORIES = (
    *(torn_update, given_up, flood_after_outage, dead_letters),
    *(wide_gap, forgotten_deliveries, stale_order, wall_time_schedule),
)
