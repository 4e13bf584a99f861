"""Fleets among faults: the same again from a seed, on both ends of the connection."""

from __future__ import annotations

from labkit import Behaviour, DeviceError, Lab, NoAnswerError
from labkit.fleet.fleet_device import FleetDevice
from tests.sizes import size


class Persistent(Behaviour):
    """Writes, reads and waits, whatever comes."""

    async def run(self, device: FleetDevice) -> None:
        while True:
            for ask in (
                lambda: device.write(count=self.random.randrange(100)),
                lambda: device.read("count"),
                lambda: device.wait_for("count", timeout=self.random.uniform(1, 60)),
            ):
                try:
                    await ask()
                except (DeviceError, NoAnswerError):
                    await device.sleep(self.random.uniform(0, 30))
            await device.sleep(minutes=5)


def play(devices: int, hours: float) -> tuple[str, str, str]:
    with Lab(seed=7) as lab:
        product = lab.product("thermostat", resources={"count": "integer"})
        lab.solution("acme", products=["thermostat"]).on(
            "device", "datapoint", lua="Keystore.set{key = data.device_sn, value = tostring(data.value[2])}"
        )
        place = "* /onep:v1/stack/alias"
        lab.faults.add(place, status=503, chance=0.05)
        lab.faults.add(place, delay=17.25, chance=0.1)
        lab.faults.add(place, delay=400, when="after", every=50)
        lab.faults.add(place, cut="before", chance=0.05)
        lab.faults.add(place, cut="after", chance=0.05)
        lab.faults.add(place, cut="inside", chance=0.05)
        lab.faults.add("device datapoint", late=33.5, chance=0.1)
        lab.faults.add("device datapoint", doubled=True, late=1, chance=0.1)
        lab.faults.add("device datapoint", delay=5, chance=0.1)
        lab.faults.add("device datapoint", lost=True, chance=0.1)
        lab.faults.add("Keystore.set", delay=3, chance=0.2)
        fleet = product.fleet(devices, Persistent)
        for does in (
            "drop before",
            "drop after",
            "delay",
            "slow reader",
            "duplicate send",
            "wrong clock",
            "reboot",
        ):
            fleet.faults.add(does, chance=0.03)
        run = fleet.run(hours=hours, progress=False)
        assert len(run.failures) == 0, run.failures
        assert (lab.faults.frame()["hits"] > 0).all(), lab.faults
        assert (fleet.faults.frame()["hits"] > 0).all(), fleet.faults
        return lab.journal.canonical(), run.frame().to_csv(), repr(lab.faults) + repr(fleet.faults)


def test_a_fleet_among_faults_is_the_same_again() -> None:
    first = play(size(8, 50), size(3, 10))
    again = play(size(8, 50), size(3, 10))
    assert first[1:] == again[1:]
    assert first[0] == again[0]
