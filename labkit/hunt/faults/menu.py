"""Menus: which faults a play may have, and how many, for how long. They are drawn from the seed of the play."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from labkit.control.clock import number_of
from labkit.core.errors import LabError, UnknownError, unknown
from labkit.core.extras import needs
from labkit.core.handle import ShortTraceType
from labkit.hunt.draw import Draw
from labkit.hunt.fault_choice import FaultChoice
from labkit.hunt.faults.drawn_faults import DrawnFault
from labkit.hunt.faults.recipes import ORDERS, RECIPES, Bounds, Chooser, Recipe, chosen_sites, usable
from labkit.hunt.faults.sites import Sites
from labkit.hunt.faults.sizes import LEVELS
from labkit.hunt.kinds import KINDS, Under
from labkit.hunt.promises.promise import Promise

MOST = 100  # faults of one play
LONGEST = 86400.0  # seconds of one fault


Kinds = tuple[str, ...]
Possible = tuple[Kinds, Kinds, FaultChoice]  # kinds of the order of things, and of faults; with limits


@dataclass(frozen=True)
class Menu(metaclass=ShortTraceType):
    """A menu of faults: `Menu("wild")`, `Menu(kinds=("requests", "restart"), most=2, longest=30)`.

    level: `calm` (none), `rough` (few, short) or `wild` (many, long), whose values the others replace. kinds: names of
    kinds of faults and of groups, by default all; those of the group `order` are drawn at each level, and do not count.
    As a mapping it has limits of each: `{"calls": {"where": ["Keystore.*", "!*.get"], "delay": (0.5, 30)}}`. without:
    names that are left out, also `in_step`, by which `overlap` has devices act at the same instants. most: number of
    faults of a play; longest: seconds of one, as far as the story leaves time; partial: seconds of one that hits only a
    part, by `every` or `chance`, by default as `longest` where that is given. sites: where faults can hit a story; by
    default a play without faults shows it. Raises LabError for other values.
    """

    level: str = "rough"
    kinds: Under | None = None
    most: int | None = None
    longest: float | None = None
    partial: float | None = None
    sites: Sites | None = None
    without: Iterable[str] = ()
    choice: FaultChoice = field(init=False, repr=False)
    # by the kinds that the promises of a story bear
    _strategies: dict[tuple[Possible, ...], Any] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            raise UnknownError(unknown("level", self.level, LEVELS))
        level = LEVELS[self.level]
        most = level.most if self.most is None else self.most
        longest, partial = level.longest, level.partial
        if self.longest is not None:
            longest = partial = number_of(self.longest, "longest")
        if self.partial is not None:
            partial = number_of(self.partial, "partial")
        if type(most) is not int or not 0 <= most <= MOST:
            raise LabError(f"most: expected a number of faults, 0 to {MOST}, not {most!r}")
        for name, seconds in (("longest", longest), ("partial", partial)):
            if not 0 <= seconds <= LONGEST:
                raise LabError(f"{name}: expected seconds, 0 to {LONGEST:g}, not {seconds!r}")
        without = (self.without,) if isinstance(self.without, str) else tuple(self.without)
        choice = FaultChoice.of(KINDS if self.kinds is None else self.kinds, without)
        kinds = self.kinds if isinstance(self.kinds, Mapping) else tuple(sorted(choice.kinds))
        given = {
            "most": most,
            "longest": longest,
            "partial": partial,
            "kinds": kinds,
            "without": without,
            "choice": choice,
        }
        for name, value in given.items():
            object.__setattr__(self, name, value)

    def faults(self, draw: Draw, promises: tuple[Promise, ...]) -> tuple[DrawnFault, ...]:
        """Return faults for a play, of kinds that one of the promises must bear.

        draw: draws which promise, and the faults; promises: of the story. Raises LabError without `sites`.
        """
        kinds = self.possible(promises)
        if not kinds:
            return ()
        if kinds not in self._strategies:
            self._strategies[kinds] = self._strategy(cast(Sites, self.sites), kinds)
        return draw(self._strategies[kinds])

    def possible(self, promises: tuple[Promise, ...]) -> tuple[Possible, ...]:
        """Return the kinds that can hit the story, of each promise that bears some. Raises LabError without `sites`."""
        sites = self.sites
        if sites is None:
            raise LabError("a menu needs the places of its story: use it as the level of play() or hunt()")
        allowed = [self.choice & each.choice for each in promises] or [self.choice]
        found = ((usable(sites, some, ORDERS), usable(sites, some, RECIPES), some) for some in allowed)
        return tuple(each for each in found if each[0] or (each[1] and self.most))

    def _strategy(self, sites: Sites, kinds: tuple[Possible, ...]) -> Any:
        """Return the strategy of the faults of a play. kinds: of each promise that may be put to the test."""
        with needs("lab"):
            from hypothesis import strategies
        most = self.most or 0
        level = replace(LEVELS[self.level], longest=self.longest or 0.0, partial=self.partial or 0.0)
        bounds = Bounds.of(sites, level)

        # A slot for each fault, which is empty or not, rather than a list: each shrinks to nothing by itself.
        @strategies.composite
        def faults(draw: Callable[[Any], Any]) -> tuple[DrawnFault, ...]:
            choose = Chooser(draw)
            orders, possible, choice = choose.of(kinds)

            def fault(recipes: Mapping[str, Recipe], kinds: Kinds) -> DrawnFault:
                kind = choose.of(kinds)
                site = choose.of(chosen_sites(kind, recipes[kind], sites, choice))
                return DrawnFault(kind, choice.narrowed(kind, recipes[kind].settings(choose, site, bounds)))

            found = [fault(ORDERS, (each,)) for each in orders if choose.number(1)]
            slots = range(most if possible else 0)
            return (*found, *(fault(RECIPES, possible) for _ in slots if choose.number(1)))

        return faults()

    def __str__(self) -> str:
        chosen = "" if self.choice == FaultChoice() else f", {self.choice}"
        return f"{self.level}{chosen}"

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_strategies": {}}
