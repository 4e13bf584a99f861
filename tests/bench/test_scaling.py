"""Growth of the cost of operations with the number of stored items, in counts that do not depend on the machine."""

from __future__ import annotations

import json

import pytest

from labkit.bench import scaling, scaling_rows
from labkit.bench.stage import Stage, filled, page, scan
from tests.rig import invoked

FEW, MANY = 300, 3000
ROWS = scaling.rows_by_fill()


@pytest.mark.sampled
@pytest.mark.parametrize("fill", ROWS)
async def test_no_operation_grows_faster_than_its_load(fill: str) -> None:
    rows, counts = ROWS[fill], []
    for size in (FEW, MANY):
        async with filled(rows[0].fill, size) as stage:
            counts.append([await scaling.count(row, stage) for row in rows])
    grown = {
        row.name: too_much
        for row, few, many in zip(rows, *counts, strict=True)
        if (too_much := scaling.too_much(row, few, many))
    }
    assert not grown


async def test_a_count_repeats_and_shows_loops_of_python_and_of_sqlite() -> None:
    async with filled(scaling_rows.users, FEW) as stage:
        row = next(each for each in ROWS["users"] if each.name == "listRoleUsers")
        first, second = [await scaling.count(row, stage) for _ in range(2)]
        assert first["sqlite"] == second["sqlite"]
        assert first["python"] == pytest.approx(second["python"], rel=0.01)

        async def walk(stage: Stage) -> None:
            assert sum(1 for _ in range(1000)) == 1000

        assert (await scaling.count(page("walk", scaling_rows.users, walk), stage))["python"] > 1000
    assert min(first.values()) > FEW


def test_the_limits_are_those_of_a_page_and_of_a_scan() -> None:
    few, many = dict.fromkeys(("python", "sqlite", "bytes"), 10_000), {"python": 15_001, "sqlite": 120_001}
    row = ROWS["users"][0]
    assert scaling.too_much(page("page", row.fill, row.call), few, many) == {
        "python": 1.5,
        "sqlite": 12,
    }
    assert scaling.too_much(scan("scan", row.fill, row.call), few, many) == {"sqlite": 12}
    nothing = dict.fromkeys(few, 0)
    assert scaling.too_much(row, nothing, {"python": 99, "sqlite": 150, "bytes": 4096}) == {}


@pytest.mark.usefixtures("forked")
def test_the_command_measures_the_chosen_operations_and_prints_each_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scaling, "SECONDS", 0.0)
    monkeypatch.setattr(scaling, "rows_by_fill", lambda: {"mails": ROWS["mails"]})
    answer = invoked("bench", "scaling", "--items", "300", "--json")
    assert answer.exit_code == 0, answer.output
    results = json.loads(answer.stdout)
    assert [each["title"].partition(",")[0] for each in results] == [row.name for row in ROWS["mails"]]
    for result in results:
        assert result["ratio"] == pytest.approx(result["reference"] / result["value"])
        assert result["met"] == (result["ratio"] >= result["required"])

    part = ROWS["mails"][1].name[:-3]
    answer = invoked("bench", "scaling", "--items", "300", "--row", part)
    assert [line.partition(",")[0] for line in answer.stdout.splitlines()[::4]] == [ROWS["mails"][1].name]
    refused = invoked("bench", "scaling", "--row", part, "--row", "speed")
    assert (refused.exit_code, refused.stderr.partition("; expected")[0]) == (
        1,
        "labkit: no row of scaling has 'speed' in its name",
    )
    refused = invoked("bench", "read", "--row", part)
    assert (refused.exit_code, refused.stderr) == (1, "labkit: --row: only for the measure scaling\n")
