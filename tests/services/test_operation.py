"""Declaration of operations: names, arguments, refusals, and values in the journal."""

from __future__ import annotations

import inspect
import time
from typing import Annotated, Any, ClassVar

import pytest
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, Secret, SecretStr

from labkit.core.errors import ServiceError
from labkit.services.operation import Caller, Operation, Service, operation
from labkit.services.redaction import InJournal, lengths
from tests.cases import cases


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
    """A shop with another `sell` and one more operation."""

    name: ClassVar[str] = "Bazaar"

    @operation
    async def haggle(self, caller: Caller, price: float) -> float:
        """Return half the price."""
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
    ]  # a service has the operations of its base class
    assert Service.operations == {}
    assert Shop().offered(Caller("acme")) is Shop.operations
    assert (SELL.service, SELL.name, SELL.doc, Shop.operations["close"].doc) == (
        "Shop",
        "sell",
        "Sell an item.",
        "",
    )


def test_the_signature_has_the_platforms_names_in_python_form() -> None:
    parameters = SELL.signature.parameters
    assert list(parameters) == ["item", "count", "from_", "tags", "pin"]
    assert {each.kind for each in parameters.values()} == {inspect.Parameter.KEYWORD_ONLY}
    assert parameters["item"].default is inspect.Parameter.empty
    assert parameters["count"].default == 1


async def test_arguments_are_the_methods_parameters() -> None:
    arguments = SELL.arguments({"item": 5, "from": "there", "unknown": 1})
    assert arguments == {"item": "5", "count": 1, "from_": "there", "tags": [], "pin": None}
    sold = await SELL.function(Shop(), Caller("acme"), **arguments)
    assert sold == {"item": "5", "count": 1, "from": "there", "tags": ["acme"]}
    assert SELL.arguments({"item": "x"})["tags"] == []  # a default cannot be modified


async def test_an_operation_may_accept_undeclared_arguments() -> None:
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
    assert label.shown({"item": 5, **words}) == {"item": 5, **hidden}  # undeclared values may contain secrets


@cases(
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
def test_an_invalid_parameter_is_an_error_with_its_name(parameters: dict[str, Any], message: str) -> None:
    said = refused(parameters)
    assert said.startswith(message)
    assert "s3cret" not in said


def test_the_journal_has_known_parameters_without_secrets() -> None:
    given = {"item": "x", "pin": "s3cret", "unknown": "u", "from": "here"}
    assert SELL.shown(given) == {"item": "x", "from": "here", "pin": "***"}
    assert SELL.secrets == {"pin"}


class Card(BaseModel):
    number: str
    code: SecretStr
    others: list[Card] = []


class Safe(Service):
    """A service with secrets in arguments of every type."""

    name: ClassVar[str] = "Safe"

    @operation
    async def keep(
        self,
        caller: Caller,
        box: str,
        content: Annotated[object, InJournal(lengths)],
        pins: list[SecretStr] | None = None,
        table: Secret[dict[str, Any]] | None = None,
        card: Card | None = None,
    ) -> None:
        """Keep something."""


KEEP = Safe.operations["keep"]


def test_secrets_are_found_in_every_type_that_contains_them() -> None:
    assert KEEP.secrets == {"pins", "table", "card"}


@cases(
    ("content", "shown"),
    [
        ("s3cret", "<6 characters>"),
        ("x", "<1 character>"),
        (12.5, "<4 characters>"),
        (True, "<bool>"),
        (None, "<NoneType>"),
        (["s3cret", {"a": "s3cret"}], ["<6 characters>", {"a": "<6 characters>"}]),
        (["x"] * 1000, ["<1 character>"] * 100),
    ],
)
def test_the_journal_has_lengths_of_stored_values(content: object, shown: object) -> None:
    assert KEEP.shown({"box": "b", "content": content}) == {"box": "b", "content": shown}
    assert KEEP.shown({"content": content, "pins": ["1"]}, values=True) == {"content": content, "pins": "***"}


def test_unknown_arguments_are_named_with_a_suggestion() -> None:
    given = {"item": 1, "form": 1, "Count": 2, "zzz": 3, 7: 4}
    assert SELL.unknown(given) == {"form": "from", "Count": "count", "zzz": None, "7": None}
    assert SELL.warnings(given) == [
        "form is not a parameter of sell; did you mean from?",
        "Count is not a parameter of sell; did you mean count?",
        "zzz is not a parameter of sell",
        "7 is not a parameter of sell; each value needs a name",
    ]
    assert SELL.unknown({"item": 1, "from": 2}) == {}
    assert SELL.unknown(["from_"]) == {"from_": "from"}
    assert Shop.operations["label"].unknown(given) == {}  # an operation that accepts any argument


def test_endless_unknown_names_take_no_time() -> None:
    began = time.process_time()
    found = SELL.unknown({"item" * 10**5: 1, **{f"item{n}": n for n in range(10**5)}})
    assert time.process_time() - began < 0.5
    assert len(found) == 20
    assert found["item" * 16] is None
