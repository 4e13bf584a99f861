"""The handles of a lab's faults."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from labkit.control.faults import FaultInfo
from labkit.lab.arguments import given, made
from labkit.lab.runtime import Runtime
from labkit.lab.show import card, of_faults, table
from labkit.settings import FaultSettings

if TYPE_CHECKING:
    import pandas

Names = Iterable[str] | str
SHOWN = ("name", "where", "does", "often", "whom", "seen", "hits")


class FaultHandle:
    """A fault that was added."""

    def __init__(self, runtime: Runtime, name: str) -> None:
        self._runtime = runtime
        self._control = runtime.control.faults
        self.name = name

    @property
    def info(self) -> FaultInfo:
        """What it is, and how often it hit. Raises LabError where it was taken out."""
        return self._runtime.run(self._control.get, self.name)

    @property
    def hits(self) -> int:
        """How often it hit."""
        return self.info.hits

    @property
    def seen(self) -> int:
        """How much it could have hit."""
        return self.info.seen

    def remove(self) -> None:
        """Take it out."""
        self._runtime.run(self._control.remove, self.name)

    def __repr__(self) -> str:
        info = self.info
        return (
            f"<fault {info.name!r}: {info.where}: {info.does}, {info.often}; hit {info.hits} of {info.seen}>"
        )

    def _repr_html_(self) -> str:
        info = self.info
        return card(f"fault {info.name}", {name: getattr(info, name) for name in SHOWN[1:]})


class LabFaults:
    """The named faults of a lab: what goes wrong on purpose, where, how often, for whom."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._control = runtime.control.faults

    def add(
        self,
        where: str,
        *,
        name: str | None = None,
        status: int | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        delay: float | None = None,
        cut: Literal["before", "inside", "after"] | None = None,
        when: Literal["before", "after"] | None = None,
        if_status: int | None = None,
        drop: Names | None = None,
        replace: Mapping[str, Any] | None = None,
        put: Mapping[str, Any] | None = None,
        edit: Mapping[str, Any] | None = None,
        if_given: Mapping[str, str] | None = None,
        if_answer: Mapping[str, str] | None = None,
        lost: bool | None = None,
        doubled: bool | None = None,
        late: float | None = None,
        does: str | None = None,
        first: int | None = None,
        every: int | None = None,
        chance: float | None = None,
        site: Names | None = None,
        product: Names | None = None,
        identity: Names | None = None,
        solution: Names | None = None,
        **others: Any,
    ) -> FaultHandle:
        """Put a fault on the lab: `lab.faults.add("POST /onep:v1/stack/alias", status=503, first=2)`.

        where: a request (`POST /path`), a service operation (`User.listUsers`, `Keystore.*`), an event
        (`device datapoint`), an outgoing request (`https://example.com/path`) or a provider's step
        (`provider google token`, with `does="slow"`); `*` stands for any characters.

        What: status, body (text or data), headers (an empty value takes one away); delay in seconds of lab time; cut:
        the connection ends before the work, after it without an answer, or inside the answer; of a call lost (nothing
        is done, and nothing comes back); of an event lost, doubled, late (others overtake it), or delay (others wait
        with it); fields (`users.email`, `.` is the whole, of a request or an answer `@Name` a header, of a request
        `?name` one of its query and `/` its path) to drop, replace, put there or edit:
        `edit={"updated": ["times", 1000], "name": "lower", "items": "[:-1]"}`; its error names all edits.
        when: before the work, instead of it or with other fields of what is asked; or after it. if_status: of answers
        with this status alone; if_given, if_answer: where a field of what is asked, or of the answer, fits a pattern
        (`{"@Accept": "*json*"}`), or with a `!` before it fits none (`!*`: is not there).

        How often: the first n, every n-th, by chance (0 to 1, from the lab's seed). For whom: site (host), product,
        identity, solution; patterns, too. Raises SettingsError for what cannot be, LabError for what is not there.
        """
        settings = given(
            FaultSettings,
            "fault",
            name=name,
            site=site,
            product=product,
            identity=identity,
            solution=solution,
            status=status,
            body=body,
            headers=headers,
            delay=delay,
            cut=cut,
            when=when,
            if_status=if_status,
            drop=drop,
            replace=replace,
            put=put,
            edit=edit,
            if_given=if_given,
            if_answer=if_answer,
            lost=lost,
            doubled=doubled,
            late=late,
            does=does,
            first=first,
            every=every,
            chance=chance,
            **others,
        )
        fault = made(FaultSettings, f"fault at {where!r}", {"where": where, **settings})
        return FaultHandle(self._runtime, self._runtime.run(self._control.add, fault).name)

    def get(self, name: str) -> FaultHandle:
        """The fault of this name. Raises LabError naming those that are there."""
        return FaultHandle(self._runtime, self._runtime.run(self._control.get, name).name)

    def remove(self, name: str) -> None:
        """Take a fault out. Raises LabError naming those that are there."""
        self._runtime.run(self._control.remove, name)

    def clear(self) -> None:
        """Take all out, those of lab.yaml too, until the next reset; events that are late never come."""
        self._runtime.run(self._control.clear)

    def frame(self) -> pandas.DataFrame:
        """The faults, a row each, indexed by name: where, does, often, whom, seen, hits, origin."""
        return of_faults(self._all())

    def __iter__(self) -> Iterator[FaultHandle]:
        return iter([FaultHandle(self._runtime, each.name) for each in self._all()])

    def __getitem__(self, name: str) -> FaultHandle:
        return self.get(name)

    def __len__(self) -> int:
        return len(self._all())

    def _ipython_key_completions_(self) -> list[str]:
        return [each.name for each in self._all()]

    def _all(self) -> list[FaultInfo]:
        return self._runtime.run(self._control.all)

    def __repr__(self) -> str:
        lines = [
            f"{each.name}: {each.where}: {each.does}, {each.often}; hit {each.hits} of {each.seen}"
            for each in self._all()
        ]
        return "\n".join(lines) or "<no faults>"

    def _repr_html_(self) -> str:
        return table(SHOWN, [[getattr(each, name) for name in SHOWN] for each in self._all()])
