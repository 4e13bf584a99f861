"""A `labkit serve` in a process of its own, for tests of programs that need a server."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from labkit.core.errors import LabError, SettingsError
from labkit.core.ready_line import host_of, ready_text
from labkit.lab.server_process import server_process


@dataclass(frozen=True, slots=True, repr=False)
class LabServer:
    """A standing lab in another process: the addresses of its ready line.

    ca_file: certificate of its CA; products, solutions, providers: URLs by name; proxy: URL of its CONNECT proxy, if
    any; log_file: what it has logged; seed: that it was started with; access: see `control`.
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
    access: Mapping[str, str] | None = None

    @classmethod
    def of(cls, ready: str, log_file: Path | None = None) -> Self:
        """Return the server that printed this line with `serve --json`; also the path of a file with the line.

        Raises SettingsError if the line cannot be read.
        """
        try:
            data = json.loads(ready_text(ready))
            known = {name: data[name] for name in cls.__dataclass_fields__ if name in data}
            made = {"ca_file": Path(data["ca_file"]), "log_file": log_file, "access": data.get("control")}
            return cls(**{**known, **made})
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise SettingsError(
                f"expected the line that `labkit serve --json` prints, or a file with it, not {ready!r}: {error}"
            ) from None

    @property
    def hosts(self) -> list[str]:
        """Host names of its products, solutions and configured providers."""
        urls = [*self.products.values(), *self.solutions.values(), *self.providers.values()]
        return [host_of(each) for each in urls]

    @property
    def control(self) -> Mapping[str, Any]:
        """Arguments of Lab.connect for its control: `Lab.connect(**labkit_server.control)`.

        Raises LabError, which says how to ask for control, if it has none.
        """
        if self.access is None:
            raise LabError(
                "this server has no control over HTTP: ask for it with @pytest.mark.lab(control=True), or with "
                "control: true in its lab.yaml; the one of --labkit-url needs `labkit serve --control`"
            )
        secure = self.access["url"].startswith("https:")
        return {**self.access, **({"ca_file": self.ca_file} if secure else {})}

    @property
    def target(self) -> str:
        """The line that describes the server to `--labkit-url` and to `labkit report --target`."""
        return json.dumps(
            {
                name: getattr(self, name)
                for name in self.__dataclass_fields__
                if name not in ("log_file", "seed", "access")
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
    pace = ["--speed", str(speed), *([] if seed is None else ["--seed", str(seed)])]
    with server_process(folder, config, settings, ["--log", "problems", *pace]) as ready:
        yield replace(LabServer.of(json.dumps(ready), folder / "serve.log"), seed=seed)
