"""Runs: operations that continue without their client, asked for with `Prefer: respond-async` (RFC 7240)."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Literal

from aiohttp import web
from pydantic import BaseModel, ConfigDict

from labkit.control.over_http.answers import send_json
from labkit.control.over_http.operations import ControlOperation
from labkit.control.over_http.problem import ControlProblem, ProblemDetails, expect_method
from labkit.core.coroutines import cancel

RUNS = "/v1/runs"
ACTIVE = 32  # runs at once
KEPT = 100  # ended runs; the oldest is forgotten
LONGEST_WAIT = 60.0  # seconds of `Prefer: wait=30`

State = Literal["running", "done", "failed", "ended"]


class RunInfo(BaseModel):
    """A run. state: `ended` if a client ended it; result: of a run that is done; problem: of one that failed."""

    model_config = ConfigDict(extra="forbid")

    id: str
    operation: str
    state: State
    result: Any = None
    problem: ProblemDetails | None = None


@dataclass(eq=False)
class OperationRun:
    """An operation in a task of its own. result: JSON of its result."""

    id: str
    operation: ControlOperation
    task: asyncio.Task[bytes]

    @property
    def state(self) -> State:
        """Whether it is running, and how it ended."""
        if not self.task.done():
            return "running"
        if self.task.cancelled():
            return "ended"
        return "done" if self.task.exception() is None else "failed"

    def head(self) -> bytes:
        """Return the run as RunInfo in JSON, without result and problem."""
        return json.dumps({"id": self.id, "operation": self.operation.key, "state": self.state}).encode()

    def info(self) -> bytes:
        """Return the run as RunInfo in JSON."""
        if self.state == "done":
            return self.head()[:-1] + b', "result": ' + self.task.result() + b"}"
        if self.state == "failed" and isinstance(problem := self.task.exception(), ControlProblem):
            return self.head()[:-1] + b', "problem": ' + problem.body() + b"}"
        return self.head()


class Runs:
    """The runs of one server."""

    def __init__(self) -> None:
        self._runs: dict[str, OperationRun] = {}

    def start(
        self, operation: ControlOperation, perform: Callable[[], Coroutine[Any, Any, bytes]]
    ) -> OperationRun:
        """Start a run. perform: returns the JSON of the result, and raises no error but ControlProblem.

        Raises ControlProblem (429), if too many are running.
        """
        ended = [each for each in self._runs.values() if each.task.done()]
        if len(self._runs) - len(ended) >= ACTIVE:
            raise ControlProblem(
                429, f"{ACTIVE} runs are in progress; end one of them (DELETE /v1/runs/<id>)"
            )
        for each in ended[: max(len(ended) - KEPT, 0)]:
            del self._runs[each.id]
        task = asyncio.get_running_loop().create_task(perform())
        task.add_done_callback(lambda task: task.cancelled() or task.exception())  # nobody may ever ask
        run = OperationRun(secrets.token_hex(8), operation, task)
        self._runs[run.id] = run
        return run

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request below /v1/runs."""
        id = request.path.removeprefix(RUNS).lstrip("/")
        if not id:
            expect_method(request, "GET")
            return await send_json(
                request, b"[" + b", ".join(map(OperationRun.head, self._runs.values())) + b"]"
            )
        expect_method(request, "GET", "DELETE")
        run = self.find(id)
        if request.method == "DELETE":
            run.task.cancel()
            await asyncio.wait([run.task])
        elif seconds := preferred_wait(request):
            await asyncio.wait([run.task], timeout=seconds)
        return await send_json(request, run.info())

    def find(self, id: str) -> OperationRun:
        """Return a run. Raises ControlProblem (404) for an unknown one."""
        if id not in self._runs:
            raise ControlProblem(404, f"no run {id[:100]!r}")
        return self._runs[id]

    async def stop(self) -> None:
        """End all runs."""
        await cancel(each.task for each in self._runs.values())


def prefers_async(request: web.BaseRequest) -> bool:
    """Return whether a client prefers an answer before the operation has ended."""
    return "respond-async" in _preferences(request)


def preferred_wait(request: web.BaseRequest) -> float:
    """Return the number of seconds that a client prefers to wait for the end of a run."""
    for each in _preferences(request):
        name, _, value = each.partition("=")
        if name.strip() == "wait" and value.strip().isdecimal():
            return min(float(value), LONGEST_WAIT)
    return 0.0


def _preferences(request: web.BaseRequest) -> list[str]:
    given = ",".join(request.headers.getall("Prefer", []))
    return [each.strip().lower() for each in given.split(",")]
