"""Accounts of messages: a transport that drops, doubles and swaps on purpose is judged exactly."""

from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit import Behaviour, Lab, NoAnswerError
from labkit.core.errors import LabError
from labkit.fleet.accounts import COLUMNS, Accounts, read, route_deliveries, stamp
from labkit.fleet.behaviours import Counter as Counts
from labkit.fleet.fleet_device import FleetDevice

SOLUTION = Path(__file__).parents[2] / "notebooks/solutions/accounts"
FATES = st.sampled_from(["arrives", "arrives", "lost", "doubled", "unanswered", "unanswered and arrives"])


def row(accounts: Accounts, identity: str, epoch: int) -> dict[str, int]:
    return judged(accounts)[identity, epoch]


def judged(accounts: Accounts) -> dict[tuple[str, int], dict[str, int]]:
    rows = accounts.losses().itertuples(name=None)
    return {key: dict(zip(COLUMNS, values, strict=True)) for key, *values in rows}


class Device:
    """A device whose messages are lost, doubled or swapped; `wire` has what arrives, before swaps."""

    def __init__(self, accounts: Accounts, identity: str, epoch: int, fates: list[str]) -> None:
        self.key = (identity, epoch)
        self.fates = fates
        self.wire: list[int] = []
        for fate in fates:
            number = accounts.sent(*self.key)
            if "unanswered" not in fate:
                accounts.acknowledged(*self.key, number)
            copies = {"arrives": 1, "doubled": 2, "unanswered and arrives": 1}.get(fate, 0)
            self.wire += [number] * copies

    def expected(self, arrived: list[int]) -> dict[str, int]:
        """Return the expected account, by definition: an arrival is new or known, and may be out of order."""
        count = Counter(self.fates)
        seen: set[int] = set()
        reordered = 0
        for number in arrived:
            reordered += number not in seen and any(other > number for other in seen)
            seen.add(number)
        unanswered = count["unanswered"] + count["unanswered and arrives"]
        return {
            "sent": len(self.fates),
            "acknowledged": len(self.fates) - unanswered,
            **dict.fromkeys(("stored", "replaced", "forgotten"), 0),  # no accounts have been merged
            "handled": len(seen),
            "lost": count["lost"],
            "unanswered": unanswered,
            "arrived": count["unanswered and arrives"],
            "doubled": len(arrived) - len(seen),
            "reordered": reordered,
            "unknown": 0,
        }


@given(
    st.dictionaries(
        st.tuples(st.sampled_from(["t-1", "t-2", "ü/=&"]), st.integers(1, 3)), st.lists(FATES, max_size=30)
    ),
    st.data(),
)
def test_dropped_doubled_and_swapped_messages_are_judged_exactly(
    sent: dict[tuple[str, int], list[str]], data: st.DataObject
) -> None:
    accounts = Accounts()
    devices = [Device(accounts, *key, fates) for key, fates in sent.items()]
    arrived = {device.key: data.draw(st.permutations(device.wire)) for device in devices}
    order = data.draw(st.permutations([key for key, numbers in arrived.items() for _ in numbers]))
    waiting = {key: iter(numbers) for key, numbers in arrived.items()}
    for identity, epoch in order:  # messages of several devices and epochs in any mixture
        accounts.handled(identity, str(stamp(epoch, next(waiting[identity, epoch]))))
    expected = {device.key: device.expected(arrived[device.key]) for device in devices if device.fates}
    assert judged(accounts) == expected
    assert accounts.totals() == {name: sum(each[name] for each in expected.values()) for name in COLUMNS}


