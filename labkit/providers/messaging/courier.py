"""Background task that delivers accepted notifications to the handsets, in the order of the sends."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from labkit.context import Context
from labkit.core.component import Component
from labkit.faults import ProviderFaults
from labkit.providers.messaging.bindings import Target, delete
from labkit.providers.messaging.faults import Step
from labkit.providers.messaging.handsets import HandsetMessage, Handsets
from labkit.providers.messaging.payloads import Payload

WAITING = 16  # sends in the queue; a further send waits for its answer until there is room
SLICE = 50  # deliveries before the courier yields to other tasks of the loop


@dataclass(frozen=True, slots=True)
class Sending:
    """Accepted send in the courier's queue.

    account, service: sid; time: lab time in seconds; cause: sequence of the journal's record of the request.
    """

    notification: str
    account: str
    service: str
    time: float
    targets: Sequence[Target]
    payloads: Mapping[str, Payload]
    cause: int


class Courier(Component):
    """Queue and background task that deliver one sending after the other."""

    def __init__(self, context: Context, handsets: Handsets, faults: ProviderFaults[Step]) -> None:
        self._context = context
        self._handsets = handsets
        self._faults = faults
        self._queue: asyncio.Queue[Sending]
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._queue = asyncio.Queue(WAITING)  # a queue is bound to the loop on which it was first waited for
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None  # an ended task that is kept costs the end of every later lab

    async def send(self, sending: Sending) -> None:
        """Put a sending into the queue; waits while the queue is full."""
        if not sending.targets:
            return
        self._context.activity.begin()
        try:
            await self._queue.put(sending)
        except BaseException:
            self._context.activity.end()
            raise

    async def _run(self) -> None:
        while True:
            sending = await self._queue.get()
            try:
                for number, target in enumerate(sending.targets, 1):
                    await self._deliver(sending, target)
                    if number % SLICE == 0:
                        await asyncio.sleep(0)
            except Exception as error:  # noqa: BLE001 - the next sending must not suffer
                self._context.journal.record_error(error)
            finally:
                self._context.activity.end()

    async def _deliver(self, sending: Sending, target: Target) -> None:
        fault = self._faults.take("delivery", actor=f"messaging/{sending.account}", cause=sending.cause)
        if fault == "credential rejected":
            self._handsets.refuse(_message(sending, target), "rejected")
        elif fault == "token unregistered":
            self._handsets.refuse(_message(sending, target), "unregistered")
            await self._context.database.run(delete, sending.service, target.sid)
        else:
            self._handsets.deliver(_message(sending, target))
            if fault == "delivered twice":
                self._handsets.deliver(_message(sending, target))


def _message(sending: Sending, target: Target) -> HandsetMessage:
    payload = sending.payloads[target.type]
    return HandsetMessage(
        time=sending.time,
        address=target.address,
        channel=target.type,
        payload=payload.to(target.address),
        headers=payload.headers,
        expires=sending.time + payload.ttl,
        account=sending.account,
        service=sending.service,
        identity=target.identity,
        binding=target.sid,
        notification=sending.notification,
        size=payload.size + len(target.address),
        cause=sending.cause,
    )
