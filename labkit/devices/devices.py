"""The platform's component for all data of devices, without HTTP."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from labkit.context import Context
from labkit.core.component import Component
from labkit.core.directory import Directory
from labkit.core.errors import SettingsError
from labkit.devices.access import DeviceAccess, stored_changes
from labkit.devices.content import Content
from labkit.devices.polls import Polls
from labkit.devices.products import PlatformProduct
from labkit.devices.registry import Registry
from labkit.devices.state import Datapoint, State, StateOfData
from labkit.settings import ContentFile, ProductSettings

SEQUENCES = (
    10**9
)  # for the datapoints of an alias, in each start of a lab; numbers of scripts are exact up to 2^53


@dataclass(frozen=True, slots=True)
class DevicesState:
    """State of all devices that is not in the database.

    sequences: number of datapoints of each alias so far; data: as of `State`; seen: as of `Registry`.
    """

    sequences: list[tuple[str, str, str, int]]
    data: StateOfData
    seen: list[tuple[str, str, str, int]] = field(default_factory=list)


class Devices(Component):
    """Products, their devices and content, datapoints, and the polls that wait for these."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.products = cast("Directory[PlatformProduct]", context.products)  # only this class adds to it
        self.registry = Registry(context.database, context.clock, context.identifiers)
        self.content = Content(context.database, context.clock)
        self.state = State(context.database, context.settings.datapoints.kept)
        self.polls = Polls(context.clock, context.activity, context.holding, self.state)
        self._sequences: defaultdict[tuple[str, str, str], int] = defaultdict(int)
        self.changes: defaultdict[str, dict[str, Any]] = defaultdict(dict)  # of scripts, by product

    state_type = DevicesState

    def snapshot(self) -> DevicesState:
        sequences = [(*key, count) for key, count in self._sequences.items()]
        seen = [(*key, *last) for key, last in self.registry.seen.items()]
        return DevicesState(sequences, self.state.snapshot(), seen)

    async def start(self) -> None:
        """Read what scripts have changed of products, whose settings it goes over."""
        self.changes.update(await self.context.database.read(stored_changes))

    async def restore(self, state: DevicesState) -> None:
        stored = await self.context.database.read(stored_changes)
        for product in self.products:
            product.replace(product.own, stored.pop(product.id, {}))
        self.changes.update(stored)
        self._sequences.update({(*key,): count for *key, count in state.sequences})  # type: ignore[misc]
        self.state.restore(state.data)
        self.registry.seen.update(
            {(product, identity): (ip, time) for product, identity, ip, time in state.seen}
        )

    def register(self, product: PlatformProduct) -> None:
        """Add a product without its identities and content. Raises SettingsError where the id is in use."""
        self.products.add(product.id, product)
        product.access = DeviceAccess(product, self.context, self.registry, self.state, self.polls)

    def sequences(self, product: str, identity: str, points: Sequence[Datapoint]) -> list[int]:
        """Return the number of each of a device's new datapoints among those of its alias, from 1.

        On a data file each start of the lab has a range of its own, above those of the starts before.
        """
        counts, before = self._sequences, (self.context.database.starts - 1) * SEQUENCES
        found = []
        for point in points:
            key = (product, identity, point.alias)
            count = counts[key] = counts[key] + 1
            found.append(before + count)
        return found

    async def stop(self) -> None:
        if self.context.database.durable:
            await self.state.store_marks()

    async def crash(self) -> None:
        self.registry.forget_all()
        if self.context.database.durable:
            self.state.forget_all()
            self._sequences.clear()

    async def clear(self) -> None:
        for product in self.products:
            product.replace(product.own, {})
        self.changes.clear()
        self.registry.forget_all()
        self.state.forget_all()
        self._sequences.clear()

    async def refill(self) -> None:
        for product in self.products:
            await self.fill(product.settings)

    async def fill(self, settings: ProductSettings) -> None:
        """Whitelist the identities and add the content of settings. Raises SettingsError for an unreadable file."""
        if settings.identities:
            await self.registry.allow(settings.id, settings.identities)
        for item in settings.content:
            data = self.read_content(settings.id, item)
            id = item.id or item.file.name
            present = await self.content.info(settings.id, id)
            whole = await self.content.read(settings.id, id, 0, len(data)) if present else b""
            if present is None or whole != data:  # a restart on a data file leaves unchanged content alone
                await self.content.add(settings.id, id, data, item.type, item.description)

    def read_content(self, product: str, item: ContentFile) -> bytes:
        """Return the data of a content file. Raises SettingsError if it cannot be read."""
        try:
            return item.file.read_bytes()
        except OSError as error:
            raise SettingsError(f"product {product!r}: {item.file}: {error.strerror}") from error
