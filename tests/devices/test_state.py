"""Device state: the datapoints of each alias over time."""

from __future__ import annotations

import asyncio
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from labkit.devices.seen import MOST_MARKS
from labkit.devices.state import AnswerCondition, Datapoint, State, Stored, datapoint_table, numbered
from labkit.storage.database import Database
from labkit.storage.schema import metadata

POINTS = st.lists(
    st.builds(Datapoint, st.sampled_from("ab"), st.integers(0, 8), st.text(max_size=3)), max_size=12
)
REQUESTS = st.lists(
    st.tuples(POINTS, st.integers(0, 2)), max_size=6
)  # with the seconds since the previous one


@given(REQUESTS, st.integers(-1, 9), st.booleans())
async def test_state_against_a_model(
    requests: list[tuple[list[Datapoint], int]], since: int, same: bool
) -> None:
    database = Database()
    database.start(metadata)
    state = State(database)
    # alias → time → value, when it ranks, its place in the order of receipt, and whether it was sent
    model: dict[str, dict[int, tuple[str, tuple[int, int], bool]]] = {"a": {}, "b": {}}
    now, order = 0, 0
    for points, later in requests:
        now += later
        for point in points:
            order += 1  # a second value at a time replaces the first
            rank = (min(point.timestamp, now), order)
            model[point.alias][point.timestamp] = (point.value, rank, False)
        current = [
            (alias, max(model[alias].values(), key=lambda kept: kept[1])[0]) for alias in "ba" if model[alias]
        ]
        *_, read = await state.store("p", "d", points, now, ["b", "none", "a"])
        assert read == current
        assert await state.latest("p", "d", ["b", "none", "a"]) == current
        for alias in "ab":
            due = [
                time
                for time, (_, _, given) in sorted(model[alias].items())
                if time <= now and (time > since or (time == since and same and not given))
            ]
            ahead = [time for time in model[alias] if time > now]
            [found], next_ahead = await state.due(("p", "d", alias), [AnswerCondition(since, same)], now)
            assert next_ahead == min(ahead, default=None)
            if not due:
                assert found is None
                continue
            assert found is not None
            value, rank, _ = model[alias][due[0]]
            assert found.point == Datapoint(alias, due[0], value)
            await state.record_answer(("p", "d", alias), found, named=False)
            model[alias][due[0]] = (value, rank, True)
    database.close()


async def test_marks_of_many_values_are_not_kept_in_memory(state: State) -> None:
    many = 3 * MOST_MARKS + 5
    points = [Datapoint("a", time, "x") for time in range(many)]
    stored, first, _ = await state.store("p", "d", points, many)
    for each in numbered(stored, first):
        await state.record_answer(("p", "d", "a"), each, named=False)
        assert sum(map(len, state.seen.marks.values())) < MOST_MARKS
    polls = [AnswerCondition(time, True) for time in range(many)]
    found, _ = await state.due(("p", "d", "a"), polls, many)
    assert [each and each.point.timestamp for each in found] == [*range(1, many), None]


async def test_a_mark_of_a_replaced_value_does_not_apply_to_the_new_one(state: State) -> None:
    points = [Datapoint("a", 5, "first"), Datapoint("a", 5, "second")]
    first, second = [Stored(point, (await state.store("p", "d", [point], 5))[1]) for point in points]
    await state.record_answer(("p", "d", "a"), first, named=False)
    await state.store("p", "d", [Datapoint("a", 1, "x")], 5)
    assert await state.due(("p", "d", "a"), [AnswerCondition(5, True)], 5) == ([second], None)


async def test_values_keep_their_order_over_a_restart(tmp_path: Path) -> None:
    values = []
    for number in range(3):
        database = Database(tmp_path / "lab.db")
        database.start(metadata)
        await State(database).store("p", "d", [Datapoint("a", 9 - number, str(number))], 5)
        values += await State(database).latest("p", "d", ["a"])
        database.close()
    assert values == [("a", "0"), ("a", "1"), ("a", "2")]


async def test_devices_and_products_have_separate_values(state: State) -> None:
    for product, identity in (("p", "d"), ("p", "e"), ("q", "d")):
        await state.store(product, identity, [Datapoint("a", 1, f"{product}/{identity}")], 1)
    assert await state.latest("p", "d", ["a"]) == [("a", "p/d")]
    assert await state.latest("q", "d", ["a"]) == [("a", "q/d")]
    assert await state.latest("q", "e", ["a"]) == []
    [found], _ = await state.due(("p", "e", "a"), [AnswerCondition(0, True)], 1)
    assert found is not None
    assert found.point == Datapoint("a", 1, "p/e")


async def test_a_value_read_during_a_write_of_its_device_is_not_cached(state: State) -> None:
    await state.store("p", "d", [Datapoint("a", 1, "old")], 1)
    other = state.store("p", "e", [Datapoint("a", 1, "x")], 1)  # its commit delays the read behind it
    reading = state.latest("p", "d", ["a"])
    writing = state.store("p", "d", [Datapoint("a", 2, "new")], 2)
    _, seen, _ = await asyncio.gather(other, reading, writing)
    assert seen == [("a", "old")]
    assert await state.latest("p", "d", ["a"]) == [("a", "new")]


async def test_values_are_read_anew_after_the_database_was_emptied(state: State, database: Database) -> None:
    await state.store("p", "d", [Datapoint("a", 1, "old")], 1)
    assert await state.latest("p", "d", ["a"]) == [("a", "old")]
    await database.run(lambda connection: connection.execute(datapoint_table.delete()).rowcount)
    state.forget_all()
    assert await state.latest("p", "d", ["a"]) == []


async def test_the_newest_points_of_each_alias_are_kept_and_a_tenth_more(database: Database) -> None:
    state = State(database, kept=100)
    for second in range(1, 501):
        await state.store("p", "d", [Datapoint("a", second, str(second)), Datapoint("b", 1, "x")], second)
        await state.store("p", "e", [Datapoint("a", second % 7, "y")], second)
    kept = await database.read(
        lambda connection: connection.exec_driver_sql(
            "select timestamp from datapoint where identity = 'd' and alias = 'a' order by timestamp"
        ).fetchall()
    )
    timestamps = [timestamp for (timestamp,) in kept]
    assert 100 <= len(timestamps) <= 110
    assert timestamps == list(range(501 - len(timestamps), 501))
    assert await state.latest("p", "d", ["a", "b"]) == [("a", "500"), ("b", "x")]


async def test_points_ahead_of_their_time_do_not_displace_the_current_value(database: Database) -> None:
    state = State(database, kept=100)
    await state.store("p", "d", [Datapoint("a", 1000, "now")], 1000)
    await state.store("p", "d", [Datapoint("a", second, "ahead") for second in range(1001, 1061)], 999)
    await state.store("p", "d", [Datapoint("a", second, "past") for second in range(1, 300)], 1000)
    assert await state.latest("p", "d", ["a"]) == [("a", "now")]
