"""The globals that scripts find, as an environment itself tells them: there is no other list of them."""

from __future__ import annotations

from labkit.solutions.lua.host import LuaHost

_TELL = """
local found = {}
for name, value in next, _G do
  local inner = {}
  if type(value) == "table" and value ~= _G then
    for key in next, value do inner[#inner + 1] = tostring(key) end
    table.sort(inner)
  end
  found[name] = {type = type(value), names = inner[1] and inner}
end
return found
"""


class NoServices:
    """Services of scripts that call none: each call gives nothing."""

    async def call(self, context: object, service: str, operation: str, parameters: object) -> None:
        """Return nothing."""


async def script_globals() -> dict[str, list[str]]:
    """Name of a global → the names in it where it is a table; empty for a function or a value.

    Services are not among them: each is a global of its name, made when a script first uses it.
    """
    host = LuaHost(services=NoServices(), write_log=_nothing_written, now=lambda: 0.0, random_seed=0)
    try:
        result = await host.run(host.load("globals", _TELL, publish=False))
    finally:
        host.close()
    return {name: found.get("names", []) for name, found in sorted(result.value.items())}


def _nothing_written(level: str, text: str, context: object) -> None:
    return None
