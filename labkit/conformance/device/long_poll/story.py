"""Stories of clients that poll one alias, lose answers and end their connections; drawn by chance."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from labkit.conformance import device_client, expect
from labkit.conformance.device.long_poll.poller import Poller
from labkit.conformance.target import Target
from labkit.core.chance import Chance

PRODUCT = "token-open"
PAST = 1000  # seconds before now: of the first value
STAYS = 0.7  # of the values so many are of the second of the one before


@dataclass(frozen=True)
class Habits:
    """How a client polls.

    keeps: one connection, else a new one for each poll, which it ends in order; loses: so many of its answers, at most
    `in_a_row` of them; silent: so many of those because it falls silent, the others by a reset.
    """

    keeps: bool
    loses: float = 0.0
    in_a_row: int = 1_000_000
    silent: float = 0.3


@dataclass
class Client:
    """A client and the values that it has, in the order in which it got them."""

    poller: Poller
    habits: Habits
    chance: Chance
    got: list[str] = field(default_factory=list)
    lost_in_a_row: int = 0

    async def catch_up(self) -> None:
        """Poll until nothing comes."""
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
            await self.poller.leave(goodbye=self.chance.random() < 0.5)


async def play(
    target: Target, chance: Chance, habits: Sequence[Habits], values: int
) -> list[tuple[str, ...]]:
    """Have clients of a fresh device poll while values are stored, several in one second; the values of each client.

    A value is replaced only once all have asked for it. Values are numbers, from 0.
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
