"""Type of an argument that has some of the fields of settings: `{"auth": "password"}`."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, create_model
from pydantic_core import CoreSchema, core_schema, to_jsonable_python


class SomeOf:
    """Annotation of a mapping of some fields of a model; calls from other processes are checked against the model.

    without: fields that cannot be given.
    """

    def __init__(self, model: type[BaseModel], *without: str) -> None:
        self._model = model
        self._without = without

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        fields: dict[str, Any] = {
            name: (field.rebuild_annotation(), None)
            for name, field in self._model.model_fields.items()
            if name not in self._without
        }
        config = ConfigDict(extra="forbid")
        some = create_model(f"{self._model.__name__}Changes", __config__=config, **fields)
        return core_schema.no_info_after_validator_function(
            _given,
            handler.generate_schema(some),
            serialization=core_schema.plain_serializer_function_ser_schema(
                to_jsonable_python, when_used="json"
            ),
        )


def _given(changes: BaseModel) -> dict[str, Any]:
    return {name: getattr(changes, name) for name in changes.model_fields_set}
