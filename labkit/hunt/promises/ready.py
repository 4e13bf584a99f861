"""Ready promises, which hold for most solutions and firmwares: `nothing_lost()`, `recovers_within(300)` and others."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial, wraps
from typing import ParamSpec

from labkit.core.errors import ArgumentError, LabError
from labkit.core.handle import misfit, short_trace
from labkit.hunt.kinds import KINDS, Under, kinds_of
from labkit.hunt.promises import judges
from labkit.hunt.promises.filters import Statuses
from labkit.hunt.promises.handling import judge_doubled, judge_lost
from labkit.hunt.promises.polling import PollingWatch
from labkit.hunt.promises.promise import Promise, Watch, checked_seconds
from labkit.hunt.promises.reading import Judge, ReadingWatch
from labkit.hunt.promises.recovery import RecoveryWatch
from labkit.hunt.promises.seen import SeenWatch
from labkit.lab.lab import Lab
from labkit.lab.observer import LabObserver

P = ParamSpec("P")
# What the platform itself loses, doubles or refuses under these kinds, no solution and no firmware can mend.
LOSES = kinds_of(("event lost", "platform"))
ANSWER_LOST = kinds_of(("request cut inside", "request cut after", "request error after", "cut off"))
DOUBLES = kinds_of(("event doubled", "platform")) | ANSWER_LOST
FAILS = kinds_of(("call error", "call error after", "outgoing cut", "outgoing error", "provider error"))
REFUSES = kinds_of(("lost credential", "full quota"))


def with_meaning(function: Callable[P, Promise]) -> Callable[P, Promise]:
    """Have the promises of a function mean what the first sentence of its docstring says."""
    sentence = re.match(r"Promise that (.*?)(?:: `.*`)?\.\s", f"{function.__doc__ or ''}\n", re.DOTALL)

    @wraps(function)
    def make(*args: P.args, **kwargs: P.kwargs) -> Promise:
        try:
            promise = function(*args, **kwargs)
        except TypeError as error:
            if (
                error.__traceback__ is None or error.__traceback__.tb_next is not None
            ):  # of the function's own code
                raise
            raise ArgumentError(misfit(function, error, kwargs)) from None
        promise.meaning = " ".join(sentence[1].split()) if sentence else ""
        return promise

    return make


@short_trace
@with_meaning
def nothing_lost(*, name: str = "nothing_lost", under: Under | None = None) -> Promise:
    """Promise that what a device has written reaches the handlers of solutions at least once.

    Broken where a handler that has got events of a product does not get a later one, or fails on it, which loses it:
    nobody calls it again. One that ends without an error counts as having handled it, whatever it does with refused
    calls. name: of the promise; under: kinds of faults under which it must hold, by default all but `event lost` and
    restarts, which lose events of the platform itself.
    """
    return ReadyPromise(name, under, KINDS - LOSES, judge_lost, needs_all=True)


@short_trace
@with_meaning
def nothing_doubled(*, name: str = "nothing_doubled", under: Under | None = None) -> Promise:
    """Promise that what a device has written reaches the handler of a solution at most once.

    Broken where a handler gets an event twice, or a value that a device has recorded twice with the same timestamp.
    Two writes of one value are two datapoints. name: of the promise; under: kinds of faults under which it must hold,
    by default all but `event doubled`, and those after which a device does not know whether its write was stored.
    """
    return ReadyPromise(name, under, KINDS - DOUBLES, judge_doubled)


@short_trace
@with_meaning
def no_script_failed(*, name: str = "no_script_failed", under: Under | None = None) -> Promise:
    """Promise that no script and no handler of a solution ends with an error, or runs for too long.

    One that a restart ends has not failed. name: of the promise; under: kinds of faults under which it must hold, by
    default all.
    """
    return ReadyPromise(name, under, KINDS, judges.judge_scripts)


@short_trace
@with_meaning
def no_unexpected_status(
    allowed: int | str | Iterable[int | str] = (),
    *,
    name: str = "no_unexpected_status",
    under: Under | None = None,
) -> Promise:
    """Promise that devices, and the clients of routes, get no status of an error: `no_unexpected_status(404)`.

    allowed: further statuses, as 404 or `4xx`, beside those below 400. The status of a fault does not count. name: of
    the promise; under: kinds of faults under which it must hold, by default all but lost credentials, full quotas, and
    failed calls, outgoing requests and providers, whose failure a route may pass on.
    """
    given = Statuses.of(allowed).texts
    judge = partial(judges.judge_statuses, allowed=Statuses(("1xx", "2xx", "3xx", *given)))
    return ReadyPromise(name, under, KINDS - REFUSES - FAILS, judge)


@short_trace
@with_meaning
def recovers_within(seconds: float, *, name: str | None = None, under: Under | None = None) -> Promise:
    """Promise that each device of a fleet, and each program, recovers after the last fault: `recovers_within(300)`.

    seconds: of lab time, in which it begins a request that gets no error, or still waits in a poll; longer than the
    firmware sleeps, and than a poll lasts. From then on it must never send nothing for longer than `seconds`, except
    while a poll waits, and the last answer that it gets must be no error. Fleets that still run go on until `seconds`
    after the fault. A device whose run ends earlier counts only if its behaviour has failed, or ended after a request
    without success. Untested in a play without faults. name: of the promise; under: kinds of faults under which it must
    hold, by default all.
    """
    within = checked_seconds(seconds, "recovers_within: seconds")
    return WatchedPromise(
        RecoveryWatch, within, f"recovers_within {within:g} s" if name is None else name, under
    )


@short_trace
@with_meaning
def seen_within(seconds: float, *, name: str | None = None, under: Under | None = None) -> Promise:
    """Promise that a device that polls an alias sees each of its datapoints: `seen_within(60)`.

    seconds: of lab time, from the storage of the datapoint, or from the end of the last fault if that is later; of
    datapoints since the device's first long poll of the alias. A value that replaces one of the same second stands for
    it. Seen is what was sent as the answer to a poll; a read of the alias stands for all earlier values. name: of the
    promise; under: kinds of faults under which it must hold, by default all.
    """
    within = checked_seconds(seconds, "seen_within: seconds")
    return WatchedPromise(SeenWatch, within, f"seen_within {within:g} s" if name is None else name, under)


@short_trace
@with_meaning
def quotas_kept(*, name: str = "quotas_kept", under: Under | None = None) -> Promise:
    """Promise that no solution exceeds a quota of its subscriptions, so that no call is refused for that.

    name: of the promise; under: kinds of faults under which it must hold, by default all but `full quota`.
    """
    return ReadyPromise(name, under, KINDS - kinds_of("full quota"), judges.judge_quotas)


@short_trace
@with_meaning
def requests_bounded(
    most: int, per: float = 60, *, name: str | None = None, under: Under | None = None
) -> Promise:
    """Promise that no device sends a storm of requests: `requests_bounded(10, per=60)`.

    most: requests of a device in any period of `per` seconds of lab time. Requests whose device is not known, as with
    a wrong token, count together, for all devices of the product. name: of the promise; under: kinds of faults under
    which it must hold, by default all.
    """
    if type(most) is not int or most < 0:
        raise LabError(f"requests_bounded: most: expected a number of requests, not {most!r:.100}")
    period = checked_seconds(per, "requests_bounded: per")
    judge = partial(judges.judge_requests, most=most, per=period)
    return ReadyPromise(
        f"requests_bounded {most} per {period:g} s" if name is None else name, under, KINDS, judge
    )


@short_trace
@with_meaning
def keeps_polling(seconds: float, *, name: str | None = None, under: Under | None = None) -> Promise:
    """Promise that a device that polls does not stop polling: `keeps_polling(300)`.

    seconds: of lab time from the beginning of a poll, or from the end of the last fault if that is later, until the
    next poll of the same alias begins; longer than a poll and the time between two of them. Of devices of fleets whose
    run goes on, and of programs of `lab.firmware`; those that still run go on until then. name: of the promise; under:
    kinds of faults under which it must hold, by default all.
    """
    within = checked_seconds(seconds, "keeps_polling: seconds")
    return WatchedPromise(
        PollingWatch, within, f"keeps_polling {within:g} s" if name is None else name, under
    )


@short_trace
@with_meaning
def programs_run(*, name: str = "programs_run", under: Under | None = None) -> Promise:
    """Promise that no program of `lab.firmware` ends by itself.

    It would end by a crash, or with any status. What a fault, a call of the run or `ends=True` ends is no breach. name:
    of the promise; under: kinds of faults under which it must hold, by default all.
    """
    return ReadyPromise(name, under, KINDS, judges.judge_programs)


class ReadyPromise(Promise):
    """Promise that is judged by the journal. judge, needs_all, wait, function: as of `ReadingWatch`."""

    def __init__(
        self,
        name: str,
        under: Under | None,
        default: frozenset[str],
        judge: Judge,
        *,
        needs_all: bool = False,
        wait: float = 0.0,
        function: Callable[..., object] | None = None,
    ) -> None:
        self._take(name, under, default)
        self.function = function
        self._watched: Callable[[str, LabObserver], Watch] = partial(
            ReadingWatch, judge=judge, needs_all=needs_all, wait=wait, function=function
        )

    def watch(self, lab: Lab) -> Watch:
        return self._watched(self.name, LabObserver(lab))


class WatchedPromise(Promise):
    """Promise whose watch follows the devices. kind: of the watch; within: seconds."""

    def __init__(
        self,
        kind: Callable[[str, LabObserver, float], Watch],
        within: float,
        name: str,
        under: Under | None,
    ) -> None:
        self._take(name, under)
        self._kind = kind
        self._within = within

    def watch(self, lab: Lab) -> Watch:
        return self._kind(self.name, LabObserver(lab), self._within)
