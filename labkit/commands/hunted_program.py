"""Story of a program, and its parameters, from the options of `labkit hunt --firmware`."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from labkit.core.errors import LabError, SettingsError
from labkit.core.machine import slowness
from labkit.core.words import plural

if TYPE_CHECKING:
    from labkit.hunt.story import Story

OF_PROGRAM = ("firmware", "days", "hours", "identity", "product", "resources", "config", "env")  # options
INSTANT = 1 / 86400  # days of the play that shows whether the program starts at all
REAL = 60.0  # real seconds of a play for each day of lab time


def program_story(
    options: Mapping[str, Any], given: Mapping[str, object]
) -> tuple[Story, dict[str, object], str]:
    """Return the story of a program, its parameters, and a sentence that names its product and its lab time.

    options: of the command line; given: parameters by --set. Raises LabError if the program does not start.
    """
    from labkit.hunt.firmware_story import identity_of, program
    from labkit.hunt.plays.play import play_unwarned

    if sys.platform != "linux":
        raise LabError("--firmware: programs live on lab time under Linux only")
    command = _words(options["firmware"])
    days = options["days"] if options["days"] is not None else 0.0 if options["hours"] is not None else 1.0
    days += (options["hours"] or 0.0) / 24
    if not days:
        raise SettingsError("--days: expected a time above 0")
    formats = _pairs("--resource", "ALIAS=FORMAT", options["resources"])
    parameters: dict[str, object] = {
        "command": command,
        "days": days,
        "identity": options["identity"] or identity_of(command),
        "product": options["product"] or "",
        "resources": {name: {"format": each, "settable": True} for name, each in formats.items()},
        "config": options["config"] or "",
        "env": _pairs("--env", "NAME=VALUE", options["env"]),
        **given,
    }
    try:
        played = play_unwarned(program, 0, check=False, parameters={**parameters, "days": INSTANT})
    except LabError as error:
        raise LabError(_line(error)) from None
    if played.error is not None:
        raise LabError(_line(played.error)) from None
    if broken := [each.reason for each in played.verdicts if each.state == "broken"]:
        printed = [
            each["summary"]
            for each in map(json.loads, played.journal.splitlines())
            if each["kind"] == "output"
        ]
        last = f"; it printed last: {printed[-1]!r:.200}" if printed else ""
        raise LabError(f"--firmware: at its start, without any fault: {broken[0]}{last}")
    return program, parameters, _made(parameters, str(played.result))


def real_seconds(parameters: Mapping[str, object]) -> dict[str, float]:
    """Return the limit of real time of a hunt's plays, which grows with the lab time that the program lives."""
    return {"within": max(1.0, float(str(parameters["days"]))) * REAL * slowness()}


def _made(parameters: Mapping[str, Any], where: str) -> str:
    days = parameters["days"]
    count, unit = (days, "day") if days >= 1 else (days * 24, "hour")
    lasts = f"{count:g} {plural(count, unit)}"
    return (
        f"{shlex.join(parameters['command'])} lives {lasts} as the device {parameters['identity']} of {where}"
    )


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise SettingsError(f"--firmware: {error} in {command!r:.100}") from None
    if not words:
        raise SettingsError('--firmware: expected a program and its arguments: "./client t-001"')
    return words


def _pairs(option: str, expected: str, given: Iterable[str]) -> dict[str, str]:
    found = {}
    for each in given:
        name, separator, value = each.partition("=")
        if not (name and separator):
            raise SettingsError(f"{option} {each}: expected {expected}")
        found[name] = value
    return found


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())
