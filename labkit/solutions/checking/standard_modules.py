"""Modules that files with tests may require, since those for busted do so."""

from __future__ import annotations

SAY = """
local texts = {}
local say = {}
function say:set_namespace() end
function say:set_fallback() end
function say:set(key, text) texts[key] = text end
return setmetatable(say, {
  __call = function(_, key, values)
    local text = texts[key]
    return text and (text:gsub("%%s", function() return table.remove(values, 1) or "nil" end))
  end,
})
"""
STANDARD_MODULES = {
    "busted": "return setmetatable({ fail = function(text) error(text, 2) end }, { __index = _G })",
    "busted.runner": "return function() end",
    "luassert": "return assert",
    "luassert.assert": "return assert",
    **{f"luassert.{word}": f"return {word}" for word in ("spy", "stub", "mock", "match")},
    "say": SAY,
}
