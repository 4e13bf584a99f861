"""Running checks: one after the other, each on its own, each with a verdict whatever happens."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable

from labkit.conformance.catalogue import Catalogue
from labkit.conformance.check import Check
from labkit.conformance.target import Target
from labkit.conformance.verdict import Mismatch, Unavailable, Verdict

PATIENCE = 60.0  # seconds of real time for one check; then it counts as broken


def run(
    checks: Iterable[Check],
    target: Target,
    catalogue: Catalogue,
    progress: Callable[[Verdict], object] = lambda verdict: None,
) -> list[Verdict]:
    """Run checks against a target, from plain code or a notebook cell. `progress` gets each verdict as it falls."""
    from anyio.from_thread import start_blocking_portal

    async def all_of_them() -> list[Verdict]:
        verdicts = []
        for each in checks:
            verdicts.append(await run_one(each, target, catalogue))
            progress(verdicts[-1])
        return verdicts

    with start_blocking_portal() as portal:  # a cell has a loop of its own running in its thread
        return portal.call(all_of_them)


async def run_one(check: Check, target: Target, catalogue: Catalogue) -> Verdict:
    """Run one check."""
    missing = check.needs - target.offers
    if missing:
        return _verdict(check, "skipped", reason=f"no {', no '.join(sorted(missing))}")
    began = time.perf_counter()
    try:
        async with target.stage(), asyncio.timeout(PATIENCE):
            await check.function(target)
        verdict = _verdict(check, "passed")
    except Mismatch as mismatch:
        only_choices = all(catalogue[id].level == "choice" for id in check.requirements)
        verdict = _verdict(
            check,
            "warned" if only_choices else "failed",
            reason=mismatch.what,
            expected=mismatch.expected,
            actual=mismatch.actual,
            exchange=mismatch.exchange,
        )
    except Unavailable as unavailable:
        verdict = _verdict(check, "skipped", reason=str(unavailable))
    except Exception as error:  # whatever it is, it is ours: the next check must still run
        verdict = _verdict(check, "broken", reason=f"{type(error).__name__}: {error}")
    return Verdict(
        **{**verdict.as_dict(), "requirements": check.requirements, "seconds": time.perf_counter() - began}
    )


def _verdict(check: Check, outcome: str, **details: str) -> Verdict:
    return Verdict(check.name, check.requirements, check.title, outcome, **details)  # type: ignore[arg-type]
