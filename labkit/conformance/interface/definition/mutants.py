"""Faults in what is taken as a publisher's configuration."""

from __future__ import annotations

import re
from typing import Any

from labkit.conformance.mutant import mutant
from labkit.core.errors import SettingsError

READ = "labkit.services.interface.configuration:Definition.read"

Table = dict[str, Any]


def _read(original: Any, change: Any) -> Any:
    """Have a configuration read as another: change(plain)."""

    def broken(cls: Any, /, plain: Any, **named: Any) -> Any:
        return original.__func__(cls, change(dict(plain)), **named)

    return classmethod(broken)


def _text(original: Any, key: str, change: Any) -> Any:
    """Have a text of a configuration read as another."""

    def changed(plain: Table) -> Table:
        return plain | {key: change(plain[key])} if isinstance(plain.get(key), str) else plain

    return _read(original, changed)


def _most(original: Any, key: str, most: int) -> Any:
    """Refuse a text that is longer."""

    def checked(text: str) -> str:
        if len(text) > most:
            raise SettingsError(f"{key}: at most {most} characters")
        return text

    return _text(original, key, checked)


def _entries(original: Any, sections: tuple[str, ...], change: Any) -> Any:
    """Have the entries of sections read as others: change(entry)."""

    def changed(plain: Table) -> Table:
        for section in sections:
            if isinstance(entries := plain.get(section), list):
                plain[section] = [change(dict(each)) for each in entries]
        return plain

    return _read(original, changed)


@mutant("IFC-DEF-1", READ)
def long_keys(original: Any) -> Any:
    """a default_script_key of 64 characters is taken"""
    return _text(original, "default_script_key", lambda key: key[:63])


@mutant("IFC-DEF-1", READ)
def keys_with_digits_first(original: Any) -> Any:
    """a default_script_key may begin with a digit"""
    return _text(original, "default_script_key", lambda key: re.sub(r"^\d", "d", key))


@mutant("IFC-DEF-1", READ)
def short_keys(original: Any) -> Any:
    """a default_script_key of one character is taken"""
    return _text(original, "default_script_key", lambda key: key * 2 if len(key) == 1 else key)


@mutant("IFC-DEF-1", READ)
def keys_of_62(original: Any) -> Any:
    """a default_script_key has at most 62 characters"""
    return _most(original, "default_script_key", 62)


@mutant("IFC-DEF-1", READ)
def special_keys(original: Any) -> Any:
    """a default_script_key may have other characters"""
    return _text(original, "default_script_key", lambda key: re.sub(r"[^A-Za-z0-9]", "x", key))


@mutant("IFC-DEF-2", READ)
def id_as_key(original: Any) -> Any:
    """the default of default_script_key is the solution's id, whatever the name"""

    def broken(cls: Any, /, plain: Any, *, solution: str, name: str) -> Any:
        return original.__func__(cls, {"default_script_key": solution, **plain}, solution=solution, name=name)

    return classmethod(broken)


@mutant("IFC-DEF-2", READ)
def name_required(original: Any) -> Any:
    """a name of which no key can be made is refused"""

    def checked(name: str) -> str:
        if not re.match(r"[A-Za-z]", name):
            raise SettingsError("default_script_key: is required")
        return name

    return _text(original, "name", checked)


@mutant("IFC-DEF-3", READ)
def long_names(original: Any) -> Any:
    """a name of 101 characters is taken"""
    return _text(original, "name", lambda name: name[:100])


@mutant("IFC-DEF-3", READ)
def names_of_99(original: Any) -> Any:
    """a name has at most 99 characters"""
    return _most(original, "name", 99)


@mutant("IFC-DEF-4", READ)
def long_descriptions(original: Any) -> Any:
    """a description of 1001 characters is taken"""
    return _text(original, "description", lambda text: text[:1000])


@mutant("IFC-DEF-4", READ)
def descriptions_of_999(original: Any) -> Any:
    """a description has at most 999 characters"""
    return _most(original, "description", 999)


def _contact(original: Any, change: Any) -> Any:
    def changed(plain: Table) -> Table:
        contact = plain.get("contact")
        return plain | {"contact": change(dict(contact))} if isinstance(contact, dict) else plain

    return _read(original, changed)


@mutant("IFC-DEF-5", READ)
def any_email(original: Any) -> Any:
    """the email of a contact may be anything"""
    return _contact(
        original, lambda contact: {name: each for name, each in contact.items() if name != "email"}
    )


