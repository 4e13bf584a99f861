"""Definitions of the measures, with their required ratios."""

from __future__ import annotations

import json
from collections.abc import Mapping
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

    required: minimum ratio of CPU, baseline over lab; beside: a variant (see `users`) whose cost is also shown as a
    multiple of the measure's cost; of: the counted unit, singular and plural; of_points: its size is that of
    `--points`, not of assignments.
    """

    name: str
    title: str
    required: float
    beside: str = ""
    of: tuple[str, str] = ("call", "calls")
    of_points: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """Result of a measure: `value`, its `reference`, and their `ratio`.

    For traffic and calls, value and reference are CPU in microseconds per request or call, and the ratio is
    reference over value. `required` is the minimum ratio. Details are further measured values.
    """

    name: str
    title: str
    unit: str
    value: float
    reference: float
    ratio: float
    required: float
    met: bool
    rounds: int
    void: int
    details: dict[str, float]

    @classmethod
    def judge(
        cls,
        name: str,
        title: str,
        unit: str,
        value: float,
        reference: float,
        required: float = 1.0,
        details: Mapping[str, float] | None = None,
        *,
        ratio: float | None = None,
        holds: bool = True,
        rounds: int = 1,
        void: int = 0,
    ) -> Result:
        """Return a result that is met if `ratio`, by default reference over value, is enough, and the rest `holds`."""
        ratio = reference / value if ratio is None else ratio
        met = holds and ratio >= required
        return cls(
            name, title, unit, value, reference, ratio, required, met, rounds, void, dict(details or {})
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the result as plain data, for JSON."""
        return asdict(self)

    def __str__(self) -> str:
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
        0.3,
        "hashed",
    ),
    Calls(
        "user-resolve",
        "user token resolved, beside: HMAC verification and one database read",
        0.5,
        "access_token",
    ),
    Calls(
        "oauth-code",
        "OAuth approval, user token to code, beside: HMAC verification and one database write",
        0.2,
    ),
    Calls(
        "oauth-token",
        "OAuth code to RS256 JWT access token and opaque refresh token, stored as a hash, "
        "beside: RS256 signature and one database write",
        0.5,
    ),
    Calls(
        "permission",
        "permission check among many assignments, beside: one database read",
        0.12,
        "of_few",
    ),
    Calls(
        "notify-send",
        "notification sent to one binding and delivered, the provider's work included, "
        "beside: HTTPS request on a kept connection to a bare server, and one database read",
        0.5,
        "alone",
    ),
    Calls(
        "notify-tag",
        "notification sent by tag to a tenth of the bindings and delivered, beside: the same request, and a "
        "database read of those bindings with the payload of each written as JSON",
        0.3,
        "of_all",
        of=("delivery", "deliveries"),
    ),
    Calls(
        "interface-call",
        "script that calls an operation of another solution in Lua, beside: script that does the same work itself",
        0.06,
        "keystore",
    ),
    Calls(
        "script-text",
        "script that splits 50,000 lines of CSV by find and sub, beside: the same in plain LuaJIT, its compiler "
        "off",
        0.7,
        of=("text", "texts"),
    ),
    Calls(
        "control-call",
        "control operation over HTTP, client and server, beside: the same request to a bare aiohttp handler",
        0.35,
        "in_process",
    ),
    Calls(
        "tsdb-query",
        "a day of a metric at a point a minute, queried from Tsdb among many other points, beside: the same rows "
        "read from SQLite",
        0.6,
        "script",
        of=("query", "queries"),
        of_points=True,
    ),
    Calls(
        "start-up",
        "first write of a new lab in a new process, beside: import of aiohttp, SQLAlchemy, pydantic and cryptography",
        0.3,
        of=("start", "starts"),
    ),
    Calls(
        "device-start",
        "start of a fleet's device with its first write, both ends, beside: TLS handshake, both ends",
        0.35,
        of=("start", "starts"),
    ),
    Calls(
        "cell-write",
        "`device.write()` in a cell of a notebook, both ends, beside: the same request on a socket",
        0.2,
    ),
]
