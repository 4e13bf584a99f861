"""Acknowledged numbers of a run that are datapoints at its end, compared with the lab's database."""

from __future__ import annotations

from collections import Counter as Counted
from typing import Any

import pandas as pd
import pytest

from labkit import Behaviour, Lab
from labkit.fleet.accounts import NUMBERS, Accounts, stamp
from labkit.fleet.behaviours import Counter
from labkit.fleet.fleet_device import EXCHANGE_ERRORS, FleetDevice
from labkit.lab.run import Run


class Bursts(Behaviour):
    """Behaviour that counts several times a second, and sometimes reboots."""

    counts: int = 60
    every: float = 0.25
    reboots: int = 0

    async def run(self, device: FleetDevice) -> None:
        for _ in range(self.counts):
            try:
                await device.count()
            except EXCHANGE_ERRORS as error:
                device.note(last_error=str(error))
            await device.sleep(self.random.uniform(0, 2 * self.every))
        if device.epoch <= self.reboots:
            await device.reboot()


def in_database(lab: Lab) -> dict[Any, int]:
    """Return the count of distinct numbers in the database, by device and epoch."""
    table = lab.sql("select identity, value from datapoint where alias = 'count'").drop_duplicates()
    epochs = table["value"].astype("int64") // NUMBERS
    return dict(Counted(zip(table["identity"], epochs, strict=True)))


def expect_exact(lab: Lab, run: Run) -> pd.DataFrame:
    """Assert that a run's counts of stored numbers equal the database; return its losses."""
    losses, here = run.losses, in_database(lab)
    unanswered = losses["unanswered"].to_dict()  # the database may have some of these, which are not counted
    stored = losses["stored"].to_dict()
    assert set(here) <= set(stored)
    assert all(0 <= here.get(key, 0) - stored[key] <= unanswered[key] for key in stored)
    parts = losses[["stored", "replaced", "forgotten"]]
    assert (parts.sum(axis="columns") == losses["acknowledged"]).all()
    assert (parts >= 0).all(axis=None)
    return losses


def seconds(run: Run) -> int:
    """Return the count of seconds, per device, in which a write was answered: each keeps one number."""
    rows = run.requests()
    rows = rows[rows["action"].eq("write") & rows["status"].eq(204)]
    return len(rows.assign(second=rows["time"].dt.floor("s"))[["identity", "second"]].drop_duplicates())


@pytest.mark.parametrize("reboots", [0, 2])
def test_numbers_replaced_within_their_second_are_not_stored(lab: Lab, reboots: int) -> None:
    fleet = lab.product("meter", resources={"count": "integer"}).fleet(2, Bursts(reboots=reboots))
    run = fleet.run(minutes=5, accounts=True, requests=True)
    losses = expect_exact(lab, run)
    assert losses["acknowledged"].tolist() == [60] * (2 * (1 + reboots))
    assert losses["stored"].sum() == seconds(run) < losses["acknowledged"].sum() / 2
    assert losses["forgotten"].sum() == 0
    count = losses["replaced"].sum()
    assert f"; {count} replaced by a later number of the same second" in run.summary
    assert run.totals == {**losses.sum().to_dict()}


def test_numbers_beyond_the_limit_of_kept_points_are_not_stored() -> None:
    with Lab(seed=7, datapoints={"kept": 100}) as lab:
        fleet = lab.product("meter", resources={"count": "integer"}).fleet(2, Bursts(counts=800))
        run = fleet.run(minutes=5, accounts=True, requests=True)
        losses = expect_exact(lab, run)
        assert losses["replaced"].sum() == losses["acknowledged"].sum() - seconds(run)
        assert 100 <= losses["stored"].min() <= losses["stored"].max() <= 110
        assert losses["forgotten"].sum() == seconds(run) - losses["stored"].sum() > 10
        assert f"; {losses['forgotten'].sum()} forgotten beyond datapoints.kept" in run.summary


def test_counts_are_exact_after_a_restart_of_the_platform_and_lost_answers(lab: Lab) -> None:
    fleet = lab.product("meter", resources={"count": "integer"}).fleet(2, Bursts(every=1))
    fleet.faults.add("platform restart", after=30, seconds=5)
    lab.faults.add("POST /onep:v1/stack/alias", cut="after", every=7)
    run = fleet.run(minutes=5, accounts=True)
    losses = expect_exact(lab, run)
    assert losses["unanswered"].min() > 5
    assert 0 < losses["stored"].sum() < sum(in_database(lab).values()) < losses["sent"].sum()
    assert (losses[["stored", "replaced", "forgotten"]].sum(axis="columns") == losses["acknowledged"]).all()


def test_counts_are_current_during_a_run_and_final_after_it() -> None:
    with Lab(seed=7, speed=60) as lab:
        product = lab.product("meter", resources={"count": "integer"})
        run = product.fleet(2, Counter(every=1)).start(accounts=True)
        while not run.losses["stored"].sum():
            pass
        totals = run.stop().totals
        assert totals is not None
        expect_exact(lab, run)
        product.device("t-9").activate().write(count=stamp(1, 1))
    assert run.totals == totals


def test_a_number_that_is_stored_twice_counts_once() -> None:
    accounts = Accounts()
    for number in (1, 2, 3):
        accounts.acknowledged("t-1", 1, accounts.sent("t-1", 1))
        accounts.written("t-1", 10, str(stamp(1, number)))
    accounts.written("t-1", 11, str(stamp(1, 3)))  # once more, in a second of its own
    accounts.written("t-1", 11, "7")
    accounts.take_stock("t-1", [1], [str(stamp(1, 3)), "7"])
    totals = accounts.totals()
    assert (totals["stored"], totals["replaced"], totals["forgotten"]) == (1, 2, 0)
