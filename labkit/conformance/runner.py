"""Runner of checks: one after the other, in isolation; each gets a verdict, whatever exception ends it."""

from __future__ import annotations

import asyncio
import re
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Any, Protocol

from labkit.conformance.catalogue import Catalogue
from labkit.conformance.check import CLEANUP_SECONDS, Check, patience
from labkit.conformance.expect import exchange, exchanges, keeping
from labkit.conformance.models.search import Findings
from labkit.conformance.set_up import SetUpError
from labkit.conformance.target import Target
from labkit.conformance.unreadable import UNREADABLE, unreadable
from labkit.conformance.verdict import Mismatch, NotReached, Outcome, Unavailable, Verdict
from labkit.conformance.waiting import Wait, waiting
from labkit.core.code_lines import defined_at, raised_at, with_line
from labkit.core.errors import OwnProcessError
from labkit.fleet.device import DeviceError
from labkit.fleet.ending import error_text
from labkit.lab.portal import Portal

NEVER_AWAITED = re.compile(r"coroutine '(.*)' was never awaited(?s:.*)")  # a warning of Python
MISFIT = re.compile(r"\w\(\) (missing|takes|got an unexpected)")  # arguments of a call that the check wrote
VALUES = (dict, list, str, bytes, int, float, type(None))  # what an answer may be read as
Progress = Callable[[Verdict], object]


class Play(Protocol):
    """Function that runs checks and returns their verdicts. progress: called with each verdict."""

    def __call__(self, checks: Iterable[Check], progress: Progress = ...) -> list[Verdict]: ...


def run(
    checks: Iterable[Check], target: Target, catalogue: Catalogue, progress: Progress = lambda verdict: None
) -> list[Verdict]:
    """Run checks against a target, from plain code or a notebook cell. progress: called with each verdict."""
    with player(target, catalogue) as play:
        return play(checks, progress)


@contextmanager
def player(target: Target, catalogue: Catalogue) -> Iterator[Play]:
    """Provide a function that runs checks, for several runs on one event loop."""

    async def all_of_them(checks: Iterable[Check], progress: Progress) -> list[Verdict]:
        verdicts = []
        async with target.lasting_connections():
            for each in checks:
                verdicts.append(await run_one(each, target, catalogue))
                progress(verdicts[-1])
        return verdicts

    # a thread of its own, since a notebook's runs an event loop already
    with closing(Portal()) as portal:

        def play(checks: Iterable[Check], progress: Progress = lambda verdict: None) -> list[Verdict]:
            return portal.run(all_of_them, checks, progress)

        yield play


@contextmanager
def forgotten_awaits() -> Iterator[list[str]]:
    """Provide a list of the names of coroutines that this thread makes in this context and never awaits."""
    names: list[str] = []
    thread, others = threading.get_ident(), warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        match = NEVER_AWAITED.fullmatch(str(message))
        if match is None or threading.get_ident() != thread:
            others(message, category, *place, **more)
        else:
            names.append(match[1])

    with warnings.catch_warnings():
        warnings.filterwarnings("always", NEVER_AWAITED.pattern, RuntimeWarning)
        warnings.showwarning = show
        yield names


async def run_one(check: Check, target: Target, catalogue: Catalogue) -> Verdict:
    """Run one check and return its verdict: broken, whatever came of it, if it forgot to await something."""
    with forgotten_awaits() as forgotten:
        verdict = await _run_one(check, target, catalogue)
    if not forgotten:
        return verdict
    reason = with_line(
        f"the request was not awaited: write `await` before its call ({forgotten[0]})",
        defined_at(check.function),
    )
    return Verdict(
        check.name, check.requirements, check.title, "broken", reason=reason, seconds=verdict.seconds
    )


