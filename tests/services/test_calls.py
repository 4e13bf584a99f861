"""Calls of operations: results, error objects, and journal records."""

from __future__ import annotations

import gc
import json
import weakref
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar

import pytest
from pydantic import BeforeValidator

from labkit.core.errors import ServiceError
from labkit.core.record_lines import is_problem, record_line
from labkit.core.records import Record
from labkit.services.bounds import shown_name
from labkit.services.calls import REMEMBERED, SHORT, Services
from labkit.services.operation import Caller, Operation, Parameters, Service, operation
from tests.cases import cases
from tests.context import make_context


class Scales:
    made: ClassVar[list[weakref.ref[Scales]]] = []


def refuse(value: object) -> object:
    scales = Scales()  # a local variable of the frame in the exception's traceback
    Scales.made.append(weakref.ref(scales))
    raise ValueError("the scales are broken")


class Shop(Service):
    """A service of these tests; it offers `steal` to one solution only."""

    name: ClassVar[str] = "Shop"

    @operation
    async def sell(self, caller: Caller, item: str, price: int = 1, key: str = "") -> object:
        if item == "none":
            raise ServiceError(404, "there is none")
        if item == "broken":
            raise ServiceError(500, "the till is stuck")
        if item == "lost":
            raise KeyError(item)
        return {"item": item, "price": price, "to": caller.solution, "key": key}

    @operation
    async def weigh(self, caller: Caller, item: Annotated[str, BeforeValidator(refuse)]) -> object:
        return item

    @operation
    async def steal(self, caller: Caller) -> object:
        return []

    def offered(self, caller: Caller) -> Mapping[str, Operation]:
        if caller.solution == "thief":
            return self.operations
        return {name: each for name, each in self.operations.items() if name != "steal"}


class Looks:
    validated: ClassVar[list[object]] = []


def look(value: object) -> object:
    Looks.validated.append(value)
    return value


class Stall(Service):
    """Another service, whose calls are cached."""

    name: ClassVar[str] = "Stall"
    shares_arguments: ClassVar[bool] = True

    @operation
    async def sell(
        self, caller: Caller, item: Annotated[str, BeforeValidator(look)], price: int = 1
    ) -> object:
        if price < 0:
            raise ServiceError(409, "too cheap")
        return {"item": item, "price": price, "to": caller.solution}


def read(text: str) -> Parameters:
    return Parameters(text.encode(), json.loads)


class Environment:
    def __init__(self) -> None:
        context = make_context()
        self.journal = context.journal
        self.configuration = context.configuration
        self.configuration["acme"] = {"Shop": {"price": 7, "none": 1}}
        self.services = Services(context, [Shop(), Stall()])

    async def call(self, *named: Any, solution: str = "other", cause: int | None = None) -> Any:
        return await self.services.call(Caller(solution, cause), *named)

    @property
    def entry(self) -> Record:
        [entry] = self.journal
        return entry


@pytest.fixture
def environment() -> Environment:
    return Environment()


async def test_a_result_and_its_record(environment: Environment) -> None:
    cause = environment.journal.record("event", "other", "that a script handles")
    result = await environment.call("Shop", "sell", {"item": "x", "price": 3, "nonsense": 1}, cause=cause)
    assert result == {"item": "x", "price": 3, "to": "other", "key": ""}
    [_, entry] = environment.journal
    assert (entry.kind, entry.actor, entry.summary, entry.cause, entry.status, entry.detail) == (
        "call",
        "other",
        "Shop.sell",
        cause,
        200,
        {
            "parameters": {"item": "x", "price": 3},
            "unknown": {"nonsense": None},
            "hint": "nonsense is not a parameter of sell",
        },
    )


