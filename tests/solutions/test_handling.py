"""Handling of events: selected handlers, arguments, and outcomes."""

from tests.solutions.rig import handle, solution_rig

DATA = {"alias": "temperature", "value": [1_767_225_600, "21.5"], "pid": "thermostat"}


async def test_events_are_case_sensitive() -> None:
    async with solution_rig() as lab:
        solution = await lab.add()
        solution.on("user", "account", lambda: 1)
        assert solution.find("user", "Account") is None
        assert await handle(solution, "user", "Account", {}) is None
        assert lab.records("script") == []


async def test_a_handler_gets_the_event_under_both_names_and_a_context() -> None:
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


async def test_no_result_is_204() -> None:
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
