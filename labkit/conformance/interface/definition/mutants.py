"""Faults in what is taken as a publisher's configuration."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from labkit.conformance.mutant import mutant, patch
from labkit.core.errors import SettingsError

READ = "labkit.services.interface.configuration:Definition.read"
SECTIONS = ("operations", "events")

Table = dict[str, Any]
Text = Callable[[str], str]
Change = Callable[[Any], Any]


def read(change: Callable[[Table], Table]) -> Change:
    """Have a configuration read as another."""

    def replace(original: Any) -> Any:
        def broken(cls: Any, /, plain: Any, **named: Any) -> Any:
            return original.__func__(cls, change(dict(plain)), **named)

        return classmethod(broken)

    return replace


def in_table(key: str, kind: type, change: Callable[[Any], Any]) -> Callable[[Table], Table]:
    """Change a value of a table where it is of this kind."""
    return lambda table: table | {key: change(table[key])} if isinstance(table.get(key), kind) else table


def text(key: str, change: Text) -> Change:
    return read(in_table(key, str, change))


def entries(change: Callable[[Table], Table], *sections: str) -> Change:
    """Have the entries of sections read as others."""

    def changed(plain: Table) -> Table:
        for section in sections or SECTIONS:
            if isinstance(found := plain.get(section), list):
                plain[section] = [change(dict(each)) for each in found]
        return plain

    return read(changed)


def contact(change: Callable[[Table], Table]) -> Change:
    return read(in_table("contact", dict, change))


def tags(change: Callable[[list[Any]], list[Any]]) -> Change:
    return read(in_table("tags", list, change))


def parameter(key: str, change: Text) -> Change:
    return entries(in_table(key, str, change), "parameters")


def without(key: str) -> Callable[[Table], Table]:
    return lambda table: {name: each for name, each in table.items() if name != key}


def cut(length: int) -> Text:
    return lambda text: text[:length]


def refuse(fits: Callable[[str], object]) -> Text:
    """Refuse a text that does not fit."""

    def checked(text: str) -> str:
        if not fits(text):
            raise SettingsError(f"expected another text, not {text!r}")
        return text

    return checked


def other(pattern: str, by: str) -> Text:
    return lambda text: re.sub(pattern, by, text)


KEY = "default_script_key"
long_keys = patch("IFC-DEF-1", READ, "a default_script_key of 64 characters is taken", text(KEY, cut(63)))
keys_with_digits_first = patch(
    "IFC-DEF-1", READ, "a default_script_key may begin with a digit", text(KEY, other(r"^\d", "d"))
)
short_keys = patch(
    "IFC-DEF-1", READ, "a default_script_key of one character is taken", text(KEY, other("^(.)$", r"\1\1"))
)
keys_of_62 = patch(
    "IFC-DEF-1",
    READ,
    "a default_script_key has at most 62 characters",
    text(KEY, refuse(lambda key: len(key) <= 62)),
)
special_keys = patch(
    "IFC-DEF-1", READ, "a default_script_key may have other characters", text(KEY, other("[^A-Za-z0-9]", "x"))
)
name_required = patch(
    "IFC-DEF-2",
    READ,
    "a name of which no key can be made is refused",
    text("name", refuse(lambda name: re.match("[A-Za-z]", name))),
)
long_names = patch("IFC-DEF-3", READ, "a name of 101 characters is taken", text("name", cut(100)))
names_of_99 = patch(
    "IFC-DEF-3",
    READ,
    "a name has at most 99 characters",
    text("name", refuse(lambda name: len(name) <= 99)),
)
long_descriptions = patch(
    "IFC-DEF-4", READ, "a description of 1001 characters is taken", text("description", cut(1000))
)
descriptions_of_999 = patch(
    "IFC-DEF-4",
    READ,
    "a description has at most 999 characters",
    text("description", refuse(lambda text: len(text) <= 999)),
)
any_email = patch("IFC-DEF-5", READ, "the email of a contact may be anything", contact(without("email")))
long_contacts = patch(
    "IFC-DEF-5",
    READ,
    "the name of a contact may be of 101 characters",
    contact(in_table("name", str, cut(100))),
)
many_tags = patch("IFC-DEF-6", READ, "eleven tags are taken", tags(lambda tags: tags[:10]))
nine_tags = patch(
    "IFC-DEF-6",
    READ,
    "ten tags are refused",
    tags(lambda tags: tags if len(tags) < 10 else ["x"] * 11),
)
long_tags = patch(
    "IFC-DEF-6",
    READ,
    "a tag of 21 characters is taken",
    tags(lambda tags: [tag[:20] if isinstance(tag, str) else tag for tag in tags]),
)
empty_tags = patch(
    "IFC-DEF-6", READ, "an empty tag is taken", tags(lambda tags: [tag or "x" for tag in tags])
)
short_parameters = patch(
    "IFC-DEF-7",
    READ,
    "a parameter's name of two characters is taken",
    parameter("name", other("^(..)$", r"\1x")),
)
long_parameters = patch(
    "IFC-DEF-7", READ, "a parameter's name of 101 characters is taken", parameter("name", cut(100))
)
long_parameter_descriptions = patch(
    "IFC-DEF-7",
    READ,
    "a parameter's description of 1001 characters is taken",
    parameter("description", cut(1000)),
)
any_parameter = patch(
    "IFC-DEF-7",
    READ,
    "a parameter without type may be of any",
    entries(lambda each: {"type": ["string", "number", "boolean", "array", "object"], **each}, "parameters"),
)
no_items = patch(
    "IFC-DEF-7", READ, "items of a parameter are not read", entries(without("items"), "parameters")
)
one_letter = patch(
    "IFC-DEF-8",
    READ,
    "an operation's name of one letter is taken",
    entries(in_table("name", str, other("^a$", "aa"))),
)
any_letter = patch(
    "IFC-DEF-8",
    READ,
    "names of operations may have underscores and other letters",
    entries(in_table("name", str, other(r"[_\W]|[^\x00-\x7f]", "x"))),
)
letters_alone = patch(
    "IFC-DEF-8",
    READ,
    "names of operations have no digits",
    entries(in_table("name", str, refuse(lambda name: not re.search(r"\d", name)))),
)
any_mode = patch(
    "IFC-DEF-9",
    READ,
    "a mode that is none is ignored",
    read(lambda plain: plain if plain.get("mode") in ("sync", "async") else without("mode")(plain)),
)
sync_alone = patch(
    "IFC-DEF-9", READ, "the mode async is refused", text("mode", refuse(lambda mode: mode == "sync"))
)


@mutant("IFC-DEF-2", READ)
def id_as_key(original: Any) -> Any:
    """the default of default_script_key is the solution's id, whatever the name"""

    def broken(cls: Any, /, plain: Any, *, solution: str, name: str) -> Any:
        return original.__func__(cls, {KEY: solution, **plain}, solution=solution, name=name)

    return classmethod(broken)
