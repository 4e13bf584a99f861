"""Conformance checks as tests: `pytest --pyargs labkit.conformance -k DEV-ALIAS` has one item for each check."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from labkit.conformance import runner
from labkit.conformance.catalogue import Catalogue
from labkit.conformance.check import Check
from labkit.conformance.entries import CatalogueError
from labkit.conformance.runner import Play
from labkit.conformance.suite import known
from labkit.conformance.target import LOCAL_TARGET, Target, open_target
from labkit.conformance.verdict import Verdict
from labkit.core.errors import LabkitError, SettingsError
from labkit.testing.marker import CHECKS_OPTION, SEED_OPTION, URL_OPTION

SEED = 7  # of a lab that is started for the checks, as in a report
PLAYER = pytest.StashKey["Player"]()
GROUP = "labkit.conformance"  # of pytest-xdist, for checks that share a platform


class CheckFailed(LabkitError):
    """A check that failed or broke; its text is the whole failure."""


class Player:
    """The target of a session's checks, opened for the first check, and what runs them."""

    def __init__(self, config: pytest.Config, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self._target = config.getoption(URL_OPTION) or LOCAL_TARGET
        seed = config.getoption(SEED_OPTION)
        self._seed: int = SEED if seed is None else seed
        self._stack = ExitStack()
        self._open: tuple[Target, Play] | None = None
        config.add_cleanup(self._close)

    def run(self, check: Check) -> Verdict:
        """Run a check and return its verdict."""
        if self._open is None:
            target = self._stack.enter_context(open_target(self._target, self._seed))
            self._open = target, self._stack.enter_context(runner.player(target, self.catalogue))
        [verdict] = self._open[1]([check])
        return verdict

    def _close(self) -> None:
        if self._open is None or self._open[0].stuck is None:
            self._stack.close()  # with a blocked call, it would block too


class Checks(pytest.Directory):
    """The collector of all checks, in the place of the package `labkit.conformance`."""

    def collect(self) -> Iterator[CheckItem]:
        """Yield an item for each check. Raises CollectError for a target or a folder that cannot be used."""
        target = self.config.getoption(URL_OPTION)
        if target is not None:
            try:
                Target.remote(target).expect_complete()
            except SettingsError as error:
                raise self.CollectError(f"{URL_OPTION}: {error}") from None
        try:
            catalogue, checks = known(self.config.getoption(CHECKS_OPTION))
        except CatalogueError as error:
            raise self.CollectError(f"{CHECKS_OPTION}: {error}") from None
        self.config.stash[PLAYER] = Player(self.config, catalogue)
        levels = {each.id: each.level for each in catalogue}
        for check in checks:
            item = CheckItem.from_parent(self, name=check.name, check=check)
            item.extra_keyword_matches.update(check.requirements)
            item.add_marker("must" if "must" in {levels[each] for each in check.requirements} else "choice")
            if target is not None:  # as in a report, they run one after the other
                item.add_marker(pytest.mark.xdist_group(GROUP))
            yield item


class CheckItem(pytest.Item):
    """One check as a test."""

    def __init__(self, *, check: Check, **given: Any) -> None:
        super().__init__(**given)
        self.check = check

    def runtest(self) -> None:
        """Run the check; a deviation from a choice is an expected failure, with its reason."""
        player = self.config.stash[PLAYER]
        verdict = player.run(self.check)
        match verdict.outcome:
            case "failed" | "broken":
                raise CheckFailed(explained(verdict, player.catalogue))
            case "warned":
                pytest.xfail(f"warned: {verdict.explanation()}")
            case "skipped" | "not reached":
                pytest.skip(f"{verdict.outcome}: {verdict.explanation()}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *more: Any, **others: Any) -> Any:
        """Return the text of a failed check without a traceback."""
        if isinstance(excinfo.value, CheckFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, *more, **others)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return file and line of the check, and its title."""
        code = inspect.unwrap(self.check.function).__code__
        return Path(code.co_filename), code.co_firstlineno - 1, f"{self.check.name}: {self.check.title}"


def explained(verdict: Verdict, catalogue: Catalogue) -> str:
    """Return the requirements that a check blames, their sentences, what was expected, and the exchange."""
    lines = [f"{each} ({catalogue[each].level}): {catalogue[each].text}" for each in verdict.blamed]
    lines.append(f"{verdict.outcome}: {verdict.explanation()}")
    return "\n".join([*lines, *(["", verdict.exchange] if verdict.exchange else [])])
