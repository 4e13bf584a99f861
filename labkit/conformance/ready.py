"""Address of a platform elsewhere: the line that `labkit serve --json` prints, or the URL of its control."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from labkit.core.errors import SettingsError
from labkit.core.ready_line import TOKEN_VARIABLE, host_of, ready_values
from labkit.fleet.flow import LabAddress

SHOWN = 3  # names that an error lists
NOWHERE = LabAddress("", 0, "")


class Ready(NamedTuple):
    """Addresses of a platform elsewhere.

    domains: of products and solutions, by id; control: arguments of `Lab.connect`, which then says the rest, None
    without control.
    """

    address: LabAddress
    domains: dict[str, str]
    http_port: int | None
    control: tuple[str, str | None, str | None] | None = None


def read_ready(ready: str | dict[str, Any]) -> Ready:
    """Return the addresses in a ready line, in a file with it, or of the URL of a lab's control.

    The line's key `host` is optional. Control is used with the token in the line or in LABKIT_TOKEN. Raises
    SettingsError if the line cannot be read or a key is missing.
    """
    if isinstance(ready, str) and ready.startswith(("http://", "https://")):
        return Ready(NOWHERE, {}, None, (ready, None, None))
    try:
        data = ready if isinstance(ready, dict) else ready_values(ready, "target")
        ca_pem = Path(data["ca_file"]).read_text()
        urls = {**data["products"], **data["solutions"]}
        address = LabAddress(data.get("host", "127.0.0.1"), int(data["https_port"]), ca_pem)
        control = data.get("control")
        access = None
        if (
            control is not None
            and (token := control.get("token", os.environ.get(TOKEN_VARIABLE))) is not None
        ):
            access = (control["url"], token, data["ca_file"])
    except OSError as error:
        raise SettingsError(f"target: {error.filename}: {error.strerror}; has its server ended?") from error
    except (ValueError, TypeError) as error:
        raise SettingsError(f"target: cannot be read: {error}") from error
    except KeyError as error:
        raise SettingsError(f"target: {error.args[0]}: is required") from error
    domains = {name: host_of(url) for name, url in urls.items()}
    return Ready(address, domains, data.get("http_port"), access)


def without_token(ready: str) -> str:
    """Return a target without the token in it, for files that others read."""
    if not ready.lstrip().startswith("{"):
        return ready
    data = json.loads(ready)
    control = {name: value for name, value in data.get("control", {}).items() if name != "token"}
    return json.dumps({**data, "control": control} if control else data)


def some_of(names: Sequence[str]) -> str:
    """Return the first names, and the number of the others."""
    others = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + others