@pytest.mark.parametrize(
    ("named", "hint"),
    [
        (("Shopp", "sell", {}), "there is no service 'Shopp'; did you mean Shop?"),
        (("Shop", "sel", {"item": "x"}), "Shop has no operation 'sel'; did you mean sell?"),
        (("Shop", "sell", {"itm": "x"}), "itm is not a parameter of sell; did you mean item?"),
        (("Shop", "sell", {"item": "x", "é": 1}), "é is not a parameter of sell"),
        (("Stall", "sell", read('{"itm": "x"}')), "itm is not a parameter of sell; did you mean item?"),
        (
            ("Stall", "sell", read('{"item": "x", "prize": 2}')),
            "prize is not a parameter of sell; did you mean price?",
        ),
        (("Qq", "sell", {}), "there is no service 'Qq'; `stubs` in lab.yaml, or lab.service, can add it"),
        (("Shop", "x" * 100, {}), f"Shop has no operation '{'x' * 64}…'"),
    ],
)
async def test_a_misspelt_call_has_a_hint_and_is_reported_once_for_a_handler(
    environment: Environment, named: tuple[str, str, object], hint: str
) -> None:
    causes = [environment.journal.record("script", "other", f"device {name}") for name in "aab"]
    for cause in causes:
        await environment.call(*named, cause=cause)
    await environment.call(*named)  # of a cell, which is warned by itself
    calls = environment.journal.select("call")
    assert [(each.detail or {})["hint"] for each in calls] == [hint] * 4
    assert all(is_problem(each) for each in calls)
    assert (
        record_line(calls[0])
        .partition(": ")[2]
        .endswith(hint if calls[0].status in (200, 404) else f" ({hint})")
    )
    mistakes = environment.services.mistakes
    shown = f"{named[0]}.{shown_name(named[1])}: {hint}"
    assert mistakes.take() == [f"solution 'other', device {name}: {shown}" for name in "ab"]
    await environment.call(*named, cause=causes[0])
    assert mistakes.take() == []
    mistakes.forget("another")
    await environment.call(*named, cause=causes[0])
    assert mistakes.take() == []
    mistakes.forget("other")
    await environment.call(*named, cause=causes[0])
    assert len(mistakes.take()) == 1


async def test_a_call_without_mistakes_has_no_hint(environment: Environment) -> None:
    cause = environment.journal.record("script", "other", "device a")
    for given in ({"item": "x"}, {"item": "none"}, {}):
        await environment.call("Shop", "sell", given, cause=cause)
    assert not any("hint" in (each.detail or {}) for each in environment.journal)
    assert environment.services.mistakes.take() == []


@pytest.mark.parametrize(
    ("named", "text", "status"),
    [
        (("Shop", "sell", {"item": "none"}), "there is none", 404),
        (("Shop", "sell", {"item": "broken"}), "the till is stuck", 500),
        (("Shop", "sell", {}), "Parameter item is required.", 400),
        (("Shop", "sell", "x"), "arguments must be a table", 400),
        (("Shop", "sell", [1]), "arguments must be a table", 400),
        (("Store", "sell", {}), "Service Store Not Found", 404),
        (("Shop", "buy", {}), "Operation buy of service Shop Not Found", 404),
        (("Shop", "steal", {}), "Operation steal of service Shop Not Found", 404),
    ],
)
async def test_an_error_object_and_its_record(
    environment: Environment, named: Any, text: str, status: int
) -> None:
    kind = "QueryError" if status < 500 else "ServerError"
    error = {"type": kind, "error": text, "status": status, "status_code": status}
    assert await environment.call(*named) == error
    entry = environment.entry
    assert (entry.status, entry.summary) == (status, f"{named[0]}.{named[1]}")
    assert entry.detail is not None
    assert entry.detail["error"] == error


async def test_any_other_exception_of_an_operation_is_a_500_object_with_a_traceback(
    environment: Environment,
) -> None:
    error = {"type": "ServerError", "error": "Shop.sell: KeyError: 'lost'", "status": 500, "status_code": 500}
    assert await environment.call("Shop", "sell", {"item": "lost"}) == error
    detail: Any = environment.entry.detail
    assert environment.entry.status == 500
    assert (detail["parameters"], detail["error"]) == ({"item": "lost"}, error)
    assert detail["trace"][-1].startswith("test_calls.py:")
    assert detail["trace"][-1].endswith(" in sell")


