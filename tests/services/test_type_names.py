"""Names of types in listings and help."""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, PlainValidator, Secret, SecretStr

from labkit.services.type_names import type_name, with_type_names
from tests.cases import cases


class Pot(BaseModel):
    lid: str
    size: int


@dataclass
class Cup:
    size: int


@cases(
    ("annotation", "name"),
    [
        (str, "str"),
        (str | None, "str | None"),
        (Annotated[int, BeforeValidator(int)] | None, "int | None"),
        (list[Annotated[str, BeforeValidator(str)]], "list[str]"),
        (tuple[str, ...], "list[str]"),
        (dict[str, Any], "dict[str, Any]"),
        (SecretStr, "str"),
        (Secret[dict[str, int]], "dict[str, int]"),
        (Annotated[int, PlainValidator(int, json_schema_input_type=str)], "str"),
        (Annotated[int, PlainValidator(int)], "int"),
        (list[Pot], "list[{lid, size}]"),
        (list[Cup], "list[{size}]"),
    ],
)
def test_types_have_names_of_the_scripting_language(annotation: Any, name: str) -> None:
    assert type_name(annotation) == name


def test_a_signature_has_these_names() -> None:
    def sell(
        *, item: Annotated[str, Field(max_length=9)], tags: Sequence[str] = (), **others: object
    ) -> None: ...

    shown = with_type_names(inspect.signature(sell))
    assert str(shown) == "(*, item: str, tags: list[str] = (), **others: object) -> None"
