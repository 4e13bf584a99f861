"""Events: which handler runs, what it gets, and how it ends."""

from typing import Any

from tests.cases import cases
from tests.solutions.rig import handle, solution_rig

DATA = {"alias": "temperature", "value": [1_767_225_600, "21.5"], "pid": "thermostat"}


@cases(
    ("key", "event"),
    [
        (("device", "datapoint"), ("device", "datapoint")),
        (("device2", "datapoint"), ("device", "datapoint")),
        (("{product.id}", "datapoint"), ("device", "datapoint")),
        (("thermostat", "datapoint"), ("device", "datapoint")),
        (("device2", "event"), ("device2", "event")),
        (("{product.id}", "event"), ("device2", "event")),
        (("thermostat", "event"), ("device2", "event")),
        (("Device2", "event"), ("device2", "event")),
    ],
)
async def test_a_handler_is_found_by_each_of_its_keys(key: tuple[str, str], event: tuple[str, str]) -> None:
    async with solution_rig() as lab:
        solution = await lab.add()
        assert solution.find(*event, product="thermostat") is None
        solution.on(*key, lambda event: event)
        assert solution.find(*event, product="thermostat")
        outcome = await handle(solution, *event, DATA, product="thermostat")
        assert outcome is not None
        assert (outcome.status, outcome.result) == (200, DATA)


async def test_the_most_particular_handler_gets_the_event() -> None:
    async with solution_rig() as lab:
        solution = await lab.add()
        solution.on("device", "datapoint", lambda: "any")
        solution.on("thermostat", "datapoint", lambda: "mine")
        results = [
            await handle(solution, "device", "datapoint", DATA, product=product)
            for product in ("thermostat", "x")
        ]
        assert [each and each.result for each in results] == ["mine", "any"]


async def test_events_compare_with_letter_case() -> None:
    async with solution_rig() as lab:
        solution = await lab.add()
        solution.on("user", "account", lambda: 1)
        assert solution.find("user", "Account") is None
        assert await handle(solution, "user", "Account", {}) is None
        assert lab.records("script") == []


async def test_the_event_has_its_fixed_name_and_event() -> None:
    async with solution_rig() as lab:
        solution = await lab.add()
        solution.on(
            "device", "datapoint", lambda data, event, context: [data["alias"], event["alias"], context]
        )
        outcome = await handle(solution, "device", "datapoint", DATA)
        assert outcome is not None
        assert isinstance(outcome.result, list)
        alias, same, context = outcome.result
        assert alias == same == "temperature"
        assert context["solution_id"] == "acme"
        assert (context["service"], context["event"], context["script_key"]) == (
            "device",
            "datapoint",
            "device",
        )


async def test_nothing_returned_is_204() -> None:
    async with solution_rig() as lab:
        solution = await lab.add()
        solution.on("user", "account", lambda: None)
        outcome = await handle(solution, "user", "account", {}, cause=None)
        assert outcome is not None
        assert (outcome.status, outcome.result) == (204, None)
        assert [each.status for each in lab.records("script")] == [204]


async def test_a_failure_is_an_outcome_and_a_record() -> None:
    async with solution_rig() as lab:
        solution = await lab.add()
        solution.on("user", "account", lambda event: event["x"])
        cause = lab.journal.record("event", "somebody", "account")
        outcome = await handle(solution, "user", "account", {}, cause=cause)
        assert outcome is not None
        assert (outcome.status, outcome.error) == (500, "KeyError: 'x'")
        (script,) = lab.records("script")
        assert (script.summary, script.status, script.cause) == ("user account", 500, cause)


async def test_events_without_a_handler_go_to_the_fallback() -> None:
    async with solution_rig() as lab:
        solution = await lab.add()
        solution.on(
            "config", "fallback", lambda event, context: [event, context["service"], context["event"]]
        )
        assert solution.find("interface", "light")
        outcome = await handle(solution, "interface", "light", {"on": True})
        assert outcome is not None
        assert outcome.result == [{"on": True}, "interface", "light"]


async def test_a_function_cannot_change_the_event_of_others() -> None:
    async with solution_rig() as lab:
        solution = await lab.add()

        def spoil(event: Any) -> None:
            event["value"].append("spoilt")

        solution.on("device", "datapoint", spoil)
        payload = {"value": [1, "x"]}
        await handle(solution, "device", "datapoint", payload)
        assert payload == {"value": [1, "x"]}