async def test_an_operation_may_be_offered_to_some_solutions_only(environment: Environment) -> None:
    assert await environment.call("Shop", "steal", solution="thief") == []
    assert sorted(environment.services.operations(Caller("thief"))["Shop"]) == ["sell", "steal", "weigh"]
    assert sorted(environment.services.operations(Caller("acme"))["Shop"]) == ["sell", "weigh"]
    assert [service.name for service in environment.services] == ["Shop", "Stall"]


@cases("nothing", [None, {}, []])  # an empty table of a script may arrive as a list
async def test_empty_values_are_no_parameters(environment: Environment, nothing: object) -> None:
    assert (await environment.call("Shop", "sell", nothing))["error"] == "Parameter item is required."


async def test_configured_parameters_are_the_defaults_of_their_solution(environment: Environment) -> None:
    assert (await environment.call("Shop", "sell", {"item": "x"}, solution="acme"))["price"] == 7
    assert (await environment.call("Shop", "sell", {"item": "x", "price": 2}, solution="acme"))["price"] == 2
    assert (await environment.call("Shop", "sell", {"item": "x"}))["price"] == 1
    environment.configuration["other"] = {"Shop": {"price": 9}}  # as for a running lab
    assert (await environment.call("Shop", "sell", {"item": "x"}))["price"] == 9


async def test_the_journal_suggests_names_for_unknown_arguments(environment: Environment) -> None:
    await environment.call("Shop", "sell", {"itm": "x", "Price": 3, 7: "seven"})
    detail: Any = environment.entry.detail
    assert detail["unknown"] == {"itm": "item", "Price": "price", "7": None}
    assert detail["error"]["error"] == "Parameter item is required."


@pytest.mark.parametrize("named", [("Twilio", "postMessage"), ("Shop", "ship"), ("Shop", "steal")])
async def test_a_call_of_an_unknown_operation_has_its_arguments_in_the_journal(
    environment: Environment, named: tuple[str, str]
) -> None:
    given = {
        "From": "+15005550006",
        "AuthToken": "s3cret",
        "apiKey": "s3cret",
        "password": "s3cret",
        "options": {"api_key": ["s3cret"], "retries": 2, "tags": ["a", {"accesstoken": "s3cret"}]},
    }
    result = await environment.call(*named, given)
    assert result["status"] == 404
    detail: Any = environment.entry.detail
    assert detail["parameters"] == {
        "From": "+15005550006",
        "AuthToken": "***",
        "apiKey": "***",
        "password": "***",
        "options": {"api_key": "***", "retries": 2, "tags": ["a", {"accesstoken": "***"}]},
    }


@pytest.mark.parametrize("odd", [None, [], [1, 2], "text", {1: 2}, {"\udc80": "x"}])
async def test_arguments_of_any_type_are_recorded(environment: Environment, odd: Any) -> None:
    assert (await environment.call("Twilio", "postMessage", odd))["status"] == 404
    detail: Any = environment.entry.detail
    assert detail["parameters"] == ({"1": 2} if odd == {1: 2} else odd)
    environment.journal.canonical().encode("utf-8", "surrogatepass")


async def test_endless_arguments_of_an_unknown_operation_are_cut(environment: Environment) -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    await environment.call(
        "Twilio", "post", {"deep": deep, "many": [1] * 10**6, **{f"n{n}": n for n in range(10**5)}}
    )
    detail: Any = environment.entry.detail
    assert len(str(detail)) < 5000
    assert detail["parameters"]["…"] == 10**5 + 2 - 100


async def test_long_names_are_cut_in_the_journal_and_in_errors(environment: Environment) -> None:
    for named in (("S" * 10**6, "sell"), ("Shop", "s" * 10**6)):
        result = await environment.call(*named)
        assert (result["status"], len(result["error"]) < 200) == (404, True)
    assert all(len(entry.summary) < 200 for entry in environment.journal)


