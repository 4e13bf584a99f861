"""Model check of websockets: messages, pushes and ends in two solutions, in random order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labkit.conformance.old_models import Model, model_check
from labkit.conformance.solutions.websockets.game import WebsocketGame

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

TEXTS = ("a", "é \0 😀", "x" * 126, " ", "0")


@dataclass(frozen=True)
class OpenSocket:
    """Open a websocket."""

    solution: int

    async def __call__(self, game: WebsocketGame) -> None:
        await game.open(self.solution)


@dataclass(frozen=True)
class Say:
    """Send a message as a client."""

    place: int
    text: str

    async def __call__(self, game: WebsocketGame) -> None:
        await game.say(self.place, self.text)


@dataclass(frozen=True)
class PushText:
    """Send a message from a script."""

    solution: int
    place: int
    text: str

    async def __call__(self, game: WebsocketGame) -> None:
        await game.push(self.solution, self.place, self.text)


@dataclass(frozen=True)
class CloseByScript:
    """End a websocket from a script."""

    solution: int
    place: int

    async def __call__(self, game: WebsocketGame) -> None:
        await game.close_by_script(self.solution, self.place)


@dataclass(frozen=True)
class LeaveSocket:
    """End a websocket as its client."""

    place: int

    async def __call__(self, game: WebsocketGame) -> None:
        await game.leave(self.place)


@dataclass(frozen=True)
class ListOpen:
    """List the open websockets of a solution."""

    solution: int

    async def __call__(self, game: WebsocketGame) -> None:
        await game.list_open(self.solution)


def commands() -> SearchStrategy[Any]:
    """Return the commands of clients, and calls of scripts."""
    from hypothesis import strategies as st

    solutions, places, texts = st.sampled_from([0, 0, 1]), st.integers(0, 5), st.sampled_from(TEXTS)
    return st.one_of(
        st.builds(OpenSocket, solutions),
        st.builds(OpenSocket, solutions),
        st.builds(Say, places, texts),
        st.builds(Say, places, texts),
        st.builds(PushText, solutions, places, texts),
        st.builds(PushText, solutions, places, texts),
        st.builds(CloseByScript, solutions, places),
        st.builds(LeaveSocket, places),
        st.builds(ListOpen, solutions),
    )


RULES = "SOL-WS-2 SOL-WS-3 SOL-WS-4 SOL-WS-5"

websockets = model_check(
    "websockets/model",
    "websockets of two solutions that are opened, used and ended, as a model has them",
    Model(tuple(RULES.split()), commands, WebsocketGame),
)