async def _run_one(check: Check, target: Target, catalogue: Catalogue) -> Verdict:
    """Run one check and return its verdict, without regard to coroutines that it never awaits."""
    began = time.perf_counter()

    def verdict(outcome: Outcome, **details: Any) -> Verdict:
        took = time.perf_counter() - began
        return Verdict(check.name, check.requirements, check.title, outcome, **details, seconds=took)

    def broken(reason: str) -> Verdict:
        """Return a broken verdict; for a model check it also says that none of the rules was reached."""
        return verdict(
            "broken", reason=reason, outcomes={} if check.model is None else _not_reached(check.requirements)
        )

    if missing := check.needs - target.offers:
        return verdict("skipped", reason=f"no {', no '.join(sorted(missing))}")
    if stuck := target.stuck:
        reason = f"the lab has not come back from what {stuck[0]} asked of it"
        return verdict("not reached", reason=reason, cause=stuck[1])
    seconds = patience(check)
    limit = asyncio.timeout(seconds)
    try:
        async with asyncio.timeout(seconds + CLEANUP_SECONDS), target.scope(), limit:
            with keeping() as compared:
                found = await check.function(target)
                shown = exchanges(compared)
    except (Unavailable, OwnProcessError) as unavailable:
        return verdict("skipped", reason=str(unavailable))
    except NotReached as reached:
        return verdict("not reached", cause=reached.cause, **_details(reached.mismatch, f"{reached.cause}: "))
    except SetUpError as error:
        return broken(str(error))
    except Exception as error:  # noqa: BLE001 - whatever is raised, the next check must still run
        late = waiting(error) if isinstance(error, TimeoutError) and limit.expired() else None
        if late is not None and late.lab:
            target.mark_stuck(check.name, check.requirements[0])
        fault = _fault(error, late, seconds, asked=target.was_asked)
        # Python warns of a coroutine that was never awaited once nothing refers to it any more.
        traceback.clear_frames(error.__traceback__)
        if fault is None:  # the check itself is at fault
            return broken(
                with_line(error_text(error), "" if check.model else raised_at(check.function, error)[0])
                if late is None
                else f"no end within {seconds:g} s: {late.where}"
            )
        only_choices = all(catalogue[each].level == "choice" for each in check.requirements)
        return verdict("warned" if only_choices else "failed", **_details(fault))
    return verdict("passed", exchanges=shown) if found is None else _of_model(found, catalogue, verdict)


def _of_model(found: Findings, catalogue: Catalogue, verdict: Callable[..., Verdict]) -> Verdict:
    """Return the verdict on a model's findings: the worst difference, and the outcome of each rule that did not pass.

    Only the rules that differed are blamed: the comparisons by other rules no longer count, since a target that
    departs from the model once may be in another state than the model from then on.
    """
    if not found.differences and not found.compared:
        return verdict("broken", reason=f"the model compared nothing within {found.seconds:.0f} s")
    if not found.differences:
        unseen: dict[str, Outcome] = {each: "skipped" for each in found.rules if each not in found.compared}
        return verdict("passed", outcomes=unseen)
    rules = _not_reached(found.rules)
    for each in found.differences:
        rules[each.requirement] = "warned" if catalogue[each.requirement].level == "choice" else "failed"
    worst = min(found.differences, key=lambda each: rules[each.requirement])  # failed before warned
    others = [f"{each.requirement}: {each.mismatch}" for each in found.differences if each is not worst]
    details = _details(worst.mismatch, f"{worst.requirement}: ")
    details["exchange"] = "\n".join([worst.story(), *(["", "also different:", *others] if others else [])])
    return verdict(rules[worst.requirement], **details, outcomes=rules)


def _not_reached(rules: Iterable[str]) -> dict[str, Outcome]:
    return dict.fromkeys(rules, "not reached")


def _details(mismatch: Mismatch, before: str = "") -> dict[str, str]:
    """Return the fields of a verdict that show a mismatch. before: a prefix of its reason."""
    return {
        "reason": before + mismatch.what,
        "expected": mismatch.expected,
        "actual": mismatch.actual,
        "exchange": mismatch.exchange,
    }


def _fault(error: Exception, late: Wait | None, seconds: float, *, asked: bool) -> Mismatch | None:
    """Return the target's fault that an exception shows, or None if the check itself is at fault.

    The target is at fault if it differs, refuses a device, closes a connection, answers in a form that the check
    cannot read, or does not answer. late: what the check was waiting for when its time, in seconds, was over; asked:
    whether the check sent the target any request.
    """
    import httpx

    if late is not None:
        return (
            Mismatch("an answer", f"one within {seconds:g} s", f"none: {late.where}") if late.target else None
        )
    if isinstance(error, Mismatch):
        return error
    if isinstance(error, DeviceError):
        return Mismatch(error.action, "that it is served", error.status, exchange(error.response))
    if isinstance(error, httpx.RequestError) and not isinstance(error, httpx.ConnectError):
        request = f"{error.request.method} {error.request.url.raw_path.decode()}"
        return Mismatch(request, "an answer", f"{type(error).__name__} {error}".rstrip())
    is_mistake = not isinstance(getattr(error, "obj", None), VALUES) or MISFIT.search(str(error))
    if isinstance(error, UNREADABLE) and asked and not is_mistake:
        return unreadable(error)
    return None
