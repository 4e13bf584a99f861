"""Driver of the content model: two products, whose contents change if the target is a lab in this process."""

from __future__ import annotations

import csv
import io
from typing import cast
from urllib.parse import quote

from labkit.conformance import device_client
from labkit.conformance.connection_pool import Exchange
from labkit.conformance.device.content.model import Item, ProductContents
from labkit.conformance.models.commands import Commands, one_of, together
from labkit.conformance.models.game import Game
from labkit.conformance.models.game_clock import GameClock
from labkit.conformance.models.rules import Rules
from labkit.conformance.set_up import set_up
from labkit.conformance.target import Target
from labkit.fleet.device import VirtualDevice

PRODUCTS = ("content", "token-other")
PATH = "/provision/download"

IDS = ("a", "A", " é&+%", "a/b")
STATIC = ("=alphabet.txt", "=Alphabet.txt", "=plain.bin", "=none")
DATA = (b"x", b"", b"0123456789", bytes(range(256)) * 4, b"\xff\x00\r\n" * 17_000)
TYPES = ("text/plain", "application/x-one", "application/octet-stream")
DESCRIPTIONS = ("", "plain", 'a, "b"', "two\r\nlines", "grün 温")
ENDS = ("0", "1", "SIZE-1", "SIZE", "SIZE+1", "", "5", "00", "99999999999999999999999")
ODD = ("bytes=5", "bytes=a-b", "items=0-1", "bytes=0-0,2-3", "bytes 0-1", "bytes=--1")
RANGES = one_of(together(ENDS, ENDS), together([""], ENDS), together(ENDS, [""])).map(
    lambda each: f"bytes={each[0]}-{each[1]}"
)

command = Commands(index=(0, 0, 1), id=("a", *IDS), ticks=(1024, 512, 1023, 2048))


