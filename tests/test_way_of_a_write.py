"""The path of a write through labkit: its length is limited, and the contributors' page shows it."""

from __future__ import annotations

from tests.way_of_a_write import picture, stored, trace

FUNCTIONS = 20  # from a device's bytes to the first service call of a Lua handler
INTO_LUA = 4  # from the script's handler to LuaJIT


async def test_a_write_passes_few_functions_and_the_page_shows_them() -> None:
    way = await trace()
    assert len(way.functions) <= FUNCTIONS, "\n".join(map(str, way.functions))
    assert len(way.into_lua) <= INTO_LUA, "\n".join(map(str, way.into_lua))
    assert [stack[-1].name for stack in way.stacks][-1] == "Keystore.bind.<locals>.run"
    assert picture(way) == stored(), "draw it anew: python -m tests.way_of_a_write"
