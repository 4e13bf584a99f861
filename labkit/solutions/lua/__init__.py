"""Lua scripts of solutions, unmodified, on LuaJIT (platform facts 3). Knows nothing of HTTP: it is handed
functions.

host      LuaHost: loads scripts, runs them, answers their service calls turns     leaves the event loop to
others in time runtime   one Lua state (lupa) with the prelude convert   values between Python and Lua limits,
errors prelude/  the part written in Lua: main        puts the parts together and drives coroutines
sandbox    the globals of scripts budget      CPU and memory                                     services
services, print, log, JSON, bench coroutines  service calls inside of the scripts' own           clock
os, on lab time codec       JSON                                               tables     sort, concat,
insert, rep patterns    find, match, gmatch, gsub                          matcher    patterns, step by step
"""

from labkit.solutions.lua.errors import LuaError, LuaLimitError, LuaSyntaxError
from labkit.solutions.lua.host import LuaHost, LuaResult
from labkit.solutions.lua.limits import LuaLimits
from labkit.solutions.lua.run import LuaFunction

__all__ = ["LuaError", "LuaFunction", "LuaHost", "LuaLimitError", "LuaLimits", "LuaResult", "LuaSyntaxError"]
