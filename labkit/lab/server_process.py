"""A `labkit serve` in a process of its own, started with the arguments of `Lab`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from pydantic import SecretStr

from labkit.core.errors import LabError
from labkit.settings import LabSettings, build, load

ENDING = 20.0  # seconds of real time in which a server has to end


@contextmanager
def server_process(
    folder: Path,
    config: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
    arguments: Sequence[str] = (),
) -> Iterator[dict[str, Any]]:
    """Run `labkit serve` on any free port within the block. Yields its ready line.

    folder: for its files: lab.yaml, and serve.log with what it logs; config and settings: as of `Lab`; arguments:
    further ones of the command. The server ends with this process, even if that is killed. Raises SettingsError for a
    wrong setting, LabError if the server does not start.
    """
    file, log_file = folder / "lab.yaml", folder / "serve.log"
    file.write_text(yaml.safe_dump(_plain(_settings(config, settings or {}))), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "labkit",
        "serve",
        "--config",
        str(file),
        "--json",
        "--until-eof",
        *arguments,
    ]
    with (
        log_file.open("wb") as log,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        ) as process,
    ):
        try:
            assert process.stdout is not None
            ready = process.stdout.readline()
            if not ready:
                raise LabError(f"labkit serve does not start: {log_file.read_text().strip()}")
            data: dict[str, Any] = json.loads(ready)
            yield data
        finally:
            process.terminate()
            try:
                process.wait(ENDING)
            except subprocess.TimeoutExpired:
                process.kill()


def _settings(config: str | Path | None, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a lab.yaml with its paths resolved, and others in place of its own; port 0 by default."""
    overridden = {"https_port": 0, **settings}
    named = build(LabSettings, overridden, "")
    loaded = LabSettings() if config is None else load(config)
    return loaded.model_copy(update={name: getattr(named, name) for name in overridden}).model_dump(
        exclude_unset=True
    )


def _plain(value: Any) -> Any:
    """Return a value as YAML has it: texts instead of paths and secrets, lists instead of tuples."""
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, Path):
        return str(value.absolute())
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_plain(each) for each in value]
    return value
