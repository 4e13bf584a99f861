"""Types of arguments for names, tags and values of time series, with their bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import islice
from typing import Annotated

from pydantic import PlainValidator

from labkit.services.arguments import is_unicode, json_number
from labkit.services.bounds import shown_name
from labkit.services.redaction import MOST_ITEMS, InJournal, lengths, names
from labkit.services.series.store import FALSE, TRUE, Value

LONGEST_NAME = 200  # characters of a name, and of the value of a tag
LONGEST_VALUE = 2**16  # characters of a text
MOST_TAGS = 20  # of a point
MOST_METRICS = 100  # of a write, and of a query
MOST_POINTS = 10_000  # of a call
MOST_CHOICES = 100  # accepted values of one tag in a query
LARGEST = 2**63


def checked_name(value: object) -> str:
    """Return a name or the value of a tag. Raises ValueError."""
    if isinstance(value, bool):
        value = "true" if value else "false"
    elif isinstance(value, int | float) and abs(value) < LARGEST:
        value = json_number(value)
    if not isinstance(value, str) or not 1 <= len(value) <= LONGEST_NAME or not value.isprintable():
        raise ValueError(f"expected a name of 1 to {LONGEST_NAME} printable characters")
    return value


def checked_value(name: str, value: object) -> Value:
    """Return a value as it is stored. name: for the error. Raises ValueError."""
    kind = type(value)
    if kind is bool:
        return TRUE if value else FALSE
    if isinstance(value, int) and -LARGEST <= value < LARGEST:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, str) and len(value) <= LONGEST_VALUE and is_unicode(value):
        return value
    raise ValueError(
        f"{shown_name(name)}: expected a finite number, a boolean or a text of at most {LONGEST_VALUE} characters"
    )


def _mapping(value: object, most: int, of: str) -> Mapping[object, object]:
    if value == [] or value is None:  # an empty table of a script may look like a list
        return {}
    if not isinstance(value, Mapping):
        raise ValueError(f"expected a table of {of} by name")
    if len(value) > most:
        raise ValueError(f"expected at most {most} {of}, not {len(value)}")
    return value


def checked_metrics(value: object) -> dict[str, Value]:
    """Return the values of a write by metric. Raises ValueError."""
    given = _mapping(value, MOST_METRICS, "metrics")
    if not given:
        raise ValueError("expected at least one metric with its value")
    return {(name := checked_name(each)): checked_value(name, item) for each, item in given.items()}


def checked_tags(value: object) -> dict[str, str]:
    """Return the tags of a point by name. Raises ValueError."""
    return {
        checked_name(each): checked_name(item) for each, item in _mapping(value, MOST_TAGS, "tags").items()
    }


def _wanted_tags(value: object) -> dict[str, list[str]]:
    """Return the accepted values of tags by name."""
    wanted = {}
    for each, item in _mapping(value, MOST_TAGS, "tags").items():
        choices = item if isinstance(item, list | tuple) else [item]
        if len(choices) > MOST_CHOICES:
            raise ValueError(f"expected at most {MOST_CHOICES} values of a tag, not {len(choices)}")
        wanted[checked_name(each)] = [checked_name(choice) for choice in choices]
    return wanted


def _name_list(value: object) -> list[str]:
    if value == {} or value is None:
        return []
    listed = value if isinstance(value, list | tuple) else [value]
    if len(listed) > MOST_METRICS:
        raise ValueError(f"expected at most {MOST_METRICS} names, not {len(listed)}")
    return list(dict.fromkeys(checked_name(each) for each in listed))


def _recent_metrics(value: object) -> list[str | list[str]]:
    """Return what `recent` reads: metrics, and lists of a metric and those that were written together with it."""
    listed = value if isinstance(value, list | tuple) else _name_list(value)
    if (
        len(listed) > MOST_METRICS
        or sum(len(each) for each in listed if isinstance(each, list | tuple)) > MOST_METRICS
    ):
        raise ValueError(f"expected at most {MOST_METRICS} names")
    found = [_name_list(each) if isinstance(each, list | tuple) else checked_name(each) for each in listed]
    if [] in found:
        raise ValueError("expected a list with a name")
    return [each for number, each in enumerate(found) if each not in found[:number]]


def _shown_recent(value: object) -> object:
    return [names(each) for each in value[:MOST_ITEMS]] if isinstance(value, list | tuple) else names(value)


def _shown_values(value: object) -> object:
    """Return values by name for the journal: the names, and the lengths of the values."""
    if not isinstance(value, Mapping):
        return lengths(value)
    return {str(names(name)): lengths(each) for name, each in islice(value.items(), MOST_ITEMS)}


def _shown_tags(value: object) -> object:
    """Return tags for the journal, without what looks like a secret."""
    if not isinstance(value, Mapping):
        return lengths(value)
    return {str(names(name)): names(each) for name, each in islice(value.items(), MOST_ITEMS)}


_Values = dict[str, float | int | str | bool]
_Accepted = dict[str, str | list[str]]

Metrics = Annotated[
    dict[str, Value],
    PlainValidator(checked_metrics, json_schema_input_type=_Values),
    InJournal(_shown_values),
]
Tags = Annotated[dict[str, str], PlainValidator(checked_tags), InJournal(_shown_tags)]
WantedTags = Annotated[
    dict[str, list[str]],
    PlainValidator(_wanted_tags, json_schema_input_type=_Accepted),
    InJournal(_shown_tags),
]
RecentMetrics = Annotated[
    list[str | list[str]],
    PlainValidator(_recent_metrics, json_schema_input_type=str | list[str | list[str]]),
    InJournal(_shown_recent),
]
Names = Annotated[
    list[str], PlainValidator(_name_list, json_schema_input_type=str | list[str]), InJournal(names)
]
Name = Annotated[str, PlainValidator(checked_name, json_schema_input_type=str), InJournal(names)]
