"""Model checks whose commands are declared apart from their games."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from labkit.conformance.check import Check
from labkit.conformance.check import model_check as declare
from labkit.conformance.models.rules import Rules
from labkit.conformance.target import Target

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

LONG_SEQUENCES = 40


@dataclass(frozen=True)
class Model:
    """The rules of a model, the strategy for its commands, and the game that runs them."""

    rules: tuple[str, ...]
    commands: Callable[[], SearchStrategy[Any]]
    game: Callable[[Target, Rules], Any]
    average: int = 20

    def __call__(self, target: Target, rules: Rules) -> Any:
        return self.game(target, rules)


def model_check(name: str, title: str, model: Model, *, needs: Iterable[str] = ()) -> Check:
    """Declare a check that searches a model."""

    def game() -> Any:
        return cast(Any, model)

    game.__module__, game.__name__ = model.commands.__module__, "model"
    return declare(" ".join(model.rules), title, needs=needs)(game)
