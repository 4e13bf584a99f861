"""Operations on labs on demand: labs that a served lab starts for its clients, each with ports of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Protocol

from pydantic import Field

from labkit.control.bounds import Id, Line, Values, ends_after
from labkit.control.data import Data
from labkit.core.errors import LabError
from labkit.platform import Platform
from labkit.settings import LabSettings, build

Seed = Annotated[int, Field(ge=-(2**53) + 1, le=2**53 - 1)]


class StartedLab(Data):
    """A lab that was started on demand.

    url, token: of its own control; https_port: at 127.0.0.1; proxy: URL of a proxy that finds its hosts, for clients
    that cannot resolve them; ca_file: certificate of the CA that all labs of one server share; lease: real seconds
    without a request after which it ends.
    """

    id: str
    url: str
    token: str = Field(repr=False)
    https_port: int
    proxy: str
    hosts: list[str]
    ca_file: str
    seed: int | None
    lease: float


class RunningLab(Data):
    """A lab on demand in the list of all.

    note: its owner's; age: real seconds; requests: number of its requests; lease: as of StartedLab.
    """

    id: str
    url: str
    note: str
    seed: int | None
    age: float
    requests: int
    lease: float


class LabEnd(Data):
    """End of a lab on demand, and its reason in words."""

    id: str
    reason: str


class LabStarter(Protocol):
    """Starter of labs on demand, whose methods do what those of LabsControl do."""

    async def start(
        self, settings: LabSettings, seed: int | None, state: Path | None, note: str
    ) -> StartedLab: ...
    async def renew(self, id: str) -> None: ...
    async def end(self, id: str) -> None: ...
    async def all(self) -> list[RunningLab]: ...
    async def page(self, id: str) -> str: ...
    def follow(self, id: str) -> AsyncIterator[LabEnd]: ...


class LabsControl:
    """Operations on labs on demand, at a lab that is served with `--labs`. Each raises LabError at any other lab.

    A lab ends by `end`, or once its lease is over. A request to it, `renew` and an open `follow` renew the lease.
    """

    def __init__(self, platform: Platform) -> None:
        self.starter: LabStarter | None = None

    @ends_after(60)
    async def start(
        self,
        settings: Values | None = None,
        seed: Seed | None = None,
        state: Line | None = None,
        note: Line = "",
    ) -> StartedLab:
        """Start a lab, and return its addresses and its token.

        settings: those of `Lab`, in place of the served lab's own of the same name; seed: by default the served lab's.
        Labs with the same settings and seed hand out equal identifiers and replay alike, and share no state; with
        another seed the identifiers differ. state: snapshot with which the lab starts, a file below `--files`; note:
        its owner's, for `all`. The first lab with new settings, seed or state takes longer. Raises SettingsError for a
        setting that is wrong or that no lab on demand can have, FullError while the most labs are running.
        """
        if "seed" in (settings or {}):
            raise LabError("settings: seed is no setting, but an argument of its own beside them")
        built = build(LabSettings, dict(settings or {}))
        return await self._labs().start(built, seed, None if state is None else Path(state), note)

    async def renew(self, id: Id) -> None:
        """Renew the lease of a lab. Raises UnknownError, with the reason of its end, if it has ended."""
        await self._labs().renew(id)

    async def end(self, id: Id) -> None:
        """End a lab, and return once its process has ended. Raises UnknownError as `renew` does."""
        await self._labs().end(id)

    async def all(self) -> list[RunningLab]:
        """Return the running labs, oldest first."""
        return await self._labs().all()

    async def page(self, id: Id) -> str:
        """Return a link to the page of a lab, which works once. Raises UnknownError as `renew` does."""
        return await self._labs().page(id)

    async def follow(self, id: Id) -> AsyncIterator[LabEnd]:
        """Renew the lease of a lab for as long as the stream is open. Its one item is the end of the lab.

        Raises UnknownError as `renew` does.
        """
        return self._labs().follow(id)

    def _labs(self) -> LabStarter:
        if self.starter is None:
            raise LabError("this lab starts no others: serve it with `labkit serve --labs`")
        return self.starter
