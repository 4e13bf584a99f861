"""Program of a solution: the scripts and modules that every environment loads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from labkit.core.code_lines import LineCounts


@dataclass(eq=False, slots=True)
class Script:
    """A script to compile; see LuaHost.load.

    code: bytecode, once an environment has compiled it; where: file and line.
    """

    name: str
    source: str
    parameters: tuple[str, ...]
    file: str
    first_line: int
    readback: tuple[str, ...]
    aliases: Mapping[str, str]
    preamble: str
    publish: bool
    globals: tuple[str, ...] = ()
    code: bytes = b""
    where: str = field(init=False)

    def __post_init__(self) -> None:
        self.where = f"{self.file}:{self.first_line}"


@dataclass(eq=False, slots=True)
class Module:
    """A module for require. code: bytecode, once an environment has compiled it."""

    name: str
    source: str
    code: bytes = b""

    @property
    def file(self) -> str:
        """File name in messages."""
        return f"modules/{self.name.replace('.', '/')}.lua"


@dataclass(eq=False, slots=True)
class Program:
    """Scripts by number and modules by name. revision: number of changes.

    covered: functions that return the lines that each Lua state has counted, from its next run on; None where lines
    are not counted.
    """

    scripts: dict[int, Script] = field(default_factory=dict)
    modules: dict[str, Module] = field(default_factory=dict)
    revision: int = 0
    covered: list[Callable[[], LineCounts]] | None = None
