"""Definitions of the measures, with their required ratios."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

COUNT = """
Keystore.command({key = "dailyCount", command = "incrby", args = {1}})
local now = os.time()
Keystore.command({key = "dailyCount", command = "expireat", args = {math.floor(1 + now / 86400) * 86400}})
Keystore.command({key = "logs", command = "lpush", args = {data.value[2]}})
Keystore.command({key = "logs", command = "ltrim", args = {0, 9}})
"""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Requests to the lab and to the reference.

    required: minimum ratio of server CPU, reference over lab; body: `{number}` in it becomes another number in each.
    """

    name: str
    title: str
    required: float
    method: str
    status: int
    body: str = ""
    query: str = ""
    durable: bool = False
    lua: str = ""
    prepare: str = ""  # a body to write once before, so that there is something to read

    def settings(self, folder: Path) -> str:
        """Return the lab's settings as JSON."""
        settings: dict[str, Any] = {"data": str(folder / "bench.db")} if self.durable else {}
        if self.lua:
            solution = folder / "solution"
            (solution / "services").mkdir(parents=True)
            (solution / "services" / "count.lua").write_text("--#EVENT device datapoint\n" + self.lua)
            settings["solutions"] = [{"id": "count", "path": str(solution), "products": ["bench"]}]
        return json.dumps(settings)


@dataclass(frozen=True, slots=True)
class Calls:
    """Calls of service operations in one process, beside a baseline: the minimum of work for any implementation.

    beside: a variant (see `users`) whose cost is also shown as a multiple of the measure's cost; of: the
    counted unit, singular and plural; of_points: the size of the measure is that of `--points`, not of assignments.
    """

    name: str
    title: str
    beside: str = ""
    of: tuple[str, str] = ("call", "calls")
    of_points: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """Result of a measure: `value`, its `reference`, and their `ratio`.

    For traffic and calls, value and reference are CPU in microseconds per request or call, and the ratio is
    reference over value. `required` is the minimum ratio, None without a requirement; `met` is None then too.
    Details are further measured values.
    """

    name: str
    title: str
    unit: str
    value: float
    reference: float
    ratio: float
    required: float | None
    met: bool | None
    rounds: int
    void: int
    details: dict[str, float]

    def as_dict(self) -> dict[str, Any]:
        """Return the result as plain data, for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        required = ""
        if self.required is not None:
            required = f", required {self.required:.2f}: {'met' if self.met else 'NOT MET'}"
        details = ", ".join(f"{name} {value:,.2f}" for name, value in self.details.items())
        return (
            f"{self.title}\n  {self.value:.1f} {self.unit}, reference {self.reference:.1f}\n"
            f"  ratio {self.ratio:.2f}{required}; rounds void: {self.void}\n  {details}"
        )


TWO = "text=hello&number=21.5"
TRAFFIC = [
    Traffic("write", "write of two aliases, stored, events emitted", 0.4, "POST", 204, TWO),
    Traffic("read", "read of two aliases", 0.5, "GET", 200, query="text&number", prepare=TWO),
    Traffic("write-durable", "write of two aliases with a data file", 0.3, "POST", 204, TWO, durable=True),
    Traffic(
        "write-lua",
        "write of one alias, a new value each time, counted by the metrics pattern in Lua",
        0.1,
        "POST",
        204,
        "text={number:05}",
        lua=COUNT,
    ),
]

ASSIGNMENTS = 10_000
POINTS = 100_000  # 10,000,000 at full size
CALLS = [
    Calls(
        "user-token",
        "user token issued, the password not hashed, beside: HMAC signature and one database read",
        "hashed",
    ),
    Calls(
        "user-resolve",
        "user token resolved, beside: HMAC verification and one database read",
        "access_token",
    ),
    Calls(
        "oauth-code",
        "OAuth approval, user token to code, beside: HMAC verification and one database write",
    ),
    Calls(
        "oauth-token",
        "OAuth code to RS256 JWT access token and opaque refresh token, stored as a hash, "
        "beside: RS256 signature and one database write",
    ),
    Calls(
        "permission",
        "permission check among many assignments, beside: one database read",
        "of_few",
    ),
    Calls("password", "password verified off the loop, beside: argon2-cffi alone"),
    Calls(
        "notify-send",
        "notification sent to one binding and delivered, the provider's work included, "
        "beside: HTTPS request on a kept connection to a bare server, and one database read",
        "alone",
    ),
    Calls(
        "notify-tag",
        "notification sent by tag to a tenth of the bindings and delivered, beside: the same request, and a "
        "database read of those bindings with the payload of each written as JSON",
        "of_all",
        of=("delivery", "deliveries"),
    ),
    Calls(
        "interface-call",
        "script that calls an operation of another solution in Lua, beside: script that does the same work itself",
        "keystore",
    ),
    Calls(
        "script-text",
        "script that splits 50,000 lines of CSV by find and sub, beside: the same in plain LuaJIT, its compiler "
        "off",
        of=("text", "texts"),
    ),
    Calls(
        "control-call",
        "control operation over HTTP, client and server, beside: the same request to a bare aiohttp handler",
        "in_process",
    ),
    Calls(
        "tsdb-query",
        "a day of a metric at a point a minute, queried from Tsdb among many other points, beside: the same rows "
        "read from SQLite",
        "script",
        of=("query", "queries"),
        of_points=True,
    ),
]
