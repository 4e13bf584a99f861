"""Lua scripts of solutions, unmodified, on LuaJIT (platform facts 3), without HTTP.

- `host`: loads scripts and begins runs; `run`: one run, suspended for service calls that have to wait
- `current`: the run that uses a Lua state, and its service calls that need no wait
- `environments`, `program`: Lua states with globals of their own, and what each of them loads
- `scheduling`, `fibers`: leave the event loop to others in time, in the middle of a script too
- `runtime`: one Lua state (lupa) with the prelude; `convert`: values between Python and Lua
- `limits`, `errors`; `globals`: names that scripts find
- `prelude/`, the part written in Lua. `main` puts the rest together and drives coroutines: `sandbox` (globals of
  scripts), `budget` (CPU and memory), `services` (services, print, log, JSON, bench), `coroutines` (service calls, also
  in scripts' own coroutines), `clock` (os, on lab time), `codec` (JSON), `tables` (sort, concat, insert, rep),
  `patterns` (find, match, gmatch, gsub), `matcher` (patterns, step by step)
"""

from labkit.solutions.lua.errors import LuaError, LuaLimitError, LuaSyntaxError
from labkit.solutions.lua.host import HostState, LuaHost
from labkit.solutions.lua.limits import LuaLimits
from labkit.solutions.lua.run import LuaFunction, LuaResult

__all__ = [
    "HostState",
    "LuaError",
    "LuaFunction",
    "LuaHost",
    "LuaLimitError",
    "LuaLimits",
    "LuaResult",
    "LuaSyntaxError",
]
