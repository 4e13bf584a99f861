"""List of the globals of scripts, read from an environment itself: no other list is maintained."""

from __future__ import annotations

from labkit.services.operation import WAITS
from labkit.solutions.lua.host import LuaHost

_LIST = """
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
    """Services for scripts that use none: every call returns None."""

    def call_at_once(self, context: object, service: str, operation: str, parameters: object) -> object:
        """Return WAITS: no call is known never to wait."""
        return WAITS

    async def call(self, context: object, service: str, operation: str, parameters: object) -> None:
        """Return None."""


async def script_globals() -> dict[str, list[str]]:
    """Return the names of the globals, each with the names in it if it is a table, else with none.

    Services are not listed: a service's global is created when a script first uses it.
    """
    host = LuaHost(services=NoServices(), write_log=_nothing_written, now=lambda: 0.0, random_seed=0)
    try:
        result = await host.run(host.load("globals", _LIST, publish=False))
    finally:
        host.close()
    return {name: found.get("names", []) for name, found in sorted(result.value.items())}


def _nothing_written(level: str, text: str, context: object) -> None:
    return None
