"""Long polls of devices in a simulated fleet, whose connections end."""

from __future__ import annotations

from labkit import Behaviour, Lab
from labkit.fleet.fleet_device import FleetDevice

DEVICES, VALUES = 20, 6


class Reconnecting(Behaviour):
    """Behaviour that writes values, several in a second, waits for each, closes its connection, and polls again."""

    async def run(self, device: FleetDevice) -> None:
        await device.wait_for("message", 0)
        got: list[str | None] = []
        for number in range(VALUES):
            await device.write(message=str(number))
            got.append(await device.wait_for("message", 1))
            device.disconnect()
            got.append(await device.wait_for("message", 0))
            if number % 3 == 0:
                await device.sleep(0.5)
        device.note(got=",".join("-" if each is None else each for each in got))


def test_a_device_that_ends_its_connection_gets_each_value_once() -> None:
    with Lab(seed=3) as lab:
        product = lab.product("thermostat", resources={"message": "string"})
        day = product.fleet(DEVICES, Reconnecting).run(seconds=60)
        assert day.failures.empty
        assert set(day.devices()["got"]) == {",".join(f"{number},-" for number in range(VALUES))}
