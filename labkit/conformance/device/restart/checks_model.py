"""Model check of restarts: random sequences of other areas' models, on a lab with a data file that is restarted.

The state that must survive is that of these models: credentials, values, contents, the Keystore, users, roles, OAuth
sets, subscriptions with their quotas, bindings and pending messages for handsets. A sequence uses one or two of them,
so that each has much state.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.conformance.check import Check, model_seconds, model_steps
from labkit.conformance.device.content import checks as of_contents
from labkit.conformance.device.provisioning import checks as of_credentials
from labkit.conformance.device.write import checks as of_values
from labkit.conformance.interface.subscribers import checks as of_subscriptions
from labkit.conformance.keystore.operations import checks as of_keystore
from labkit.conformance.models.game import Game
from labkit.conformance.models.rules import Differs, Rules
from labkit.conformance.models.search import Findings, Model, search
from labkit.conformance.notify.send import checks as of_notifications
from labkit.conformance.target import LAB_YAML, Target
from labkit.conformance.user.oauth import checks as of_oauth
from labkit.conformance.user.roles import checks as of_roles
from labkit.conformance.user.users import checks as of_users

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

CHECKS = (
    of_credentials.model,
    of_values.model,
    of_contents.model,
    of_keystore.model,
    of_users.model,
    of_roles.model,
    of_oauth.model,
    of_subscriptions.model,
    of_notifications.model,
)
OF_DEVICES = tuple(each.name for each in CHECKS[:3])
MODELS: Mapping[str, Model] = {each.name: each.model for each in CHECKS if each.model is not None}
NAME = "restart/model"
STEPS = 40  # commands, some of them restarts, which take most of the time


class Restarts(Game):
    """One run of the model: the games of other models side by side, each started by its first command."""

    default = "DEV-KEEP-1"

    def __init__(self, target: Target, rules: Rules) -> None:
        super().__init__(target, rules)
        self._games: dict[str, Game] = {}

    @classmethod
    def commands(cls) -> SearchStrategy[Any]:
        """Return the commands of one or two models, the same throughout a sequence, and restarts."""
        from hypothesis import strategies as st

        from labkit.conformance.models.commands import Command, several

        @cache
        def one(name: str) -> SearchStrategy[Any]:
            commands = MODELS[name].game().commands()
            return commands.map(lambda command: Command("one", {"name": name, "command": command}))

        @cache
        def any_of(names: tuple[str, ...]) -> SearchStrategy[Any]:
            return st.one_of(*map(one, names), st.just(Command("restart", {})))

        return st.shared(several(tuple(MODELS), 2, 1, unique=True), key="models").flatmap(any_of)

    async def end(self) -> None:
        for each in self._games.values():
            self._set_clock(each)
            await each.end()

    async def close(self) -> None:
        for each in self._games.values():
            await each.close()

    async def one(self, name: str, command: Any) -> None:
        """Run one command in its model's game, which is created on first use."""
        if name not in self._games:
            begun = self._games[name] = MODELS[name].game()(self._target, self._rules)
            await begun.begin()
            begun.restarted()  # in this sequence or an earlier one
        game = self._games[name]
        self._set_clock(game)
        await game.play(command)
        await game.pause()  # the next command may be another game's, and move the clock on

    def _set_clock(self, game: Game) -> None:
        """Set a game's clock to the current lab time."""
        before, game.clock.now = game.clock.now, Fraction(self._target.lab_time())
        game.passed(before)

    async def restart(self) -> None:
        """Stop the platform abruptly, start it again with its stored data, and compare the devices' state."""
        for each in self._games.values():
            await each.cut()
        of_devices = [game for name, game in self._games.items() if name in OF_DEVICES]
        for game in of_devices:  # differences that exist before it are not due to the restart
            await self._compare_state(game)
        await self._target.settle()
        await self._target.in_lab(self._target.lab.restart)
        await self._target.close_connections()
        for game in of_devices:
            try:
                await self._compare_state(game)
                self._rules.holds("DEV-KEEP-1", "what there was before the restart", True, True)
            except Differs as differs:
                found = differs.mismatch
                self._rules.holds("DEV-KEEP-1", found.what, found.actual, found.expected)

    async def _compare_state(self, game: Game) -> None:
        """Compare the whole state of a game with its model."""
        self._set_clock(game)
        await game.end()


MODEL = Model(
    ("DEV-KEEP-1", *dict.fromkeys(rule for each in MODELS.values() for rule in each.rules)),
    lambda: Restarts,
)


async def play(target: Target) -> Findings:
    """Search the model on a lab of the check's own, with a data file."""
    from labkit.lab.lab import Lab

    with tempfile.TemporaryDirectory() as folder:
        seed = target.seed("restarts")
        lab = await target.in_lab(Lab, seed, config=LAB_YAML, data=Path(folder) / "lab.db")
        try:
            own = Target.local(lab, seed)
            async with own.scope():
                steps = model_steps(NAME, STEPS)
                return await search(MODEL, own, steps=steps, seconds=model_seconds(steps))
        finally:
            await target.in_lab(lab.close)


restarts = Check(
    NAME,
    MODEL.rules,
    "the state of all areas over restarts on a data file, as the models of these areas have it",
    frozenset({"settings", "clock", "journal"}),
    play,
    MODEL,
)
