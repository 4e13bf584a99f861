"""Random stories of clients that poll one alias, lose answers and end their connections."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from labkit.conformance import device_client, expect
from labkit.conformance.device.long_poll.poller import Poller
from labkit.conformance.target import Target
from labkit.core.chance import Chance

PRODUCT = "token-open"
PAST = 1000  # seconds before now, the time of the first value
STAYS = 0.7  # share of the values that have the same second as the previous one


@dataclass(frozen=True)
class Habits:
    """Behaviour of a polling client.

    keeps: whether it keeps one connection; else it opens one for each poll, and ends it gracefully; loses: share of
    answers that it loses, at most `in_a_row` consecutive ones; silent: share of these that it loses by falling
    silent, the others by a reset.
    """

    keeps: bool
    loses: float = 0.0
    in_a_row: int = 1_000_000
    silent: float = 0.3


@dataclass
class Client:
    """A client and the values that it received, in order."""

    poller: Poller
    habits: Habits
    chance: Chance
    got: list[str] = field(default_factory=list)
    lost_in_a_row: int = 0

    async def catch_up(self) -> None:
        """Poll until there is no new value."""
        while (response := await self.poller.ask()).status_code == 200:
            if self._loses():
                if self.chance.random() < self.habits.silent:
                    self.poller.fall_silent()
                else:
                    await self.poller.reset()
                continue
            self.poller.since = str(response.headers.get("Last-Modified"))
            self.got.append(device_client.values(response)["text"])
            await self._rest()
        expect.status(response, 304)
        await self._rest()

    def _loses(self) -> bool:
        loses = self.lost_in_a_row < self.habits.in_a_row and self.chance.random() < self.habits.loses
        self.lost_in_a_row = self.lost_in_a_row + 1 if loses else 0
        return loses

    async def _rest(self) -> None:
        if not self.habits.keeps:
            await self.poller.end_connection(close_notify=self.chance.random() < 0.5)


async def play(
    target: Target, chance: Chance, habits: Sequence[Habits], values: int
) -> list[tuple[str, ...]]:
    """Return the values that each client of a fresh device received, while values were stored, several in one second.

    A value is replaced only after all clients have polled. Values are numbers, from 0.
    """
    device = await target.activated(PRODUCT)
    second = await device_client.now(device) - PAST
    async with AsyncExitStack() as stack:
        clients = [Client(Poller(target, device, stack), each, chance) for each in habits]
        for value in range(values):
            second += chance.random() > STAYS
            pairs = [("alias", "text"), (str(second), str(value))]
            expect.status(await device_client.record(device, pairs), 204)
            for client in chance.sample(clients, len(clients)):
                await client.catch_up()
    return [tuple(client.got) for client in clients]
