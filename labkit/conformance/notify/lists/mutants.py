"""Faults of lists of bindings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from labkit.conformance.faults import CALL
from labkit.conformance.mutant import mutant
from labkit.conformance.notify.faults import Table, parameters, results, without

LIST = "listBinding"
PAGE = "labkit.providers.messaging.bindings:page"
DAY = 86_400


def selected(original: Any, change: Any) -> Any:
    """Change what a list selects."""

    def broken(connection: Any, service: str, wanted: Any, *args: Any, **named: Any) -> Any:
        return original(connection, service, change(wanted), *args, **named)

    return broken


@mutant("NTF-LIST-1", CALL)
def keyed_by_sid(original: Any) -> Any:
    """bindings are an object by sid"""
    return results(
        original, lambda found: {**found, "bindings": {each["sid"]: each for each in found["bindings"]}}, LIST
    )


@mutant("NTF-LIST-1", CALL)
def fewer_fields(original: Any) -> Any:
    """a list has less of a binding than getBinding"""
    return results(
        original,
        lambda found: {**found, "bindings": [without(each, "tags") for each in found["bindings"]]},
        LIST,
    )


@mutant("NTF-LIST-2", PAGE)
def first_identity(original: Any) -> Any:
    """of several identities the first counts"""
    return selected(original, lambda wanted: replace(wanted, identities=wanted.identities[:1]))


@mutant("NTF-LIST-2", PAGE)
def every_identity(original: Any) -> Any:
    """identities do not count"""
    return selected(original, lambda wanted: replace(wanted, identities=()))


@mutant("NTF-LIST-3 NTF-LIST-5", PAGE)
def first_tag(original: Any) -> Any:
    """of several tags the first counts"""
    return selected(original, lambda wanted: replace(wanted, tags=wanted.tags[:1]))


@mutant("NTF-LIST-4", CALL)
def tag_dropped(original: Any) -> Any:
    """of more than 20 tags the first 20 are taken"""
    return parameters(original, lambda given: cut(given, 20), LIST)


@mutant("NTF-LIST-4", CALL)
def nineteen_tags(original: Any) -> Any:
    """of 20 tags 19 are taken"""
    return parameters(
        original, lambda given: cut(given, 19) if len(given.get("Tag") or "") == 20 else given, LIST
    )


def cut(given: Table, most: int) -> Table:
    """Parameters with so many tags at most."""
    return {**given, "Tag": given["Tag"][:most]} if isinstance(given.get("Tag"), list) else given


@mutant("NTF-LIST-5", PAGE)
def all_is_a_tag(original: Any) -> Any:
    """all is a tag like others"""
    return selected(
        original,
        lambda wanted: replace(wanted, tags=tuple("All" if each == "all" else each for each in wanted.tags)),
    )


@mutant("NTF-LIST-6", PAGE)
def last_day_excluded(original: Any) -> Any:
    """the last day does not belong to it"""
    return selected(
        original,
        lambda wanted: wanted if wanted.before is None else replace(wanted, before=wanted.before - DAY),
    )


@mutant("NTF-LIST-6", PAGE)
def first_second_excluded(original: Any) -> Any:
    """the first second of the first day does not belong to it"""
    return selected(
        original, lambda wanted: wanted if wanted.since is None else replace(wanted, since=wanted.since + 1)
    )


@mutant("NTF-LIST-6", PAGE)
def another_zone(original: Any) -> Any:
    """days are those of another zone"""
    return selected(
        original,
        lambda wanted: replace(
            wanted,
            since=None if wanted.since is None else wanted.since - 3600,
            before=None if wanted.before is None else wanted.before - 3600,
        ),
    )


@mutant("NTF-LIST-7", CALL)
def pages_from_one(original: Any) -> Any:
    """the first page has number 1"""
    return meta(original, lambda page: {**page, "page": page["page"] + 1})


@mutant("NTF-LIST-7", CALL)
def no_next_page(original: Any) -> Any:
    """the next page is never told"""
    return meta(original, lambda page: without(page, "next_page_url"))


def meta(original: Any, change: Any) -> Any:
    """Change the meta of a list."""
    return results(original, lambda found: {**found, "meta": change(found["meta"])}, LIST)
