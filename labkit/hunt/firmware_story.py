"""Story of one program on lab time, for hunts without any Python: `labkit hunt --firmware "./client t-001"`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from labkit.core.errors import SettingsError, UnknownError, unknown
from labkit.hunt.draw import Draw
from labkit.hunt.promises.ready import (
    keeps_polling,
    nothing_lost,
    programs_run,
    recovers_within,
    requests_bounded,
)
from labkit.hunt.story import Story
from labkit.lab.lab import Lab
from labkit.lab.observer import LabObserver
from labkit.lab.product import Product
from labkit.settings import LabSettings, load

DAY = 86400.0  # seconds
SILENT = 600.0  # seconds without a poll that a program may take: longer than a poll of five minutes
RECOVERY = 600.0
MOST_REQUESTS = 60  # of a program in a minute
DEFAULT_PRODUCT = "device"


class FirmwareStory(Story):
    """Story whose lab has the settings of a file: those of its parameter `config`."""

    def lab_settings(self, parameters: Mapping[str, object]) -> dict[str, Any]:
        """Return the settings of a play's lab, in memory and on free ports alone. parameters: of the story."""
        config = parameters.get("config")
        return {**self.settings, "config": _private(load(str(config)))} if config else {**self.settings}


def _promised(function: Callable[..., object]) -> FirmwareStory:
    """Return the story of a function, with the ready promises for a program."""
    promises = [
        programs_run(),
        keeps_polling(SILENT),
        recovers_within(RECOVERY),
        requests_bounded(MOST_REQUESTS),
        nothing_lost(),
    ]
    return FirmwareStory(function, {}, promises=promises)


@_promised
def program(
    lab: Lab,
    draw: Draw,
    *,
    command: Sequence[str] = (),
    days: float = 1.0,
    identity: str = "",
    product: str = "",
    resources: Mapping[str, Any] = {},
    config: str = "",
    env: Mapping[str, str] = {},
) -> str:
    """Let a program live in a folder of its own.

    command: the program and its arguments, of which files are relative to the current folder; days: of lab time;
    identity: of the device that it is, by default as `identity_of`; product: by default the only one of the lab, or a
    new one with these resources; config: file of the lab's settings; env: variables. `{url}` in a word of the command
    or in a variable is the URL of the product.
    """
    made = product_of(lab, product, resources)
    url = made.url()
    words = [each.replace("{url}", url) for each in command]
    variables = {name: each.replace("{url}", url) for name, each in env.items()}
    lab.firmware(words, identity=identity or identity_of(command), env=variables, fresh=True)
    lab.wait(seconds=days * DAY)
    return f"the product {made.id}, {url}"


def identity_of(command: Sequence[str]) -> str:
    """Return the identity of a program that has none given: the last word of its command, without a folder."""
    return Path(command[-1]).name if command else ""


def product_of(lab: Lab, name: str, resources: Mapping[str, Any]) -> Product:
    """Return the product of the program: the one of this name, the only one, or a new one.

    Raises UnknownError for a name that the lab's file does not have, SettingsError for one of several without a name.
    """
    known = sorted(LabObserver(lab).product_ids())
    if not known:
        return lab.product(name or DEFAULT_PRODUCT, resources=dict(resources))
    if name and name not in known:
        raise UnknownError(unknown("product", name, known))
    if not name and len(known) > 1:
        raise SettingsError(f"the lab has several products, so name that of the program: {', '.join(known)}")
    return lab.product(name or known[0])


def _private(settings: LabSettings) -> LabSettings:
    """Return settings for one of several labs at a time, each of which is new."""
    plain = None if settings.http_port is None else 0
    return settings.model_copy(update={"data": None, "control": None, "http_port": plain, "proxy_port": None})