@given(st.lists(FATES, max_size=20), st.integers(0, 20), st.lists(st.booleans(), max_size=8))
def test_numbers_that_a_killed_process_did_not_report_are_found_by_their_arrival(
    fates: list[str], reported: int, unreported: list[bool]
) -> None:
    there, accounts = Accounts(), Accounts()
    device = Device(there, "t-1", 1, fates)
    accounts.put(pickle.loads(pickle.dumps(there.take())))
    for number in device.wire:
        accounts.handled("t-1", stamp(1, number))
    for number, arrives in enumerate(unreported, len(fates) + 1):
        there.sent("t-1", 1)
        if arrives:
            accounts.handled("t-1", stamp(1, number))
    accounts.broken("t-1", 1)
    found = row(accounts, "t-1", 1)
    known = max([0, *(number for number, arrives in enumerate(unreported, 1) if arrives)])
    before = device.expected(device.wire)
    assert found["sent"] == len(fates) + known
    assert found["unanswered"] == before["unanswered"] + known
    assert found["arrived"] == before["arrived"] + sum(unreported)
    assert (found["lost"], found["unknown"]) == (before["lost"], 0)


def test_accounts_of_several_processes_are_merged_from_changes_only() -> None:
    one, two, whole = Accounts(), Accounts(), Accounts()
    for accounts, identity in ((one, "t-1"), (two, "t-2")):
        accounts.acknowledged(identity, 1, accounts.sent(identity, 1))
        accounts.sent(identity, 1)
        whole.put(accounts.take())
        assert accounts.take() == {}
    one.acknowledged("t-1", 1, 2)
    whole.put(one.take())
    whole.handled("t-1", stamp(1, 1))
    assert row(whole, "t-1", 1) | {"sent": 2, "lost": 1, "unanswered": 0} == row(whole, "t-1", 1)
    assert row(whole, "t-2", 1) | {"sent": 2, "lost": 1, "unanswered": 1} == row(whole, "t-2", 1)
    assert whole.summary == (
        "4 sent, 3 acknowledged, 1 handled: 2 lost, 0 doubled, 0 reordered; of 1 without an answer 0 arrived"
    )


def test_a_number_that_was_never_sent_is_reported() -> None:
    accounts = Accounts()
    accounts.acknowledged("t-1", 1, accounts.sent("t-1", 1))
    for value in (stamp(1, 1), stamp(1, 4), stamp(1, 2)):
        accounts.handled("t-1", value)
    accounts.handled("t-9", stamp(1, 1))  # another user's device
    accounts.handled("t-1", "21.5")
    assert row(accounts, "t-1", 1) == {
        **dict.fromkeys(COLUMNS, 0),
        **dict.fromkeys(("sent", "acknowledged", "handled", "reordered"), 1),
        "unknown": 2,
    }
    assert accounts.summary.endswith("2 handled that were never sent")


def test_no_accounts_are_an_empty_table() -> None:
    assert list(Accounts().losses().columns) == list(COLUMNS)
    assert Accounts().summary == "0 sent, 0 acknowledged, 0 handled: 0 lost, 0 doubled, 0 reordered"


