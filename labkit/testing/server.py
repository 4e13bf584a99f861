"""A `labkit serve` in a process of its own, for tests of programs that need a server."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import yaml
from pydantic import SecretStr

from labkit.core.errors import LabError, SettingsError
from labkit.settings import LabSettings, build, load

ENDING = 20.0  # seconds of real time in which a server has to end


@dataclass(frozen=True, slots=True, repr=False)
class LabServer:
    """A standing lab in another process: the addresses of its ready line.

    ca_file: certificate of its CA; products, solutions, providers: URLs by name; proxy: URL of its CONNECT proxy, if
    any; log_file: what it has logged; seed: that it was started with.
    """

    https_port: int
    http_port: int | None
    ca_file: Path
    products: Mapping[str, str]
    solutions: Mapping[str, str]
    providers: Mapping[str, str]
    host: str = "127.0.0.1"
    proxy: str | None = None
    log_file: Path | None = None
    seed: int | None = None

    @classmethod
    def of(cls, ready: str, log_file: Path | None = None) -> Self:
        """Return the server that printed this line with `serve --json`; also the path of a file with the line.

        Raises SettingsError if the line cannot be read.
        """
        try:
            data = json.loads(ready if ready.lstrip().startswith("{") else Path(ready).read_text())
            known = {name: data[name] for name in cls.__dataclass_fields__ if name in data}
            return cls(**{**known, "ca_file": Path(data["ca_file"]), "log_file": log_file})
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise SettingsError(
                f"expected the line that `labkit serve --json` prints, or a file with it, not {ready!r}: {error}"
            ) from None

    @property
    def hosts(self) -> list[str]:
        """Host names of its products, solutions and configured providers."""
        urls = [*self.products.values(), *self.solutions.values(), *self.providers.values()]
        return [each.removeprefix("https://").partition(":")[0] for each in urls]

    @property
    def target(self) -> str:
        """The line that describes the server to `--labkit-url` and to `labkit report --target`."""
        return json.dumps(
            {
                name: getattr(self, name)
                for name in self.__dataclass_fields__
                if name not in ("log_file", "seed")
            },
            default=str,
        )

    def __repr__(self) -> str:
        return f"<labkit serve at {self.host}:{self.https_port}>"

    def log(self, count: int) -> str:
        """Return the last `count` lines of its log; empty for a server that the test did not start."""
        if self.log_file is None:
            return ""
        return "\n".join(self.log_file.read_text(encoding="utf-8", errors="replace").splitlines()[-count:])


@contextmanager
def serving(
    folder: Path,
    config: Path | None = None,
    seed: int | None = None,
    speed: float = 1.0,
    **settings: Any,
) -> Iterator[LabServer]:
    """Run `labkit serve` with a lab.yaml on any free port, until the end of the block.

    folder: for its files; config, seed, speed and settings: as of `Lab`, but its clock runs by default. Raises
    SettingsError for a wrong setting, and LabError if the server does not start.
    """
    file, log_file = folder / "lab.yaml", folder / "serve.log"
    file.write_text(yaml.safe_dump(_plain(_settings(config, settings))), encoding="utf-8")
    command = [sys.executable, "-m", "labkit", "serve", "--config", str(file), "--json", "--log", "problems"]
    command += ["--speed", str(speed), *([] if seed is None else ["--seed", str(seed)])]
    with (
        log_file.open("wb") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            ready = process.stdout.readline()
            if not ready:
                raise LabError(f"labkit serve does not start: {log_file.read_text().strip()}")
            yield replace(LabServer.of(ready, log_file), seed=seed)
        finally:
            process.terminate()
            try:
                process.wait(ENDING)
            except subprocess.TimeoutExpired:
                process.kill()


def _settings(config: Path | None, settings: Mapping[str, Any]) -> dict[str, Any]:
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