async def test_a_refused_call_keeps_no_reference(environment: Environment) -> None:
    """Values of the validator of a refused argument are freed after the call."""
    assert (await environment.call("Shop", "weigh", {"item": "feather"}))["status"] == 400
    gc.collect()
    [watched] = Scales.made
    assert watched() is None


# --- cached calls -------------------------------------------------------------------------------------------


@pytest.fixture
def validated() -> Iterator[list[object]]:
    Looks.validated.clear()
    yield Looks.validated
    Looks.validated.clear()


async def test_a_call_with_the_same_text_is_not_validated_again(
    environment: Environment, validated: list[object]
) -> None:
    for solution in ("other", "third"):
        result = await environment.call("Stall", "sell", read('{"item":"pear","price":2}'), solution=solution)
        assert result == {"item": "pear", "price": 2, "to": solution}
    assert validated == ["pear"]
    first, second = environment.journal
    assert first.detail == second.detail == {"parameters": {"item": "pear", "price": 2}}
    assert (first.status, second.status, second.summary) == (200, 200, "Stall.sell")


@pytest.mark.parametrize("text", ["1", "0", '"x"', "[1]", "false"])
async def test_a_text_that_is_no_table_is_refused_and_recorded(environment: Environment, text: str) -> None:
    refused = await environment.call("Stall", "sell", read(text))
    assert (refused["status"], refused["error"]) == (400, "arguments must be a table")
    assert environment.entry.status == 400


async def test_a_call_with_another_text_is_validated(
    environment: Environment, validated: list[object]
) -> None:
    for parameters in (read('{"item":"1"}'), read('{"item":"2"}'), {"item": "1"}, {"item": "1"}):
        await environment.call("Stall", "sell", parameters)
    assert validated == ["1", "2", "1", "1"]


async def test_a_repeated_refusal_is_refused_and_recorded_each_time(
    environment: Environment, validated: list[object]
) -> None:
    for _ in range(2):
        wrong = await environment.call("Stall", "sell", read('{"item":"pear","price":"x"}'))
        assert wrong["status"] == 400
    assert validated == ["pear", "pear"]
    cheap = '{"item":"pear","price":-1}'
    late = [await environment.call("Stall", "sell", read(cheap)) for _ in range(2)]
    assert [each["status"] for each in late] == [409, 409]
    *_, third, fourth = environment.journal
    assert third.detail == fourth.detail == {"parameters": {"item": "pear", "price": -1}, "error": late[0]}


async def test_a_change_of_the_configuration_takes_effect_on_cached_calls(environment: Environment) -> None:
    async def price(solution: str) -> Any:
        sold = await environment.call("Stall", "sell", read('{"item":"pear"}'), solution=solution)
        return sold["price"]

    assert [await price("other"), await price("third")] == [1, 1]
    environment.configuration["other"] = {"Stall": {"price": 9}}
    assert [await price("other"), await price("third")] == [9, 1]
    environment.configuration["other"] = {}
    assert await price("other") == 1


async def test_a_service_that_replaces_another_does_not_use_its_cached_calls(
    environment: Environment, validated: list[object]
) -> None:
    await environment.call("Stall", "sell", read('{"item":"pear"}'))
    await environment.services.remove("Stall")
    gone = await environment.call("Stall", "sell", read('{"item":"pear"}'))
    assert gone["status"] == 404
    await environment.services.add(Stall())
    await environment.call("Stall", "sell", read('{"item":"pear"}'))
    assert validated == ["pear", "pear"]


async def test_only_a_limited_number_of_small_calls_is_cached(
    environment: Environment, validated: list[object]
) -> None:
    for item in [*map(str, range(REMEMBERED + 1)), "0"]:
        await environment.call("Stall", "sell", read(json.dumps({"item": item})))
    assert len(validated) == REMEMBERED + 2
    for _ in range(2):
        await environment.call("Stall", "sell", read(json.dumps({"item": "x" * SHORT})))
    assert len(validated) == REMEMBERED + 4
