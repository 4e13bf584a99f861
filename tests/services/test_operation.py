"""How operations are declared: names, arguments, what they refuse, what the journal may see."""

from __future__ import annotations

import inspect
from typing import Annotated, Any, ClassVar

import pytest
from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from labkit.core.errors import ServiceError
from labkit.services.operation import Caller, Operation, Service, operation


def _short(text: str) -> str:
    if len(text) > 5:
        raise ValueError("expected at most 5 characters")
    return text


Text = Annotated[str, BeforeValidator(lambda value: str(value) if isinstance(value, int) else value)]


class Shop(Service):
    """A service of these tests."""

    name: ClassVar[str] = "Shop"

    @operation
    async def sell(
        self,
        caller: Caller,
        item: Text,
        count: Annotated[int, Field(ge=1)] = 1,
        from_: Annotated[str, AfterValidator(_short)] = "here",
        tags: list[str] = [],  # noqa: B006 - pydantic copies defaults
        pin: SecretStr | None = None,
    ) -> dict[str, object]:
        """Sell an item."""
        tags.append(caller.solution)
        return {"item": item, "count": count, "from": from_, "tags": tags}

    @operation
    async def close(self, caller: Caller) -> dict[str, object]:
        return {}

    @operation
    async def label(self, caller: Caller, /, item: Text, **words: object) -> dict[str, object]:
        return {"item": item, "words": words, "by": caller.solution}

    async def restock(self, caller: Caller) -> None:
        """Not for scripts."""


class Bazaar(Shop):
    """A shop that sells differently, and one thing more."""

    name: ClassVar[str] = "Bazaar"

    @operation
    async def haggle(self, caller: Caller, price: float) -> float:
        """Half the price."""
        return price / 2


SELL = Shop.operations["sell"]


def refused(parameters: dict[str, Any], declared: Operation = SELL) -> str:
    with pytest.raises(ServiceError) as error:
        declared.arguments(parameters)
    assert (error.value.status, error.value.type) == (400, "QueryError")
    return error.value.message


def test_only_marked_methods_are_operations() -> None:
    assert sorted(Shop.operations) == ["close", "label", "sell"]
    assert sorted(Bazaar.operations) == [
        "close",
        "haggle",
        "label",
        "sell",
    ]  # a service has those of its base
    assert Service.operations == {}
    assert Shop().offered(Caller("acme")) is Shop.operations
    assert (SELL.service, SELL.name, SELL.doc, Shop.operations["close"].doc) == (
        "Shop",
        "sell",
        "Sell an item.",
        "",
    )


def test_the_signature_is_that_of_the_platform_with_python_names() -> None:
    parameters = SELL.signature.parameters
    assert list(parameters) == ["item", "count", "from_", "tags", "pin"]
    assert {each.kind for each in parameters.values()} == {inspect.Parameter.KEYWORD_ONLY}
    assert parameters["item"].default is inspect.Parameter.empty
    assert parameters["count"].default == 1


async def test_arguments_are_those_that_the_method_takes() -> None:
    arguments = SELL.arguments({"item": 5, "from": "there", "unknown": 1})
    assert arguments == {"item": "5", "count": 1, "from_": "there", "tags": [], "pin": None}
    sold = await SELL.function(Shop(), Caller("acme"), **arguments)
    assert sold == {"item": "5", "count": 1, "from": "there", "tags": ["acme"]}
    assert SELL.arguments({"item": "x"})["tags"] == []  # a default is nobody's to change


async def test_an_operation_may_collect_what_it_does_not_declare() -> None:
    label = Shop.operations["label"]
    words = {"color": "red", "self": 1, "caller": [2], "two words": None, "words": {}}
    arguments = label.arguments({"item": 5, **words})
    assert await label.function(Shop(), Caller("acme"), **arguments) == {
        "item": "5",
        "words": words,
        "by": "acme",
    }
    assert refused(words, label) == "Parameter item is required."
    assert refused({"item": 5, "\udc80": 1}, label) == "The name of a parameter is not valid Unicode."
    assert str(label.signature.parameters["words"]) == "**words: object"
    hidden = dict.fromkeys(words, "***")
    assert label.shown({"item": 5, **words}) == {"item": 5, **hidden}  # nobody knows what they hold


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "Parameter item is required."),
        ({"count": 0}, "Parameter item is required."),
        ({"item": "x", "count": 0}, "Parameter count validation failed: Input should be greater than"),
        (
            {"item": "x", "count": "many"},
            "Parameter count validation failed: Input should be a valid integer",
        ),
        (
            {"item": "x", "from": "far away"},
            "Parameter from validation failed: expected at most 5 characters.",
        ),
        (
            {"item": "x", "tags": ["a", 5]},
            "Parameter tags.1 validation failed: Input should be a valid string.",
        ),
        ({"item": None}, "Parameter item validation failed: "),
        ({"item": "x", "pin": ["s3cret"]}, "Parameter pin validation failed: "),
    ],
)
def test_a_wrong_parameter_is_named(parameters: dict[str, Any], message: str) -> None:
    said = refused(parameters)
    assert said.startswith(message)
    assert "s3cret" not in said


def test_the_journal_sees_known_parameters_without_secrets() -> None:
    given = {"item": "x", "pin": "s3cret", "unknown": "u", "from": "here"}
    assert SELL.shown(given) == {"item": "x", "from": "here", "pin": "***"}
    assert SELL.secrets == {"pin"}
