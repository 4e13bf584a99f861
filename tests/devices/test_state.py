"""Device state: the datapoints of each alias over time."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from labkit.core.database import Database
from labkit.core.tables import metadata
from labkit.devices.state import Datapoint, State, datapoint_table

POINTS = st.lists(
    st.builds(Datapoint, st.sampled_from("ab"), st.integers(0, 8), st.text(max_size=3)), max_size=12
)


@given(st.lists(POINTS, max_size=4), st.integers(-1, 9))
async def test_state_against_a_model(requests: list[list[Datapoint]], since: int) -> None:
    database = Database()
    database.start(metadata)
    state = State(database)
    model: dict[str, dict[int, str]] = {"a": {}, "b": {}}
    for points in requests:
        for point in points:
            model[point.alias][point.timestamp] = point.value  # a second value at a time replaces the first
        newest = [(alias, model[alias][max(model[alias])]) for alias in "ba" if model[alias]]
        assert await state.store("p", "d", points, ["b", "none", "a"]) == newest
        assert await state.latest("p", "d", ["b", "none", "a"]) == newest
        for alias in "ab":
            later = [time for time in sorted(model[alias]) if time > since]
            expected = Datapoint(alias, later[0], model[alias][later[0]]) if later else None
            assert await state.first_after("p", "d", alias, since) == expected
    database.close()


async def test_devices_and_products_keep_their_own(state: State) -> None:
    for product, identity in (("p", "d"), ("p", "e"), ("q", "d")):
        await state.store(product, identity, [Datapoint("a", 1, f"{product}/{identity}")])
    assert await state.latest("p", "d", ["a"]) == [("a", "p/d")]
    assert await state.latest("q", "d", ["a"]) == [("a", "q/d")]
    assert await state.latest("q", "e", ["a"]) == []
    assert await state.first_after("p", "e", "a", 0) == Datapoint("a", 1, "p/e")


async def test_a_value_that_is_read_while_its_device_writes_is_not_kept(state: State) -> None:
    await state.store("p", "d", [Datapoint("a", 1, "old")])
    other = state.store("p", "e", [Datapoint("a", 1, "x")])  # its commit holds back the read behind it
    reading = state.latest("p", "d", ["a"])
    writing = state.store("p", "d", [Datapoint("a", 2, "new")])
    _, seen, _ = await asyncio.gather(other, reading, writing)
    assert seen == [("a", "old")]
    assert await state.latest("p", "d", ["a"]) == [("a", "new")]


async def test_values_are_read_anew_once_the_database_was_emptied(state: State, database: Database) -> None:
    await state.store("p", "d", [Datapoint("a", 1, "old")])
    assert await state.latest("p", "d", ["a"]) == [("a", "old")]
    await database.run(lambda connection: connection.execute(datapoint_table.delete()).rowcount)
    state.forget_all()
    assert await state.latest("p", "d", ["a"]) == []