@mutant("IFC-DEF-5", READ)
def long_contacts(original: Any) -> Any:
    """the name of a contact may be of 101 characters"""
    return _contact(original, lambda contact: contact | {"name": contact.get("name", "")[:100]})


def _tags(original: Any, change: Any) -> Any:
    def changed(plain: Table) -> Table:
        tags = plain.get("tags")
        return plain | {"tags": change(tags)} if isinstance(tags, list) else plain

    return _read(original, changed)


@mutant("IFC-DEF-6", READ)
def many_tags(original: Any) -> Any:
    """eleven tags are taken"""
    return _tags(original, lambda tags: tags[:10])


@mutant("IFC-DEF-6", READ)
def nine_tags(original: Any) -> Any:
    """ten tags are refused"""
    return _tags(original, lambda tags: tags if len(tags) < 10 else ["x"] * 11)


@mutant("IFC-DEF-6", READ)
def long_tags(original: Any) -> Any:
    """a tag of 21 characters is taken"""
    return _tags(original, lambda tags: [tag[:20] if isinstance(tag, str) else tag for tag in tags])


@mutant("IFC-DEF-6", READ)
def empty_tags(original: Any) -> Any:
    """an empty tag is taken"""
    return _tags(original, lambda tags: [tag or "x" for tag in tags])


def _parameter(original: Any, key: str, change: Any) -> Any:
    def changed(entry: Table) -> Table:
        return entry | {key: change(entry[key])} if isinstance(entry.get(key), str) else entry

    return _entries(original, ("parameters",), changed)


@mutant("IFC-DEF-7", READ)
def short_parameters(original: Any) -> Any:
    """a parameter's name of two characters is taken"""
    return _parameter(original, "name", lambda name: name + "x" if len(name) == 2 else name)


@mutant("IFC-DEF-7", READ)
def long_parameters(original: Any) -> Any:
    """a parameter's name of 101 characters is taken"""
    return _parameter(original, "name", lambda name: name[:100])


@mutant("IFC-DEF-7", READ)
def long_parameter_descriptions(original: Any) -> Any:
    """a parameter's description of 1001 characters is taken"""
    return _parameter(original, "description", lambda text: text[:1000])


@mutant("IFC-DEF-7", READ)
def any_parameter(original: Any) -> Any:
    """a parameter without type may be of any"""
    every = ["string", "number", "boolean", "array", "object"]
    return _entries(original, ("parameters",), lambda entry: {"type": every, **entry})


@mutant("IFC-DEF-7", READ)
def no_items(original: Any) -> Any:
    """items of a parameter are not read"""
    return _entries(
        original,
        ("parameters",),
        lambda entry: {name: each for name, each in entry.items() if name != "items"},
    )


SECTIONS = ("operations", "events")


@mutant("IFC-DEF-8", READ)
def one_letter(original: Any) -> Any:
    """an operation's name of one letter is taken"""
    return _entries(
        original,
        SECTIONS,
        lambda entry: entry | {"name": "aa"} if entry.get("name") == "a" else entry,
    )


@mutant("IFC-DEF-8", READ)
def any_letter(original: Any) -> Any:
    """names of operations may have underscores and other letters"""
    return _entries(
        original,
        SECTIONS,
        lambda entry: entry | {"name": re.sub(r"[_\W]|[^\x00-\x7f]", "x", str(entry.get("name", "")))},
    )


@mutant("IFC-DEF-8", READ)
def letters_alone(original: Any) -> Any:
    """names of operations have no digits"""

    def checked(entry: Table) -> Table:
        if re.search(r"\d", str(entry.get("name"))):
            raise SettingsError("operations[0].name: expected letters")
        return entry

    return _entries(original, SECTIONS, checked)


@mutant("IFC-DEF-9", READ)
def any_mode(original: Any) -> Any:
    """a mode that is none is ignored"""
    return _read(
        original,
        lambda plain: (
            plain
            if plain.get("mode") in ("sync", "async")
            else {name: each for name, each in plain.items() if name != "mode"}
        ),
    )


@mutant("IFC-DEF-9", READ)
def sync_alone(original: Any) -> Any:
    """the mode async is refused"""
    return _text(original, "mode", lambda mode: mode if mode == "sync" else "both")
