"""Driver of the model of websockets: clients of two solutions, and calls of their scripts."""

from __future__ import annotations

import asyncio
from typing import Any

from labkit.conformance.device_client import GRACE
from labkit.conformance.models.commands import Commands
from labkit.conformance.models.game import Game
from labkit.conformance.models.rules import Rules
from labkit.conformance.probe import PROBE, WITNESS, Service
from labkit.conformance.solutions.websockets.client import socket_id, steps
from labkit.conformance.solutions.websockets.model import ModelSocket, ModelSockets
from labkit.conformance.target import Target
from labkit.fleet.websocket import WebsocketClient, open_websocket

SOLUTIONS = (PROBE, WITNESS)
MOST_OPEN = 6  # in one run
TEXTS = ("a", "é \0 😀", "x" * 126, " ", "0")

command = Commands(index=(0, 0, 1), caller=(0, 0, 1), place=range(6), text=TEXTS)


class Websockets(Game):
    """One run of the model."""

    default = "SOL-WS-4"

    def __init__(self, target: Target, rules: Rules) -> None:
        super().__init__(target, rules)
        self._calls = [Service(target, "Websocket", each) for each in SOLUTIONS]
        self._names = [target.client(each).name for each in SOLUTIONS]
        self._model = ModelSockets()
        self._clients: list[WebsocketClient] = []
        self._ids: list[str] = []

    @command()
    async def open(self, index: int) -> None:
        """Open a websocket."""
        if len(self._clients) < MOST_OPEN:
            key = self._target.identity()
            client = await open_websocket(self._target.address, self._names[index], f"/socket/{key}")
            self._clients.append(client)
            self._model.open(key, index)
            self._ids.append(await socket_id(self._target, key, SOLUTIONS[index]))

    @command()
    async def say(self, place: int, text: str) -> None:
        """Send a message to the script, if the websocket is open."""
        if (found := self._at(place)) is not None and found[1].is_open:
            client, socket, _ = found
            await client.send(text)
            socket.say(text)
            await self._receive(client, socket, "SOL-WS-3")

    @command()
    async def push(self, caller: int, place: int, text: str) -> None:
        """Send a message from a script, also of the other solution."""
        if (found := self._at(place)) is not None:
            client, socket, id = found
            if await self._operate(caller, socket, "send", {"socket_id": id, "message": text}) == 200:
                socket.due.append(text)
                await self._receive(client, socket, "SOL-WS-4")

    @command()
    async def close_by_script(self, caller: int, place: int) -> None:
        """End a websocket from a script, also of the other solution."""
        if (found := self._at(place)) is not None:
            client, socket, id = found
            if await self._operate(caller, socket, "close", {"socket_id": id}) == 200:
                socket.close()
                await asyncio.wait_for(client.close(), GRACE)

    @command()
    async def leave(self, place: int) -> None:
        """End a websocket as its client."""
        if (found := self._at(place)) is not None and found[1].is_open:
            client, socket, _ = found
            await client.close()
            socket.close()
            await steps(self._target, socket.key, len(socket.steps), SOLUTIONS[socket.solution])

    @command()
    async def list_open(self, index: int) -> None:
        """List the websockets of a solution."""
        _, found = await self._calls[index].call("Websocket", "list", {})
        keys = {id: socket.key for id, socket in zip(self._ids, self._model.all, strict=True)}
        seen = [keys[each] for each in found if each in keys]
        self._rules.holds(
            "SOL-WS-4", "open websockets", seen, self._model.listed(index), self._calls[index].last
        )

    async def end(self) -> None:
        for client, socket in zip(self._clients, self._model.all, strict=True):
            if socket.is_open:
                await client.close()
                socket.close()
            seen = await steps(self._target, socket.key, len(socket.steps), SOLUTIONS[socket.solution])
            self._rules.holds("SOL-WS-2", "events of a websocket", seen, socket.steps)

    async def close(self) -> None:
        for each in self._clients:
            await each.close()

    def _at(self, place: int) -> tuple[WebsocketClient, ModelSocket, str] | None:
        """Return one of the websockets, None if there is none."""
        if not self._clients:
            return None
        number = place % len(self._clients)
        return self._clients[number], self._model.all[number], self._ids[number]

    async def _operate(self, caller: int, socket: ModelSocket, operation: str, given: dict[str, Any]) -> int:
        """Call an operation and return the status that the model has for it."""
        calls = self._calls[caller]
        wanted = self._model.status(caller, socket)
        _, result = await calls.call("Websocket", operation, given)
        status = result.get("status", 200) if isinstance(result, dict) else 200
        rule = self.default if wanted == 200 else "SOL-WS-5"
        self._rules.holds(rule, f"status of {operation}", status, wanted, calls.last)
        return wanted

    async def _receive(self, client: WebsocketClient, socket: ModelSocket, rule: str) -> None:
        """Compare the next message with that of the model."""
        wanted = socket.due.pop(0)
        try:
            found = await asyncio.wait_for(client.receive(), GRACE)
        except TimeoutError:
            found = None
        self._rules.holds(rule, "a message", found, wanted)