@given(st.integers(1, 2**53 // 10**9 - 1), st.integers(1, 10**9 - 1))
def test_a_stamp_is_parsed_in_any_form_that_scripts_give_it(epoch: int, number: int) -> None:
    value = stamp(epoch, number)
    assert read(value) == read(str(value)) == (epoch, number)
    assert value < 2**53


@pytest.mark.parametrize(
    "value", ["", "x", "-1", "1.5", "0", "5", "1000000000", "9" * 17, "٣" * 10, None, 1e300]
)
def test_an_invalid_stamp_is_none(value: object) -> None:
    assert read(value) is None


@pytest.mark.parametrize(("epoch", "number"), [(0, 1), (1, 0), (1, 10**9), (10**7, 1)])
def test_a_stamp_has_its_bounds(epoch: int, number: int) -> None:
    with pytest.raises(LabError, match="counts to"):
        stamp(epoch, number)


def test_a_very_large_number_costs_no_memory() -> None:
    accounts = Accounts()
    accounts.sent("t", 1)
    accounts.handled("t", stamp(1, 10**9 - 1))
    assert row(accounts, "t", 1)["unknown"] == 1


def test_the_answer_of_a_route_is_read_in_order() -> None:
    assert list(route_deliveries({"t-1": ["1", "2"], "t-2": []})) == [("t-1", "1"), ("t-1", "2")]
    wrong: list[Any] = [[], {"t-1": "x"}, None]
    for answer in wrong:
        with pytest.raises(LabError, match="accounts: expected"):
            list(route_deliveries(answer))


class Twice(Behaviour):
    """Behaviour that counts, and sends some numbers again, like a device that got no answer."""

    async def run(self, device: Any) -> None:
        for turn in range(5):
            number = await device.count()
            if turn in (1, 3):
                await device.write(count=stamp(device.epoch, number), other=7)
            await device.sleep(minutes=1)


@pytest.mark.parametrize("by_route", [False, True])
def test_a_run_keeps_accounts_up_to_the_handler_and_epochs_continue_over_runs(by_route: bool) -> None:
    resources = {"count": "number", "other": "number"}
    with Lab(seed=7) as lab:
        product = lab.product("thermostat", resources=resources)
        solution = lab.solution("mine", products=[product], path=SOLUTION)
        fleet = product.fleet(3, Twice)
        run = fleet.run(hours=1, accounts=solution if by_route else True)
        again = fleet.run(hours=1, accounts=solution if by_route else True)
        plain = fleet.run(hours=1)
    for epoch, each in ((1, run), (2, again)):
        assert list(each.losses.index) == [(f"t-00{number}", epoch) for number in (1, 2, 3)]
        assert each.losses["doubled"].tolist() == [2, 2, 2]
        line = "15 sent, 15 acknowledged, 15 stored, 15 handled: 0 lost, 6 doubled, 0 reordered"
        assert f"; {line}; handled " in each.summary
        assert ("a handler that the run added" in each.summary) is not by_route
    with pytest.raises(LabError, match="accounts=True"):
        plain.losses.head()


def test_concurrent_fleets_of_one_product_lose_nothing() -> None:
    with Lab(seed=7, speed=60) as lab:
        product = lab.product("thermostat", resources={"count": "number"})
        runs = [product.fleet(2, Counts(every=5), prefix=prefix).start(30, accounts=True) for prefix in "ab"]
        for run in runs:
            run.wait()
            assert run.losses["sent"].min() > 1
            assert run.losses["lost"].sum() == run.losses["unknown"].sum() == 0


def test_a_refused_run_takes_no_accounts_from_another(lab: Lab) -> None:
    product = lab.product("thermostat", resources={"count": "number"})
    first = product.fleet(2, Counts(every=5), prefix="a")
    second = product.fleet(2, Counts(every=5), prefix="b")
    run = first.start(hours=1, accounts=True)
    run.pause()
    refused = second.start(60, accounts=True)
    with pytest.raises(LabError, match="the run of a fleet"):
        refused.wait()
    run.resume()
    assert run.wait().losses["handled"].tolist() == run.losses["sent"].tolist()


@pytest.mark.parametrize("accounts", [None, "acme", 1, 0])
def test_accounts_need_a_solution(lab: Lab, accounts: Any) -> None:
    fleet = lab.product("thermostat", resources={"count": "number"}).fleet(1, Counts)
    with pytest.raises(LabError, match="accounts: expected True, False or a solution"):
        fleet.run(60, accounts=accounts)


def test_a_route_that_answers_no_json_is_an_error(lab: Lab) -> None:
    product = lab.product("thermostat", resources={"count": "number"})
    deaf = lab.solution("deaf", products=[product])
    deaf.route("GET", "/accounts", lambda: "none")
    with pytest.raises(LabError, match="answers GET /accounts with no JSON: 'none'"):
        product.fleet(1, Counts).run(60, accounts=deaf)


def test_a_number_that_is_repeated_until_acknowledged_may_be_doubled(lab: Lab) -> None:
    class Insists(Behaviour):
        async def run(self, device: FleetDevice) -> None:
            for _ in range(5):
                again = False
                while True:
                    try:
                        await device.count(again)
                        break
                    except NoAnswerError:
                        again = True
                        await device.sleep(1)
                await device.sleep(10)

    product = lab.product("meter", resources={"count": "integer"})
    lab.faults.add("POST /onep:v1/stack/alias", cut="after", every=3)
    run = product.fleet(2, Insists).run(minutes=5, accounts=True, progress=False)
    losses = run.losses
    assert losses["sent"].tolist() == losses["acknowledged"].tolist() == losses["handled"].tolist() == [5, 5]
    assert losses["doubled"].sum() >= 2
    assert losses[["lost", "unanswered", "unknown"]].to_numpy().sum() == 0


LUA = """
if data.alias ~= "count" then return end
local kept = Keystore.set{key = data.device_sn .. data.value[2], value = "1"}
if kept.error ~= nil then return end
return %s
"""


@pytest.mark.parametrize("returned", ["data.value[2]", "tonumber(data.value[2])", None])
def test_a_custom_handler_is_measured_by_the_numbers_that_it_returns(lab: Lab, returned: str | None) -> None:
    product = lab.product("meter", resources={"count": "integer", "other": "integer"})
    acme = lab.solution("acme", products=[product])
    if returned is not None:
        acme.on("device", "datapoint", lua=LUA % returned)
    else:

        async def keep(data: Any, services: Any) -> int | None:
            kept = await services.Keystore.set(key=f"{data['device_sn']}{data['value'][1]}", value="1")
            return None if "error" in (kept or {}) else int(data["value"][1])

        acme.on("device", "datapoint", keep)
    lab.faults.add("Keystore.set", status=500, every=4)
    fleet = product.fleet(2, Counts(every=10))
    run = fleet.run(minutes=10, accounts=acme, progress=False)
    keys = acme.Keystore.list()["keys"]
    assert run.losses["handled"].sum() == len(keys) == 90
    assert run.losses["lost"].sum() == 30
    assert run.losses["acknowledged"].sum() == 120
    assert run.summary.endswith("; handled as the handler of 'acme' returned the numbers")
    added = fleet.run(minutes=10, accounts=True, progress=False)  # whatever that handler does
    assert added.losses["handled"].sum() == 120
    assert "; handled by a handler that the run added" in added.summary
    assert run.losses["handled"].sum() == 90  # no event of a later run


def test_a_solution_whose_handler_gets_no_events_of_the_product_is_refused(lab: Lab) -> None:
    fleet = lab.product("meter", resources={"count": "integer"}).fleet(2, Counts)
    acme = lab.solution("acme", products=[lab.product("lamp")])
    acme.on("device", "datapoint", lua="return data.value[2]")
    with pytest.raises(LabError, match="'acme' gets no events of product 'meter'"):
        fleet.run(60, accounts=acme)
    assert fleet.run(60, accounts=True).done


def test_a_number_that_the_handler_never_received_is_lost() -> None:
    with Lab(seed=7) as lab:
        product = lab.product("thermostat", resources={"count": "number", "other": "number"})
        deaf = lab.solution("deaf", products=[product])
        deaf.route(
            "GET", "/accounts", lambda: {"t-001": [str(stamp(1, 1)), str(stamp(1, 3)), str(stamp(1, 2))]}
        )
        run = product.fleet(1, Twice).run(hours=1, accounts=deaf)
    assert row_of(run.losses) | {"sent": 5, "lost": 2, "doubled": 0, "reordered": 1} == row_of(run.losses)


def row_of(losses: Any) -> dict[str, int]:
    found: dict[str, int] = losses.to_dict("records")[0]
    return found


def test_the_example_solution_reports_what_its_handler_received() -> None:
    with Lab(seed=7) as lab:
        product = lab.product("thermostat", resources={"count": "number", "other": "number"})
        solution = lab.solution("accounts", products=[product], path=SOLUTION)
        assert list(route_deliveries(solution.get("/accounts").json())) == []
        accounts = Accounts()
        for identity in ("t-1", "t-ü/=&"):
            device = product.device(identity).activate()
            for lost in (False, True, False):
                number = accounts.sent(identity, 1)
                if not lost:
                    device.write(count=stamp(1, number), other=7)
                accounts.acknowledged(identity, 1, number)
        lab.settle()
        for identity, value in route_deliveries(solution.get("/accounts").json()):
            accounts.handled(identity, value)
    assert accounts.summary == "6 sent, 6 acknowledged, 4 handled: 2 lost, 0 doubled, 0 reordered"
