"""Faults in accepting a publisher's configuration."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from labkit.conformance.breaking import change_arguments
from labkit.conformance.mutant import Patch, patch
from labkit.core.errors import SettingsError

READ = "labkit.services.interface.configuration:Definition.read"
KEY = "default_script_key"
ANY = {"type": ["string", "number", "boolean", "array", "object"]}

Table = dict[str, Any]
Text = Callable[[str], str]
Change = Callable[[Any], Any]


def without(key: str) -> Callable[[Table], Table]:
    """Return a change of a table that drops a key."""
    return lambda table: {name: each for name, each in table.items() if name != key}


def reads(requirement: str, title: str, change: Callable[[Table], Table]) -> Patch:
    """Return a patch by which a configuration is read as another."""
    return patch(requirement, READ, title)(change_arguments(plain=lambda plain: change(dict(plain))))


def value(requirement: str, title: str, path: str, change: Change, kind: type = str) -> Patch:
    """Return a patch that changes a value of a configuration, if it is of this kind; for a list, each of its items."""
    return reads(requirement, title, lambda plain: _with(plain, path.split("."), change, kind))


def _with(plain: Any, path: list[str], change: Change, kind: type) -> Any:
    if not path and isinstance(plain, kind):
        return change(plain)
    if isinstance(plain, list):
        return [_with(each, path, change, kind) for each in plain]
    if not path or not isinstance(plain, dict) or path[0] not in plain:
        return plain
    return plain | {path[0]: _with(plain[path[0]], path[1:], change, kind)}


def cut(length: int) -> Text:
    """Return a change that cuts a text to a length."""
    return lambda text: text[:length]


def only(fits: Callable[[str], object]) -> Text:
    """Return a change that refuses a text that does not fit."""

    def checked(text: str) -> str:
        if not fits(text):
            raise SettingsError(f"expected another text, not {text!r}")
        return text

    return checked


def most(length: int) -> Text:
    """Return a change that refuses texts longer than `length`."""
    return only(lambda text: len(text) <= length)


def other(pattern: str, by: str) -> Text:
    """Return a change that replaces a pattern in a text."""
    return lambda text: re.sub(pattern, by, text)


long_keys = value("IFC-DEF-1", "a key of 64 characters is taken", KEY, cut(63))
digits_first = value("IFC-DEF-1", "a key may begin with a digit", KEY, other(r"^\d", "d"))
short_keys = value("IFC-DEF-1", "a key of one character is taken", KEY, other("^(.)$", r"\1\1"))
keys_of_62 = value("IFC-DEF-1", "a key has at most 62 characters", KEY, most(62))
special_keys = value("IFC-DEF-1", "a key may have any characters", KEY, other("[^A-Za-z0-9]", "x"))
name_required = value(
    "IFC-DEF-2", "a name of which no key can be made is refused", "name", only(re.compile("[A-Za-z]").match)
)
long_names = value("IFC-DEF-3", "a name of 101 characters is taken", "name", cut(100))
names_of_99 = value("IFC-DEF-3", "a name has at most 99 characters", "name", most(99))
long_texts = value("IFC-DEF-4", "a description of 1001 characters is taken", "description", cut(1000))
texts_of_999 = value("IFC-DEF-4", "a description has at most 999 characters", "description", most(999))
any_email = value("IFC-DEF-5", "an email may be anything", "contact", without("email"), dict)
long_contacts = value("IFC-DEF-5", "a contact's name may be of 101 characters", "contact.name", cut(100))
many_tags = value("IFC-DEF-6", "eleven tags are taken", "tags", lambda tags: tags[:10], list)
nine_tags = value("IFC-DEF-6", "ten tags are refused", "tags", lambda tags: tags + tags[9:], list)
long_tags = value("IFC-DEF-6", "a tag of 21 characters is taken", "tags", cut(20))
empty_tags = value("IFC-DEF-6", "an empty tag is taken", "tags", other("^$", "x"))
short_parameters = value(
    "IFC-DEF-7", "a parameter's name may have two characters", "parameters.name", other("^(..)$", r"\1x")
)
long_parameters = value(
    "IFC-DEF-7", "a parameter's name may have 101 characters", "parameters.name", cut(100)
)
long_explanations = value(
    "IFC-DEF-7", "a parameter's description may have 1001", "parameters.description", cut(1000)
)
any_parameter = value(
    "IFC-DEF-7", "a parameter without type is taken", "parameters", lambda each: ANY | each, dict
)
null_parameter = value(
    "IFC-DEF-7", "a parameter may have the type null", "parameters.type", other("^null$", "string")
)
no_items = value("IFC-DEF-7", "items of a parameter are not read", "parameters", without("items"), dict)
one_letter = value("IFC-DEF-8", "a name may have one letter", "operations.name", other("^a$", "aa"))
any_letter = value(
    "IFC-DEF-8", "names may have other characters", "operations.name", other(r"[_\W]|[^\x00-\x7f]", "x")
)
letters_alone = value(
    "IFC-DEF-8", "names of operations have no digits", "operations.name", only(lambda name: name.isalpha())
)
any_mode = reads(
    "IFC-DEF-9",
    "an unknown mode is ignored",
    lambda plain: plain if plain.get("mode") in ("sync", "async") else without("mode")(plain),
)
sync_alone = value("IFC-DEF-9", "the mode async is refused", "mode", only(lambda mode: mode == "sync"))


@patch("IFC-DEF-2", READ)
def id_as_key(original: Any, cls: Any, /, plain: Any, *, solution: str, name: str) -> Any:
    """the default of default_script_key is the solution's id, whatever the name"""
    return original(cls, {KEY: solution, **plain}, solution=solution, name=name)
