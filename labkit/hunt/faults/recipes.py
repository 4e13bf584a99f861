"""Recipes by which each kind of fault is drawn: where, for whom, when, for how long, and how often.

The first option of each choice is the simplest, to which hypothesis cuts a failure down: an early, short fault that
hits one device once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from labkit.core.extras import needs
from labkit.hunt.fault_choice import FaultChoice
from labkit.hunt.faults.sites import FaultSite, Sites
from labkit.hunt.faults.sizes import CHANCES, FEWEST, MOST_TIMES, SHORTEST, Level, steps
from labkit.providers.messaging.faults import FAULTS as OF_MESSAGING
from labkit.providers.social.faults import FAULTS as OF_SOCIAL
from labkit.settings.fault_values import MAX_VALUES

T = TypeVar("T")
Settings = dict[str, Any]

SHARE = 0.6  # of the story, in which all faults lie, so that the rest shows the recovery
STATUSES = (503, 500, 429)
SPANS = ([0.001, 0.05], [0.5, 5.0])  # seconds of calls that overlap
REAL_TIME = ("slow",)  # a provider's fault that real time ends
OF_PEOPLE = ("deny", "wrong state")  # a provider's faults that no solution meets without a person


class Chooser:
    """Drawer of choices. draw: draws from a strategy of hypothesis."""

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        self._draw = draw

    def number(self, most: int) -> int:
        """Return a number from 0 to `most`, of which 0 is the simplest."""
        return int(self._draw(_up_to(most))) if most else 0

    def of(self, options: Sequence[T]) -> T:
        """Return one of the options, of which the first is the simplest."""
        return options[self.number(len(options) - 1)]


@cache
def _up_to(most: int) -> Any:
    with needs("lab"):
        from hypothesis import strategies
    return strategies.integers(0, most)


@dataclass(frozen=True)
class Bounds:
    """Bounds of the times of faults. limit: seconds of the story after which none begins or lasts; level: of sizes."""

    limit: float
    level: Level

    @classmethod
    def of(cls, sites: Sites, level: Level) -> Bounds:
        """Return the bounds for a story with these places."""
        return cls(SHARE * sites.seconds, level)

    def lengths(self, most: float) -> tuple[float, ...]:
        """Return the possible lengths of a fault, the shortest first, at most `most` seconds."""
        return steps(min(self.level.longest, most))

    def delays(self) -> tuple[float, ...]:
        """Return the possible delays of a fault, the shortest first."""
        return steps(min(self.level.delays[-1], self.limit / 2))


@dataclass(frozen=True)
class Recipe:
    """Recipe by which a kind of fault is drawn.

    sites: where it can hit; settings: draws them for a place.
    """

    sites: Callable[[Sites], Sequence[FaultSite]]
    settings: Callable[[Chooser, FaultSite, Bounds], Settings]


def chosen_sites(kind: str, recipe: Recipe, sites: Sites, choice: FaultChoice) -> list[FaultSite]:
    """Return the places at which faults of a kind may be drawn."""
    return [
        each
        for each in recipe.sites(sites)
        if choice.has_place(
            kind,
            {
                "where": each.request if kind == "provider delay" else each.where,
                "product": each.product,
                "solution": each.solution,
                "program": each.where,
            },
        )
    ]


def usable(sites: Sites, choice: FaultChoice, recipes: Mapping[str, Recipe]) -> tuple[str, ...]:
    """Return the chosen kinds that can hit a story, the simplest first. recipes: of the kinds."""
    return tuple(
        name
        for name, each in recipes.items()
        if name in choice.kinds and chosen_sites(name, each, sites, choice)
    )


# ---- when and how often, for whom


def _when(choose: Chooser, moments: Sequence[float], last: float) -> float:
    """Return a moment until `last`: one at which something was at the place, or any whole second."""
    fitting = [each for each in moments if each <= last] or [0.0]
    if choose.number(3) < 3:
        return choose.of(fitting)
    return float(choose.number(int(max(0.0, last))))


def _period(
    choose: Chooser, moments: Sequence[float], bounds: Bounds, lasting: float = 0.0, *, is_once: bool = False
) -> Settings:
    """Return when a fault hits, and how often. lasting: seconds for which the effect lasts; is_once: whether one hit
    is enough.
    """
    last = bounds.limit - lasting
    after = _when(choose, moments, last)
    rest = max(last - after, SHORTEST)
    found: Settings = {} if after < SHORTEST else {"after": after}
    often = "once" if is_once else choose.of(("once", "each time", "burst", "every", "chance"))
    if often in ("once", "burst"):
        first = 1 if often == "once" else _times(choose)
        return found | {"first": first, "seconds": _seconds(rest)}
    lengths = bounds.lengths(rest) if often == "each time" else steps(min(bounds.level.partial, rest))
    found["seconds"] = choose.of(lengths)
    if often == "every":
        return found | {"every": _times(choose)}
    return found | ({"chance": choose.of(CHANCES)} if often == "chance" else {})


def _times(choose: Chooser) -> int:
    """Return the number of hits of a burst, or the number of which the last is hit."""
    return FEWEST + choose.number(MOST_TIMES - FEWEST)


def _seconds(value: float) -> float:
    return max(SHORTEST, round(value, 6))


def _whom(choose: Chooser, identities: Sequence[str], most: int | None = None) -> list[str] | None:
    """Return some of the devices: one, every second one, or None for all. most: number of names that are possible."""
    if not identities:
        return None
    share = choose.number(2) if len(identities) > 1 else 0
    if share == 0:
        return [choose.of(identities)]
    return list(identities[::2][:most]) if share == 1 else None


def _scope(choose: Chooser, site: FaultSite) -> Settings:
    """Return the place and the scope of a fault of a lab."""
    found: Settings = {"where": site.where}
    if site.product is not None:
        found["product"] = site.product
        if (whom := _whom(choose, site.identities, MAX_VALUES)) is not None:
            found["identity"] = whom
    if site.solution is not None:
        found["solution"] = site.solution
    return found


# ---- settings


def _plain(*options: Settings) -> Callable[[Chooser, FaultSite, Bounds], Settings]:
    """Return the recipe of a fault at a place that does one of these."""

    def settings(choose: Chooser, site: FaultSite, bounds: Bounds) -> Settings:
        scope = _scope(choose, site)
        action = choose.of(options)
        return scope | action | _period(choose, site.moments, bounds)

    return settings


def _waiting(key: str, *others: Settings) -> Callable[[Chooser, FaultSite, Bounds], Settings]:
    """Return the recipe of a fault that delays by `key`. others: what it does instead."""

    def settings(choose: Chooser, site: FaultSite, bounds: Bounds) -> Settings:
        scope = _scope(choose, site)
        seconds = choose.of(bounds.delays())
        return (
            scope
            | {key: seconds}
            | choose.of(others or ({},))
            | _period(choose, site.moments, bounds, seconds)
        )

    return settings


def _doubled(choose: Chooser, site: FaultSite, bounds: Bounds) -> Settings:
    scope = _scope(choose, site)
    late = choose.of((0.0, *bounds.delays()))
    action: Settings = {"doubled": True} | ({"late": late} if late else {})
    return scope | action | _period(choose, site.moments, bounds, late)


def _of_scripts(
    recipe: Callable[[Chooser, FaultSite, Bounds], Settings],
) -> Callable[[Chooser, FaultSite, Bounds], Settings]:
    """Return the recipe of a fault that leaves the calls of the story itself alone."""
    return lambda choose, site, bounds: recipe(choose, site, bounds) | {"scripts": True}


def _restart(choose: Chooser, site: FaultSite, bounds: Bounds) -> Settings:
    down = choose.of((0.0, *bounds.lengths(bounds.limit / 2)))
    return {"after": _when(choose, site.moments, bounds.limit - down), "down": down}


def _restart_at(choose: Chooser, site: FaultSite, bounds: Bounds) -> Settings:
    scope = _scope(choose, site)
    down = choose.of((0.0, *bounds.lengths(bounds.limit / 2)))
    return scope | {"restart": True, "down": down} | _period(choose, site.moments, bounds, down, is_once=True)


def _restart_at_call(choose: Chooser, site: FaultSite, bounds: Bounds) -> Settings:
    return _restart_at(choose, site, bounds) | choose.of(({}, {"when": "after"}))


def _provider_delay(choose: Chooser, site: FaultSite, bounds: Bounds) -> Settings:
    seconds = choose.of(bounds.delays())
    place = {"where": site.request, "site": site.host, "delay": seconds}
    return place | _period(choose, site.moments, bounds, seconds)


def _provider_error(choose: Chooser, site: FaultSite, bounds: Bounds) -> Settings:
    _, name, step = site.where.split(" ")
    known: Mapping[str, Sequence[str]] = OF_MESSAGING if name == "messaging" else OF_SOCIAL
    able = [each for each, steps in known.items() if step in steps and each not in (*REAL_TIME, *OF_PEOPLE)]
    does = choose.of(sorted(able, key=lambda each: each != "server error"))
    return {"where": site.where, "does": does} | _period(choose, site.moments, bounds)


def _full_quota(choose: Chooser, site: FaultSite, bounds: Bounds) -> Settings:
    service = site.where.partition(".")[0]
    text = f"The daily quota of {service} is used up: calls_daily is 100."
    if service == "Keystore":
        text = "Key count quota reached: 100 of 100 keys are in use."
    after = _when(choose, site.moments, bounds.limit)
    rest = max(bounds.limit - after, SHORTEST)
    return {
        **_scope(choose, site),
        **({} if site.given is None else {"if_given": dict(site.given)}),
        **({} if after < SHORTEST else {"after": after}),
        "status": 403,
        "body": text,
        "seconds": choose.of(bounds.lengths(rest)),
    }


def _of_devices(choose: Chooser, site: FaultSite, seconds: float | None, after: float | None) -> Settings:
    whom = _whom(choose, site.identities)
    return {
        "products": site.product,
        **({} if whom is None else {"devices": whom}),
        **({} if seconds is None else {"seconds": seconds}),
        **({} if after is None else {"after": max(SHORTEST, after)}),
    }


def _wrong_clock(choose: Chooser, site: FaultSite, bounds: Bounds) -> Settings:
    step = choose.of([sign * each for each in bounds.level.clocks for sign in (1, -1)])
    return _of_devices(choose, site, step, _when(choose, site.moments, bounds.limit))


def _lost_credential(choose: Chooser, site: FaultSite, bounds: Bounds) -> Settings:
    return _of_devices(choose, site, None, _when(choose, site.moments, bounds.limit))


def _late_start(choose: Chooser, site: FaultSite, bounds: Bounds) -> Settings:
    return _of_devices(choose, site, choose.of(bounds.lengths(bounds.limit)), None)


def _cut_off(choose: Chooser, site: FaultSite, bounds: Bounds) -> Settings:
    seconds = choose.of(bounds.lengths(bounds.limit))
    return _of_devices(choose, site, seconds, _when(choose, site.moments, bounds.limit - seconds))


def _of_program(choose: Chooser, site: FaultSite, down: float | None, bounds: Bounds) -> Settings:
    """Return the settings of a fault of a program, after its start. down: seconds until it runs again."""
    started = site.moments[0]
    after = _when(choose, [each for each in site.moments if each > started], bounds.limit - (down or 0.0))
    found: Settings = {"program": site.where, "after": max(after, _seconds(started + SHORTEST))}
    return found if down is None else found | {"down": down}


def _program_restart(choose: Chooser, site: FaultSite, bounds: Bounds) -> Settings:
    return _of_program(choose, site, choose.of((0.0, *bounds.lengths(bounds.limit / 2))), bounds)


def _program_power_cut(choose: Chooser, site: FaultSite, bounds: Bounds) -> Settings:
    return _of_program(choose, site, choose.of(bounds.lengths(bounds.limit / 2)), bounds)


def _program_credential_lost(choose: Chooser, site: FaultSite, bounds: Bounds) -> Settings:
    return _of_program(choose, site, None, bounds)


def _overlap(choose: Chooser, site: FaultSite, bounds: Bounds) -> Settings:
    return {"calls": choose.of(SPANS), "in_step": choose.of((True, False))}


# ---- kinds


def _somewhere(sites: Sites) -> Sequence[FaultSite]:
    """Return one place for what hits the whole platform: any moment of the story."""
    return (FaultSite("", moments=sites.moments),)


_errors: tuple[Settings, ...] = tuple({"status": each} for each in STATUSES)
_errors_after: tuple[Settings, ...] = tuple({"status": each, "when": "after"} for each in STATUSES)

RECIPES: Mapping[str, Recipe] = {
    "request delay": Recipe(lambda sites: sites.requests, _waiting("delay", {}, {"when": "after"})),
    "request lost": Recipe(
        lambda sites: sites.requests,
        _plain({"cut": "before"}),
    ),
    "request cut after": Recipe(
        lambda sites: sites.requests,
        _plain({"cut": "after"}),
    ),
    "request cut inside": Recipe(
        lambda sites: [each for each in sites.requests if each.has_body],
        _plain({"cut": "inside"}),
    ),
    "request error": Recipe(lambda sites: sites.requests, _plain(*_errors)),
    "request error after": Recipe(lambda sites: sites.requests, _plain(*_errors_after)),
    "event delay": Recipe(lambda sites: sites.events, _waiting("delay")),
    "event late": Recipe(lambda sites: sites.events, _waiting("late")),
    "event doubled": Recipe(lambda sites: sites.events, _doubled),
    "event lost": Recipe(lambda sites: sites.events, _plain({"lost": True})),
    "call delay": Recipe(
        lambda sites: sites.calls,
        _of_scripts(_waiting("delay", {}, {"when": "after"})),
    ),
    "call error": Recipe(lambda sites: sites.calls, _of_scripts(_plain(*_errors))),
    "call error after": Recipe(
        lambda sites: sites.calls,
        _of_scripts(_plain(*_errors_after)),
    ),
    "message delay": Recipe(lambda sites: sites.messages, _waiting("delay")),
    "message lost": Recipe(lambda sites: sites.messages, _plain({"lost": True})),
    "message doubled": Recipe(lambda sites: sites.messages, _plain({"doubled": True})),
    "message cut": Recipe(lambda sites: sites.messages, _plain({"cut": "before"}, {"cut": "after"})),
    "outgoing delay": Recipe(lambda sites: sites.outgoing, _waiting("delay")),
    "outgoing cut": Recipe(
        lambda sites: sites.outgoing,
        _plain({"cut": "before"}, {"cut": "after"}),
    ),
    "outgoing error": Recipe(lambda sites: sites.outgoing, _plain(*_errors)),
    "provider delay": Recipe(lambda sites: sites.providers, _provider_delay),
    "provider error": Recipe(
        lambda sites: sites.providers,
        _provider_error,
    ),
    "restart": Recipe(_somewhere, _restart),
    "restart at call": Recipe(
        lambda sites: sites.calls,
        _of_scripts(_restart_at_call),
    ),
    "restart at event": Recipe(lambda sites: sites.events, _restart_at),
    "wrong clock": Recipe(lambda sites: sites.devices, _wrong_clock),
    "late start": Recipe(lambda sites: sites.devices, _late_start),
    "cut off": Recipe(lambda sites: sites.devices, _cut_off),
    "lost credential": Recipe(lambda sites: sites.devices, _lost_credential),
    "program restart": Recipe(lambda sites: sites.programs, _program_restart),
    "program power cut": Recipe(lambda sites: sites.programs, _program_power_cut),
    "program credential lost": Recipe(lambda sites: sites.programs, _program_credential_lost),
    "full quota": Recipe(
        lambda sites: sites.quotas,
        _of_scripts(_full_quota),
    ),
}

# What is no fault, but changes what overlaps and in which order: of the whole story, at every level.
ORDERS: Mapping[str, Recipe] = {
    "overlap": Recipe(lambda sites: sites.calls, _overlap),
    "handler order": Recipe(
        lambda sites: sites.events if len(sites.solutions) > 1 else (),
        lambda choose, site, bounds: {"order": "random"},
    ),
}
