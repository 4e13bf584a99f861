"""A fleet of mixed behaviours with a Lua solution, for tests of exact replay; as a script it prints digests."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from tempfile import TemporaryDirectory

from labkit import Behaviour, DeviceError, Lab
from labkit.fleet.fleet_device import EXCHANGE_ERRORS, FleetDevice
from labkit.lab.fleet import Fleet
from labkit.lab.product import Product
from labkit.lab.run_options import Transport
from labkit.widgets.charts import overview

FIRMWARE = bytes(range(256)) * 64
COUNT = """--#EVENT device datapoint
Keystore.command({key = "count", command = "incrby", args = {1}})
Keystore.command({key = "logs", command = "lpush", args = {data.device_sn .. " " .. data.value[2]}})
Keystore.command({key = "logs", command = "ltrim", args = {0, 9}})
if math.random() < 0.1 then
  Keystore.set({key = "seen " .. data.device_sn, value = tostring(os.time())})
end
"""


class Lasting(Behaviour):
    """Behaviour that continues after deliberate faults."""

    async def run(self, device: FleetDevice) -> None:
        while True:
            try:
                return await self.live(device)
            except EXCHANGE_ERRORS:
                await device.sleep(self.random.randrange(10, 60))

    async def live(self, device: FleetDevice) -> None:
        raise NotImplementedError


class Reports(Lasting):
    """Behaviour that writes a temperature at irregular times, and sometimes reboots."""

    async def live(self, device: FleetDevice) -> None:
        while True:
            await device.write(temperature=round(self.random.gauss(21, 2), 2))
            await device.sleep(self.random.choice([2400, 2400, 4800, 7212.5]))
            if self.random.random() < 0.05:
                await device.reboot(seconds=20)


class Listens(Lasting):
    """Behaviour that polls, and writes what it received."""

    async def live(self, device: FleetDevice) -> None:
        async for value in device.poll("config", timeout=300):
            device.note(value)
            await device.write(message=f"is {value}")
            await device.sleep(minutes=self.random.randrange(90))


class Waits(Lasting):
    """Behaviour that reports, and waits for a while for a message."""

    async def live(self, device: FleetDevice) -> None:
        while True:
            await device.write(temperature=self.random.choice([20, 25]))
            value = await device.wait_for("config", timeout=self.random.choice([60, 300]))
            if value is not None:
                await device.write(message=value)
            await device.sleep(minutes=40)


class Tells(Lasting):
    """Behaviour that sends messages to other devices, several at one instant, when their polls may also time out."""

    async def live(self, device: FleetDevice) -> None:
        while True:
            await device.sleep(self.random.choice([600, 1200, 2400, 2666.6]))
            for number in self.random.sample(range(24, 37), 4):
                await device.write_to(f"t-{number:03d}", config=self.random.randrange(10))


class Batches(Lasting):
    """Behaviour that sleeps, and records what it measured meanwhile."""

    async def live(self, device: FleetDevice) -> None:
        while True:
            now = await device.timestamp()
            points = {float(now - 60 * back): self.random.randrange(100) for back in range(5)}
            await device.record({"number": points})
            await device.read("number", "temperature")
            await device.sleep(minutes=90)


class Downloads(Lasting):
    """Behaviour that downloads the firmware piece by piece, and requests content that does not exist."""

    async def live(self, device: FleetDevice) -> None:
        for begin in range(0, len(FIRMWARE), 4096):
            await device.download("fw.bin", range=f"bytes={begin}-{begin + 4095}")
            await device.sleep(minutes=self.random.randrange(1, 30))
        try:
            await device.download("none.bin")
        except DeviceError as refused:
            device.note(status=refused.status)


class Fails(Behaviour):
    """Behaviour that ends with an error."""

    async def run(self, device: FleetDevice) -> None:
        await device.sleep(hours=self.random.random())
        await device.write(temperature="warm")


FLEET = {Reports: 23, Listens: 5, Waits: 8, Tells: 2, Batches: 6, Downloads: 4, Fails: 2}


def product_of(lab: Lab) -> Product:
    product = lab.product(
        "thermostat",
        resources={"temperature": "number", "number": "number", "message": "string", "config": "string"},
    )
    product.content.add("fw.bin", FIRMWARE)
    return product


def story_results(seed: int = 7, hours: float = 10, transport: Transport = "tls") -> dict[str, str]:
    """Run the story, and return all of its results that a seed reproduces."""
    with TemporaryDirectory() as stack, Lab(seed=seed, journal={"records": 1_000_000}) as lab:
        product = product_of(lab)
        folder = Path(stack, "count", "services")
        folder.mkdir(parents=True)
        (folder / "count.lua").write_text(COUNT)
        lab.solution("count", products=[product], path=folder.parent)
        fleet = product.fleet(FLEET)
        add_faults(lab, fleet)
        run = fleet.run(hours=hours, requests=True, transport=transport)
        assert lab.journal.dropped == 0
        return {
            "journal": lab.journal.canonical(),
            "frame": run.frame().to_csv(),
            "requests": run.requests().to_csv(),
            "failures": run.failures.drop(columns="trace").to_csv(),
            "summary": run.summary,
            "hits": json.dumps([int(hits) for each in (lab, fleet) for hits in each.faults.frame()["hits"]]),
            "picture": overview(run.frame(), "the story").hex(),
        }


def digests(results: dict[str, str]) -> dict[str, str]:
    """Return a digest of each result, and for the journal its number of records."""
    found = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in results.items()}
    return found | {"records": str(results["journal"].count("\n"))}


def add_faults(lab: Lab, fleet: Fleet) -> None:
    """Add faults of all kinds, of the platform and of the devices."""
    fleet.faults.add("drop before", every=13)
    fleet.faults.add("drop after", every=17)
    for does, seconds in (("delay", 45), ("slow reader", 20), ("reboot", 60), ("wrong clock", 90)):
        fleet.faults.add(does, chance=0.02, seconds=seconds)
    fleet.faults.add("duplicate send", chance=0.05)
    fleet.faults.add("platform restart", after=2000)
    fleet.faults.add("platform restart", after=9000, seconds=95)
    alias = "/onep:v1/stack/alias"
    lab.faults.add(f"POST {alias}", status=503, chance=0.03)
    lab.faults.add(f"POST {alias}", delay=40, chance=0.03)
    lab.faults.add(f"GET {alias}", delay=40, chance=0.05)
    for where, chance in ((f"POST {alias}", 0.02), (f"GET {alias}", 0.02), ("GET /provision/download", 0.1)):
        for cut in ("before", "inside", "after"):
            lab.faults.add(where, cut=cut, chance=chance)
    lab.faults.add("device datapoint", late=30, chance=0.03)
    lab.faults.add(f"* {alias}", delay=400, when="after", every=50)
    lab.faults.add("device datapoint", doubled=True, late=1, chance=0.1)
    lab.faults.add("device datapoint", delay=5, chance=0.1)
    lab.faults.add("device datapoint", lost=True, chance=0.1)
    lab.faults.add("Keystore.*", delay=3, chance=0.05)


class Sleeps(Behaviour):
    """Behaviour that waits in the scheduler's order, and sends nothing."""

    async def run(self, device: FleetDevice) -> None:
        while True:
            await device.sleep(self.random.choice([60, 1200, 1333.3]))


def life(reporting: int, sleeping: int, number: int, hours: float) -> list[str]:
    """Return what one device of a fleet with a number of others does."""
    with Lab(seed=7, journal={"records": 1_000_000}) as lab:
        fleet = product_of(lab).fleet({Reports: reporting, Sleeps: sleeping})
        fleet.run(hours=hours)
        actor = f"thermostat/{fleet.identities[number - 1]}"
        return [line.partition('"cause"')[0] + line.partition('"kind"')[2] for line in _lines(lab, actor)]


def _lines(lab: Lab, actor: str) -> list[str]:
    return [line for line in lab.journal.canonical().splitlines() if f'"actor": "{actor}#' in line]


def main() -> None:
    print(json.dumps(digests(story_results())))  # noqa: T201


if __name__ == "__main__":
    main()
