"""Batches of service calls made by scripts of solutions, each result compared with a model's in order.

Calls are gathered and sent many in one request, since a request costs more than twenty calls in it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

from labkit.conformance import expect
from labkit.conformance.models.rules import Rules
from labkit.conformance.target import Target

BATCH_SIZE = 40  # most calls in one request: a script has a time limit

Parameters = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CallResult:
    """The result that a script got from an operation. kind: the Lua type of the value."""

    solution: str
    called: str
    parameters: Parameters
    kind: str
    value: Any

    @property
    def refused(self) -> bool:
        """True if the result is an error object."""
        return isinstance(self.value, dict) and {"error", "status"} <= self.value.keys()

    @property
    def status(self) -> Any:
        """The status of an error object; None for any other result."""
        return self.value["status"] if self.refused else None

    def shown(self) -> str:
        """Return the call and its result as text, without secrets."""
        sent = json.dumps(self.parameters, ensure_ascii=False, default=str)
        came = json.dumps(self.value, ensure_ascii=False, default=str)
        text = f"a script of {self.solution}: {self.called}({sent})\n{self.kind} {came}"
        return expect.hidden(text)[: expect.LONGEST]


Judge = Callable[[CallResult], None]
_PendingCall = tuple[int, str, str, Parameters, Judge]  # number of the solution, service, operation
JSON = {"Content-Type": "application/json"}
READS = ("get", "list", "has")  # prefixes of the operations that change nothing


class Refused(Exception):
    """The model refuses a call.

    rule: the requirement behind the refusal; statuses: the statuses that the error may have; choice: the requirement
    that fixes the status, by default the rule.
    """

    def __init__(self, rule: str, *statuses: int, choice: str | None = None) -> None:
        super().__init__(rule, *statuses)
        self.rule = rule
        self.statuses = statuses
        self.choice = choice or rule


def ignore_result(given: CallResult) -> None:
    """Accept any result of a call."""


class Calls:
    """Calls that scripts of some solutions are to make, each with a function that judges its result.

    rule: the requirement of a script that fails as a whole. ordered: keep the order of calls across solutions, where
    those of one affect another; otherwise the calls of each solution are sent together. diverged: the target made
    another change than the model, so that their states differ and nothing more is compared.
    """

    def __init__(
        self, target: Target, rules: Rules, rule: str, solutions: Sequence[str], *, ordered: bool = False
    ) -> None:
        self._target = target
        self._rules = rules
        self._rule = rule
        self._solutions = solutions
        self.diverged = False
        self._ordered = ordered
        self._pending: list[_PendingCall] = []

    def add(self, index: int, called: str, parameters: Parameters, judge: Judge = ignore_result) -> None:
        """Queue a call of `Service.operation` by a script of the solution with this number; `send` makes it."""
        service, _, operation = called.partition(".")
        self._pending.append((index, service, operation, parameters, judge))

    def compare(
        self,
        index: int,
        called: str,
        parameters: Parameters,
        rule: str,
        change: Callable[[], object],
        see: Callable[[Any], Any] = lambda value: value,
    ) -> None:
        """Queue a call whose result must equal the model's.

        change: called at once, applies the call to the model and returns the expected result, or raises Refused; see:
        reduces the actual result to the part that is compared.
        """
        refused: Refused | None = None
        wanted: object = None
        try:
            wanted = change()
        except Refused as error:
            refused = error
        operation = called.partition(".")[2]

        def judge(given: CallResult) -> None:
            if self.diverged:
                return
            holds = self._rules.holds
            if refused is not None:
                if holds(refused.rule, f"is {operation} refused?", given.refused, True, given):
                    fits = given.status if given.status in refused.statuses else refused.statuses[0]
                    holds(refused.choice, f"status of {operation}", given.status, fits, given)
                    return
            elif given.refused:
                if holds(rule, f"what {operation} gives", given.value, wanted, given):
                    return
            elif holds(rule, f"what {operation} gives", see(given.value), wanted, given):
                return
            self.diverged = not operation.startswith(READS)

        self.add(index, called, parameters, judge)

    async def call(self, index: int, called: str, parameters: Parameters) -> CallResult:
        """Make a call after all queued ones and return its result. Raises Differs."""
        found: list[CallResult] = []
        self.add(index, called, parameters, found.append)
        await self.send()
        return found[0] if found else CallResult(self._solutions[index], called, parameters, "nothing", None)

    async def call_concurrently(self, *calls: tuple[int, str, Parameters]) -> list[CallResult]:
        """Make calls at the same time, each by its own script, after all queued ones. Raises Differs."""
        await self.send()
        return await asyncio.gather(*(self._call_separately(*each) for each in calls))

    async def _call_separately(self, index: int, called: str, parameters: Parameters) -> CallResult:
        solution, path = self._solutions[index], f"/call/{called.replace('.', '/')}"
        content = json.dumps(parameters)
        answer = await self._target.pool(solution).request("POST", path, headers=JSON, content=content)
        self._rules.holds(self._rule, f"status of {called}", answer.status_code, 200, answer)
        found = json.loads(answer.content) if answer.status_code == 200 else {}
        return CallResult(solution, called, parameters, found.get("kind", ""), found.get("result"))

    async def send(self) -> None:
        """Make the queued calls and judge their results. Raises Differs."""
        pending, self._pending = self._pending, []
        if not self._ordered:
            pending.sort(key=itemgetter(0))
        for index, calls in groupby(pending, itemgetter(0)):
            batch = list(calls)
            for start in range(0, len(batch), BATCH_SIZE):
                await self._send(self._solutions[index], batch[start : start + BATCH_SIZE])

    async def _send(self, solution: str, batch: Sequence[_PendingCall]) -> None:
        body = [
            {"service": service, "operation": operation, "parameters": parameters}
            for _, service, operation, parameters, _ in batch
        ]
        answer = await self._target.connection(solution).request(
            "POST", "/calls", headers=JSON, content=json.dumps(body, ensure_ascii=False)
        )
        found = json.loads(answer.content) if answer.status_code == 200 else []
        script = CallResult(
            solution, "a script that calls operations", {}, str(answer.status_code), answer.text
        )
        self._rules.holds(self._rule, "status", answer.status_code, 200, script)
        self._rules.holds(self._rule, "results", len(found), len(batch), script)
        for (_, service, operation, parameters, judge), each in zip(batch, found, strict=False):
            called = f"{service}.{operation}"
            judge(CallResult(solution, called, parameters, each["kind"], each.get("result")))
