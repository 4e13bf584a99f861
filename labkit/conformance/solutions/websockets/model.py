"""Reference model of the websockets of two solutions."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class ModelSocket:
    """A websocket. solution: number of its solution; steps: events of its script; due: messages that it gets next."""

    key: str
    solution: int
    is_open: bool = True
    steps: list[str] = field(default_factory=lambda: ["open"])
    due: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        """Have the script handle a message, which it answers with the same."""
        self.steps.append("data")
        self.due.append(text)

    def close(self) -> None:
        """End the websocket."""
        self.is_open = False
        self.steps.append("close")


class ModelSockets:
    """All websockets, in the order in which they were opened."""

    def __init__(self) -> None:
        self.all: list[ModelSocket] = []

    def open(self, key: str, solution: int) -> ModelSocket:
        """Open a websocket at a solution."""
        self.all.append(ModelSocket(key, solution))
        return self.all[-1]

    def listed(self, solution: int) -> list[str]:
        """Return the keys of a solution's open websockets."""
        return [each.key for each in self.all if each.solution == solution and each.is_open]

    @staticmethod
    def status(caller: int, socket: ModelSocket) -> int:
        """Return the status of an operation on a websocket, called by a script of a solution."""
        if caller != socket.solution:
            return 404
        return 200 if socket.is_open else 500
