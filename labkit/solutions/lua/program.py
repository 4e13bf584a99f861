"""What the scripts of a solution are: every environment loads the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(eq=False, slots=True)
class Script:
    """A script as it is to be compiled; see LuaHost.load. code: compiled, once an environment did it."""

    name: str
    source: str
    parameters: tuple[str, ...]
    file: str
    first_line: int
    readback: tuple[str, ...]
    aliases: Mapping[str, str]
    publish: bool
    code: bytes = b""

    @property
    def where(self) -> str:
        return f"{self.file}:{self.first_line}"


@dataclass(eq=False, slots=True)
class Module:
    """A module for require. code: compiled, once an environment did it."""

    name: str
    source: str
    code: bytes = b""

    @property
    def file(self) -> str:
        return f"modules/{self.name.replace('.', '/')}.lua"


@dataclass(eq=False, slots=True)
class Program:
    """Scripts by number, modules by name. revision: counts the changes."""

    scripts: dict[int, Script] = field(default_factory=dict)
    modules: dict[str, Module] = field(default_factory=dict)
    revision: int = 0
