"""Records what a real Redis gives to random commands, for the checks: python -m tests.services.keystore.record URL.

Without what time or chance decide, and without what is known to differ (test_differential.py).
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from labkit.conformance.keystore.operations import checks_recorded
from labkit.core.clock import Clock
from tests.services.keystore.played import FORMS, KEYS, Played, Player
from tests.services.keystore.stores import opened
from tests.services.keystore.test_differential import Outcome, Pair, arranged, known, same

SEED = 7
COUNT = 2000
NEVER = {"spop", "srandmember", *(name for name in FORMS if "expire" in name or "ttl" in name)}
NEVER |= {"persist", "setex", "psetex"}
TIMES = {"EX", "PX", "EXAT", "PXAT", "ex"}


async def record(url: str) -> list[list[Any]]:
    """The rows: command, key, arguments, and a list with the value, or an error's text (None where it may vary)."""
    clock = Clock()
    rows: list[list[Any]] = []
    async with (
        opened(clock=clock) as embedded,
        opened(clock=clock, url=url, domain="record.localhost") as real,
    ):
        await real.call("clear")
        pair = Pair(embedded.keystore, real.keystore, clock.seconds())
        for played in Player(SEED, pair.now).play(COUNT):
            if played.name.lower() in NEVER or TIMES & {*played.args}:
                continue
            one, other = await pair.both(played.name, played.key, *played.args)
            if same(played.name.lower(), one, other):
                rows.append([played.name, played.key, played.args, _shown(played, one, other)])
            else:
                assert known(played, one, other), f"{played}: embedded {one}, real {other}"
                await pair.both("del", played.key)
                rows.append(["del", played.key, [], None])  # whatever it holds
        for key in KEYS:
            kind, _ = await pair.both("type", key)
            rows.append(["type", key, [], [kind.value]])
        await real.call("clear")
    return rows


def _shown(played: Played, one: Outcome, other: Outcome) -> Any:
    if other.kind == "value":
        return [arranged(played.name.lower(), other.value)]
    return other.text if one.text == other.text else ""


if __name__ == "__main__":
    lines = (json.dumps(each, ensure_ascii=False) for each in asyncio.run(record(sys.argv[1])))
    path = Path(checks_recorded.__file__).with_name(checks_recorded.FILE)
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
