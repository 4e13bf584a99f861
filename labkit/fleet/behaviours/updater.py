"""A firmware updater: it finds an image, downloads it in ranges, resumes, verifies and reboots."""

import hashlib
from contextlib import suppress

from labkit.fleet.behaviour import Behaviour, Count, Seconds
from labkit.fleet.fleet_device import EXCHANGE_ERRORS, FleetDevice
from labkit.fleet.loops import turns


class Updater(Behaviour):
    """Updater that installs the last content item by name with this `prefix`; its description is its SHA-256."""

    every: Seconds = 3600  # longest seconds between two checks, in a run without arrivals
    chunk: Count = 4096  # bytes of a range
    prefix: str = "fw"

    async def run(self, device: FleetDevice) -> None:
        device.note(version=(installed := device.memory.get("version", "")))  # memory survives a reboot
        async for _ in turns(device, lambda: self.random.uniform(0, self.every)):
            with suppress(*EXCHANGE_ERRORS):  # it checks again later
                found = [each for each in await device.content() if each.startswith(self.prefix)]
                if (newest := max(found, default="")) > installed and await self.install(device, newest):
                    device.memory["version"] = newest
                    await device.reboot(seconds=30)

    async def install(self, device: FleetDevice, id: str, image: bytes = b"") -> bool:
        """Download content `id` to `device`, after the bytes in `image`; return whether its SHA-256 is as described."""
        *_, size, _, digest = (await device.content_info(id)).split(",")
        while len(image) < int(size):
            try:
                image += await device.download(id, f"bytes={len(image)}-{len(image) + self.chunk - 1}")
            except EXCHANGE_ERRORS as error:
                if getattr(error, "status", 503) < 500:  # a refused download stays refused
                    raise
                await device.sleep(60)
            device.note(progress=round(len(image) / int(size), 3))
        return hashlib.sha256(image).hexdigest() == digest