class Contents(Game):
    """One run of the model: contents under fresh names beside the ones of lab.yaml, in two products."""

    default = "DEV-CONT-7"

    def __init__(self, target: Target, rules: Rules) -> None:
        super().__init__(target, rules)
        self._prefix = target.identity()
        self._changes = "settings" in target.offers
        self._devices: list[VirtualDevice] = []
        self._shelves: list[ProductContents] = []
        self.clock = GameClock(target, self._second)

    async def begin(self) -> None:
        for product in PRODUCTS:
            device = self._target.device(product, client=self._target.pool(product))
            with set_up(f"a device of {product}"):
                await device.activate()
            self._devices.append(device)
            shelf = ProductContents()
            for item in self._target.product(product).settings.content:
                data = item.file.read_bytes()
                shelf.items[item.id or item.file.name] = Item(data, item.type, item.description, None)
            self._shelves.append(shelf)
        await self.clock.begin()

    async def end(self) -> None:
        """Request the lists and all own contents once more."""
        for index, shelf in enumerate(self._shelves):
            await self.list(index)
            for id in list(shelf.items):
                if id.startswith(self._prefix):
                    await self._download(index, id, None)

    async def close(self) -> None:
        for index, shelf in enumerate(self._shelves):
            for id in list(shelf.items):
                if id.startswith(self._prefix):
                    await self._removed(index, id)

    # ---- what commands do

    @command(data=DATA, type=TYPES, description=DESCRIPTIONS)
    async def add(self, index: int, id: str, data: bytes, type: str, description: str) -> None:
        """Add a content, or replace it (in a lab in this process)."""
        if self._changes:
            handle = await self._target.handle(PRODUCTS[index])
            await self._target.in_lab(handle.content.add, self._prefix + id, data, type, description)
            updated = int(self.clock.now) if self.clock.exact else None
            self._shelves[index].items[self._prefix + id] = Item(data, type, description, updated)
            await self.info(index, id)

    @command()
    async def remove(self, index: int, id: str) -> None:
        """Remove a content, if it exists."""
        if self._shelves[index].items.pop(self._prefix + id, None) is not None:
            await self._removed(index, self._prefix + id)

    async def _removed(self, index: int, id: str) -> None:
        handle = await self._target.handle(PRODUCTS[index])
        await self._target.in_lab(handle.content.remove, id)

    @command()
    async def advance(self, ticks: int) -> None:
        """Let time pass."""
        await self.clock.advance(ticks)

    @command(id=("a", "a", *IDS, *STATIC), wanted=one_of([None], ODD))
    @command(2, id=("a", "a", *IDS, *STATIC), wanted=RANGES)
    async def download(self, index: int, id: str, wanted: str | None) -> None:
        """Download a content. wanted: the value of Range, in which SIZE, SIZE+1 and SIZE-1 are replaced by numbers."""
        await self._download(index, self._id(id), wanted)

    async def _download(self, index: int, id: str, wanted: str | None) -> None:
        shelf = self._shelves[index]
        if wanted is not None and id in shelf.items:
            size = len(shelf.items[id].data)
            wanted = wanted.replace("SIZE+1", str(size + 1)).replace("SIZE-1", str(max(0, size - 1)))
            wanted = wanted.replace("SIZE", str(size))
        answer = shelf.download(id, wanted)
        headers = {} if wanted is None else {"Range": wanted}
        response = await self._get(index, f"{PATH}?id={quote(id, safe='')}", headers)
        holds = self._rules.holds
        if not holds(answer.rule, "status", response.status_code, answer.status, response):
            return
        if answer.data is not None:
            rule = (
                "DEV-TLS-1" if self._elsewhere(index, id) == response.content != answer.data else answer.rule
            )
            holds(rule, "content", response.content, answer.data, response)
            length = response.headers.get("content-length")
            holds("DEV-CONT-9", "Content-Length", length, str(len(answer.data)), response)
            type = response.headers.get("content-type")
            holds("DEV-CONT-8", "Content-Type", type, shelf.items[id].type, response)
        rule = "DEV-CONT-19" if answer.status == 416 else "DEV-CONT-14"
        holds(rule, "Content-Range", response.headers.get("content-range"), answer.range, response)

    def _elsewhere(self, index: int, id: str) -> bytes | None:
        item = self._shelves[1 - index].items.get(id)
        return None if item is None else item.data

    @command(id=("a", "a", *IDS, *STATIC))
    async def info(self, index: int, id: str) -> None:
        """Request the info of a content and compare it."""
        own = self._id(id)
        response = await self._get(index, f"{PATH}?id={quote(own, safe='')}&info=true", {})
        item = self._shelves[index].items.get(own)
        status = 404 if item is None else 200
        holds = self._rules.holds
        if not holds("DEV-CONT-20", "status of info", response.status_code, status, response) or item is None:
            return
        text = response.content.decode(errors="replace")
        [fields, *_] = [*csv.reader(io.StringIO(text, newline="")), []]
        updated = fields[2] if len(fields) > 2 else ""
        if item.updated is not None:
            holds("DEV-CONT-4", "time of the change", updated, str(item.updated), response)
        rule = "DEV-CONT-5" if '"' in item.line("") else "DEV-CONT-3"
        holds(rule, "info", text.removesuffix("\r\n"), item.line(updated), response)

    @command()
    async def list(self, index: int) -> None:
        """Request the list and compare it, without the contents of other checks."""
        response = await self._get(index, PATH, {})
        found = [each for each in response.content.decode().split("\r\n") if each]
        static = [each for each in self._shelves[index].items if not each.startswith(self._prefix)]
        listed = [each for each in found if each.startswith(self._prefix) or each in static]
        own = sorted(listed)
        wanted = sorted(self._shelves[index].items)
        strange = set(own) - set(wanted)
        rule = "DEV-TLS-1" if strange & self._shelves[1 - index].items.keys() else "DEV-CONT-1"
        self._rules.holds("DEV-TLS-1", "contents of another product", rule == "DEV-TLS-1", False, response)
        self._rules.holds(rule, "the list", own, wanted, response)
        self._rules.holds("DEV-CONT-2", "order of the list", listed, own, response)

    def _id(self, id: str) -> str:
        return id.removeprefix("=") if id.startswith("=") else self._prefix + id

    async def _get(self, index: int, path: str, headers: dict[str, str]) -> Exchange:
        asked = await self._devices[index].request("GET", path, headers=headers)
        return cast("Exchange", asked)  # the device's client is the pool

    async def _second(self) -> int:
        return await device_client.now(self._devices[0])
