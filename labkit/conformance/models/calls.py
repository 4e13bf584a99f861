"""Calls of operations, which scripts of some solutions make: gathered, sent many in a request, judged in their order.

A request costs more than the twenty calls in it. Whoever needs a result before the next step sends at once.
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

MOST = 40  # calls of one request: a script has a limit of time

Parameters = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Given:
    """What an operation gave to a script. kind: the type of the value, as scripts name it."""

    solution: str
    called: str
    parameters: Parameters
    kind: str
    value: Any

    @property
    def refused(self) -> bool:
        """Is it an error object?"""
        return isinstance(self.value, dict) and {"error", "status"} <= self.value.keys()

    @property
    def status(self) -> Any:
        """The status of an error object; else None."""
        return self.value["status"] if self.refused else None

    def shown(self) -> str:
        """The call and its result as text, without secrets."""
        sent = json.dumps(self.parameters, ensure_ascii=False, default=str)
        came = json.dumps(self.value, ensure_ascii=False, default=str)
        text = f"a script of {self.solution}: {self.called}({sent})\n{self.kind} {came}"
        return expect.hidden(text)[: expect.LONGEST]


Judge = Callable[[Given], None]
_Waiting = tuple[int, str, str, Parameters, Judge]  # number of the solution, service, operation
JSON = {"Content-Type": "application/json"}
READS = ("get", "list", "has")  # how the names of operations begin that change nothing


class Refused(Exception):
    """The model refuses. rule: whose it is; statuses: those that the error may have; choice: whose the status is."""

    def __init__(self, rule: str, *statuses: int, choice: str | None = None) -> None:
        super().__init__(rule, *statuses)
        self.rule = rule
        self.statuses = statuses
        self.choice = choice or rule


def ignored(given: Given) -> None:
    """What the call gives does not matter."""


class Calls:
    """What scripts of some solutions call, and judges of what it gives. rule: that of a script that fails as such.

    ordered: what one solution calls matters to the others, so the order of all counts; else each solution's calls are
    sent together. lost: a change came out otherwise than the model has it, so nobody knows what there is: nothing is
    judged any more.
    """

    def __init__(
        self, target: Target, rules: Rules, rule: str, solutions: Sequence[str], *, ordered: bool = False
    ) -> None:
        self._target = target
        self._rules = rules
        self._rule = rule
        self._solutions = solutions
        self.lost = False
        self._ordered = ordered
        self._waiting: list[_Waiting] = []

    def add(self, index: int, called: str, parameters: Parameters, judge: Judge = ignored) -> None:
        """Have `Service.operation` called by a script of the solution with this number, with the next `send`."""
        service, _, operation = called.partition(".")
        self._waiting.append((index, service, operation, parameters, judge))

    def same(
        self,
        index: int,
        called: str,
        parameters: Parameters,
        rule: str,
        change: Callable[[], object],
        see: Callable[[Any], Any] = lambda value: value,
    ) -> None:
        """Have it called, and give what the model gives. change: does it to the model; see: what of a result counts.

        The model refuses by raising Refused.
        """
        refused: Refused | None = None
        wanted: object = None
        try:
            wanted = change()
        except Refused as error:
            refused = error
        operation = called.partition(".")[2]

        def judge(given: Given) -> None:
            if self.lost:
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
            self.lost = not operation.startswith(READS)

        self.add(index, called, parameters, judge)

    async def now(self, index: int, called: str, parameters: Parameters) -> Given:
        """What it gives, after all that waits. Raises Differs."""
        found: list[Given] = []
        self.add(index, called, parameters, found.append)
        await self.send()
        return found[0] if found else Given(self._solutions[index], called, parameters, "nothing", None)

    async def at_once(self, *calls: tuple[int, str, Parameters]) -> list[Given]:
        """What calls give, each by a script of its own, all at the same time, after all that waits. Raises Differs."""
        await self.send()
        return await asyncio.gather(*(self._apart(*each) for each in calls))

    async def _apart(self, index: int, called: str, parameters: Parameters) -> Given:
        solution, path = self._solutions[index], f"/call/{called.replace('.', '/')}"
        content = json.dumps(parameters)
        answer = await self._target.pool(solution).request("POST", path, headers=JSON, content=content)
        self._rules.holds(self._rule, f"status of {called}", answer.status_code, 200, answer)
        found = json.loads(answer.content) if answer.status_code == 200 else {}
        return Given(solution, called, parameters, found.get("kind", ""), found.get("result"))

    async def send(self) -> None:
        """Make the calls that wait, and judge what they give. Raises Differs."""
        waiting, self._waiting = self._waiting, []
        if not self._ordered:
            waiting.sort(key=itemgetter(0))
        for index, calls in groupby(waiting, itemgetter(0)):
            batch = list(calls)
            for start in range(0, len(batch), MOST):
                await self._send(self._solutions[index], batch[start : start + MOST])

    async def _send(self, solution: str, batch: Sequence[_Waiting]) -> None:
        body = [
            {"service": service, "operation": operation, "parameters": parameters}
            for _, service, operation, parameters, _ in batch
        ]
        answer = await self._target.connection(solution).request(
            "POST", "/calls", headers=JSON, content=json.dumps(body, ensure_ascii=False)
        )
        found = json.loads(answer.content) if answer.status_code == 200 else []
        script = Given(solution, "a script that calls operations", {}, str(answer.status_code), answer.text)
        self._rules.holds(self._rule, "status", answer.status_code, 200, script)
        self._rules.holds(self._rule, "results", len(found), len(batch), script)
        for (_, service, operation, parameters, judge), each in zip(batch, found, strict=False):
            called = f"{service}.{operation}"
            judge(Given(solution, called, parameters, each["kind"], each.get("result")))
