"""Files with parameters of services, `services/<service>.yaml`, and what is probably wrong in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_origin

from pydantic import BaseModel

from labkit.core.errors import SettingsError, did_you_mean
from labkit.services.operation import WITHOUT_EFFECT, Service
from labkit.settings.products import Resource
from labkit.settings.validation import line_of, models_in
from labkit.solutions.folders.folder_finding import FolderFinding, Level

Parameters = Mapping[str, Mapping[str, Any]]  # by service


@dataclass(frozen=True)
class ConfigurationFile:
    """A file with parameters of a service. lines: the line of each key, such as `api_info.title`."""

    service: str
    file: str
    parameters: dict[str, Any]
    lines: dict[str, int]


def in_file(error: SettingsError, files: Sequence[ConfigurationFile], others: Parameters) -> SettingsError:
    """Return an error about a service's parameter with the file and the line of that parameter, if a file has it.

    error: its sentences begin with `services.<service>: <key>: `; others: parameters that override those of files.
    """
    parts = [_in_file(each, files, others) for each in error.parts]
    return SettingsError("; ".join(parts), parts)


def _in_file(text: str, files: Sequence[ConfigurationFile], others: Parameters) -> str:
    where, _, rest = text.partition(": ")
    service = where.removeprefix("services.").lower()
    key = rest.partition(": ")[0]
    first = key.partition(".")[0].partition("[")[0]
    if any(name.lower() == service and first in given for name, given in others.items()):
        return text
    for each in reversed(files):
        if each.service.lower() == service and first in each.parameters:
            return f"{each.file}:{line_of(each.lines, key)}: {rest}"
    return text


def of_keys(
    files: Iterable[ConfigurationFile], settings: Parameters, services: Iterable[Service]
) -> Iterator[FolderFinding]:
    """Yield a finding for each parameter that its service does not have, and for each without an effect here.

    It is a warning if the name resembles another, else a note: scripts may read parameters of their own. settings:
    parameters of services in the settings of the solution, beside those in files.
    """
    known = {each.name.lower(): each for each in services}
    for file in files:
        if service := known.get(file.service.lower()):
            yield from _of_service(service, file.parameters, file.file, file.lines)
    for name, parameters in settings.items():
        if service := known.get(name.lower()):
            yield from _of_service(service, parameters, f"services.{name}", {})


def _of_service(
    service: Service, given: Mapping[str, Any], file: str, lines: Mapping[str, int]
) -> Iterator[FolderFinding]:
    model = service.configuration_model
    for key in map(str, given):
        if model is None or key not in model.model_fields:
            yield from _of_key(service, key, file, lines.get(key, 0))
    if model is not None:
        for key, text, level in _of_model(model, given, ""):
            yield FolderFinding(file, line_of(lines, key), level, f"{key}: {text}")


def _of_model(
    model: type[BaseModel], given: Mapping[str, Any], where: str
) -> Iterator[tuple[str, str, Level]]:
    """Yield path, sentence and level of each key that has no effect, and below the first level of unknown ones."""
    for key, value in given.items():
        field, path = model.model_fields.get(str(key)), f"{where}{key}"
        if field is None:
            if where:
                yield path, f"unknown key, ignored{did_you_mean(key, model.model_fields)}", "warning"
        elif WITHOUT_EFFECT in field.metadata:
            yield path, WITHOUT_EFFECT, "note"
        elif isinstance(value, Mapping) and (inner := next(models_in(field.annotation), None)):
            named = get_origin(field.annotation) is dict  # by names, whatever these are
            tables = {f"{path}.{name}": each for name, each in value.items()} if named else {path: value}
            for below, table in tables.items():
                if isinstance(table, Mapping):
                    if issubclass(inner, Resource) and "initial" in table and not table.get("settable"):
                        yield f"{below}.initial", "no effect, since the resource is not settable", "warning"
                    yield from _of_model(inner, table, f"{below}.")


def _of_key(service: Service, key: str, file: str, line: int) -> Iterator[FolderFinding]:
    declared = service.operations.values()
    known = [
        *(name for each in declared for name in each.attributes),
        *service.without_effect,
        *(service.configuration_model.model_fields if service.configuration_model else ()),
    ]
    if key in service.without_effect:
        yield FolderFinding(file, line, "note", f"{key}: {WITHOUT_EFFECT}")
    elif (
        key not in known
        and service.gives_defaults
        and (service.configuration_model or not any(each.collects for each in declared))
    ):
        similar = did_you_mean(
            key, service.configuration_model.model_fields if service.configuration_model else known
        )
        text = f"{key}: {service.name} has no such parameter{similar or ', only scripts may read it'}"
        yield FolderFinding(file, line, "warning" if similar else "note", text)
