"""Long polling: what its headers mean, and what answers it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from labkit.device_api.long_poll import milliseconds, timestamp
from labkit.devices.state import Datapoint, Stored
from labkit.http.error import HttpError
from tests.device_api.rig import ALIAS, RECORD, Answer, Client, DeviceRig, Headers
from tests.device_api.rig import device_rig as lab
from tests.sizes import size


@pytest.mark.parametrize(
    "text",
    [
        "784111777",
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
    ],
)
def test_times_to_wait_from(text: str) -> None:
    assert timestamp(text) == 784111777  # the three forms of RFC 9110 5.6.7


@pytest.mark.parametrize(
    "text", ["", "soon", "-1", "1.5", "2026-01-01", "Sun, 46 Nov 1994 08:49:37 GMT", "9" * 13]
)
def test_no_times(text: str) -> None:
    with pytest.raises(HttpError) as refused:
        timestamp(text)
    assert refused.value.status == 400


@pytest.mark.parametrize(("text", "expected"), [("0", 0), ("300000", 300_000), (" 15 ", 15)])
def test_milliseconds_to_wait(text: str, expected: int) -> None:
    assert milliseconds(text) == expected


@pytest.mark.parametrize("text", ["", "300001", "-1", "1.5", "1e3", "soon"])
def test_no_milliseconds(text: str) -> None:
    with pytest.raises(HttpError) as refused:
        milliseconds(text)
    assert refused.value.status == 400


# --- over a connection --------------------------------------------------------------------------------------

NOW = 1767225600
POLL = f"{ALIAS}?text"


def poll_headers(timeout: int = 30_000, since: str | int | None = None) -> list[tuple[str, str]]:
    """The headers of a long poll."""
    return [
        ("Request-Timeout", str(timeout)),
        *([] if since is None else [("If-Modified-Since", str(since))]),
    ]


async def polling(rig: DeviceRig, since: str | int | None = None) -> tuple[Client, Client]:
    """A device that writes, and a connection of the same device whose poll is held."""
    writer, poller = await rig.device(), await rig.connect()
    poller.credentials = writer.credentials
    poller.send("GET", POLL, headers=poll_headers(since=since))
    await rig.held(1)
    return writer, poller


def datapoint_of(answer: Answer) -> tuple[list[tuple[str, str]], str | None]:
    assert answer.status == 200
    assert answer.header("Content-Type") == "application/x-www-form-urlencoded; charset=utf-8"
    return answer.pairs, answer.header("Last-Modified")


@pytest.mark.parametrize("since", [None, NOW - 1, "Wed, 31 Dec 2025 23:59:59 GMT", 0])
async def test_a_write_answers_a_poll(rig: DeviceRig, since: str | int | None) -> None:
    writer, poller = await polling(rig, since)
    await writer.ask("POST", ALIAS, "text=a%26b")
    assert datapoint_of(await poller.answer()) == ([("text", "a&b")], str(NOW))


async def test_a_hybrid_write_answers_a_poll(rig: DeviceRig) -> None:
    writer, poller = await polling(rig)
    await writer.ask("POST", f"{ALIAS}?text", "text=x&number=1")
    assert datapoint_of(await poller.answer()) == ([("text", "x")], str(NOW))


async def test_a_poll_ends_with_its_time_to_the_millisecond(rig: DeviceRig) -> None:
    _, poller = await polling(rig)
    await rig.platform.context.clock.advance(29.999)
    assert len(rig.platform.devices.polls) == 1
    await rig.platform.context.clock.advance(0.001)
    answer = await poller.answer()
    assert (answer.status, answer.body, answer.header("Last-Modified")) == (304, b"", None)


async def test_what_was_there_answers_only_who_asks_from_before_it(rig: DeviceRig) -> None:
    client = await rig.device()
    await client.ask("POST", ALIAS, "text=there")
    assert (await client.ask("GET", POLL, headers=poll_headers(0))).status == 304
    assert (await client.ask("GET", POLL, headers=poll_headers(0, NOW + 1))).status == 304
    for since in (NOW - 1, NOW - 1):
        assert datapoint_of(await client.ask("GET", POLL, headers=poll_headers(300_000, since))) == (
            [("text", "there")],
            str(NOW),
        )
    assert (await client.ask("GET", POLL, headers=poll_headers(0, NOW))).status == 304


async def test_what_no_poll_was_given_answers_who_asks_from_its_very_second(rig: DeviceRig) -> None:
    client = await rig.device()
    for value in ("first", "second"):  # in one second
        await client.ask("POST", ALIAS, f"text={value}")
        assert (
            await client.ask("HEAD", POLL, headers=poll_headers(0, NOW))
        ).status == 200  # that gives no value
        assert datapoint_of(await client.ask("GET", POLL, headers=poll_headers(0, NOW))) == (
            [("text", value)],
            str(NOW),
        )
        assert (await client.ask("GET", POLL, headers=poll_headers(0, NOW))).status == 304
    assert (await client.ask("GET", f"{ALIAS}?text")).pairs == [("text", "second")]
    await client.ask("POST", ALIAS, "text=third")
    assert (await client.ask("GET", f"{ALIAS}?text")).pairs == [("text", "third")]  # which is no poll
    assert datapoint_of(await client.ask("GET", POLL, headers=poll_headers(0, NOW)))[0] == [("text", "third")]


async def test_a_client_that_leaves_before_its_answer_has_not_been_given_it(rig: DeviceRig) -> None:
    writer = await rig.device()
    for number in range(10):
        poller = await rig.connect()
        poller.credentials = writer.credentials
        poller.send("GET", POLL, headers=poll_headers(since=NOW))
        await rig.held(1)
        writer.send("POST", ALIAS, f"text={number}")
        poller.leave()
        assert (await writer.answer()).status == 204
        await rig.idle()
        again = await writer.ask("GET", POLL, headers=poll_headers(0, NOW))
        assert datapoint_of(again) == ([("text", str(number))], str(NOW))


async def test_a_state_that_survives_a_restart_loses_no_value_of_a_poll(tmp_path: Path) -> None:
    given = []
    credentials: Headers = ()
    for start in range(3):
        async with lab(data=str(tmp_path / "lab.db")) as rig:
            client = await (rig.connect() if credentials else rig.device())
            credentials = client.credentials = credentials or client.credentials
            await client.ask("POST", ALIAS, f"text={start}")
            for _ in range(2):
                answer = await client.ask("GET", POLL, headers=poll_headers(0, NOW))
                given.append((answer.status, answer.body))
    assert given[::2] == [(200, f"text={start}".encode()) for start in range(3)]
    assert given[1::2] == [(304, b"")] * 3


async def test_the_first_point_after_the_time_answers(rig: DeviceRig) -> None:
    client = await rig.device()
    await client.ask("POST", RECORD, "alias=text&30=c&10=a&20=b")
    since, seen = "0", []
    while (answer := await client.ask("GET", POLL, headers=poll_headers(0, since))).status == 200:
        [(_, value)], since = datapoint_of(answer)[0], datapoint_of(answer)[1] or ""
        seen.append((since, value))
    assert seen == [("10", "a"), ("20", "b"), ("30", "c")]


@pytest.mark.parametrize(
    ("body", "answered"),
    [
        (f"alias=text&{NOW - 5}=x", None),
        (f"alias=text&{NOW + 1}=x", (NOW + 1, "x")),
        (f"alias=text&{NOW + 9}=c&{NOW + 3}=a&{NOW + 5}=b&{NOW - 3}=old", (NOW + 3, "a")),
        (f"alias=number&{NOW + 1}=1", None),
    ],
)
@pytest.mark.parametrize("since", [None, NOW])
async def test_recorded_points_answer_if_they_are_later(
    rig: DeviceRig, since: int | None, body: str, answered: tuple[int, str] | None
) -> None:
    writer, poller = await polling(rig, since)
    await writer.ask("POST", RECORD, body)
    if answered is None:
        await rig.platform.context.clock.advance(30)
        assert (await poller.answer()).status == 304
    else:
        await rig.platform.context.clock.advance_to(answered[0] - 0.001)
        assert len(rig.platform.devices.polls) == 1  # it answers when its second comes
        await rig.platform.context.clock.advance(0.001)
        assert datapoint_of(await poller.answer()) == ([("text", answered[1])], str(answered[0]))


@pytest.mark.parametrize("path", [ALIAS, RECORD])
async def test_a_value_in_the_second_of_since_answers_who_names_one(rig: DeviceRig, path: str) -> None:
    writer, poller = await polling(rig, NOW)
    await writer.ask("POST", path, "text=x" if path == ALIAS else f"alias=text&{NOW}=x")
    assert datapoint_of(await poller.answer()) == ([("text", "x")], str(NOW))


async def test_a_point_recorded_for_the_second_of_arrival_does_not_answer_who_names_none(
    rig: DeviceRig,
) -> None:
    writer, poller = await polling(rig)
    await writer.ask("POST", RECORD, f"alias=text&{NOW}=x")
    assert len(rig.platform.devices.polls) == 1
    await writer.ask("POST", RECORD, f"alias=text&{NOW + 1}=y&{NOW + 2}=z")
    await rig.platform.context.clock.advance(5)
    assert datapoint_of(await poller.answer()) == ([("text", "y")], str(NOW + 1))


async def test_a_poll_from_a_future_second_waits_for_it(rig: DeviceRig) -> None:
    writer, poller = await polling(rig, NOW + 3)
    await writer.ask("POST", RECORD, f"alias=text&{NOW + 2}=early&{NOW + 5}=ahead")
    for _ in range(2):
        await rig.platform.context.clock.advance(1)
        await writer.ask("POST", ALIAS, "text=too early")
    assert len(rig.platform.devices.polls) == 1
    await rig.platform.context.clock.advance(1)
    await writer.ask("POST", ALIAS, "text=in time")
    assert datapoint_of(await poller.answer()) == ([("text", "in time")], str(NOW + 3))


async def test_what_was_recorded_ahead_before_a_poll_came_answers_it_in_its_second(rig: DeviceRig) -> None:
    client = await rig.device()
    await client.ask("POST", RECORD, f"alias=text&{NOW + 4}=b&{NOW + 2}=a")
    pollers = []
    for number, since in enumerate((None, 0, NOW, NOW + 3)):
        poller = await rig.connect()
        poller.credentials = client.credentials
        poller.send("GET", POLL, headers=poll_headers(since=since))
        await rig.held(number + 1)
        pollers.append(poller)
    await rig.platform.context.clock.advance(1.99)
    assert len(rig.platform.devices.polls) == 4
    await rig.platform.context.clock.advance(10)
    answers = [datapoint_of(await poller.answer()) for poller in pollers]
    assert answers == [([("text", "a")], str(NOW + 2))] * 3 + [([("text", "b")], str(NOW + 4))]


async def test_one_write_answers_every_poll_of_its_alias_and_no_other(rig: DeviceRig) -> None:
    device = await rig.device()
    pollers = {name: await rig.connect() for name in ("one", "two", "number", "unknown")}
    for name, client in pollers.items():
        client.credentials = device.credentials
        alias = name if name in ("number", "unknown") else "text"
        client.send("GET", f"{ALIAS}?{alias}", headers=poll_headers())
    stranger = await rig.device(identity="e")
    stranger.send("GET", POLL, headers=poll_headers())
    await rig.held(2)
    await rig.held(1, alias="number")
    await rig.held(1, alias="unknown")
    await rig.held(1, identity="e")
    await device.ask("POST", ALIAS, "text=x&unknown=y")
    assert [datapoint_of(await pollers[name].answer())[0] for name in ("one", "two")] == [[("text", "x")]] * 2
    assert len(rig.platform.devices.polls) == 3
    await rig.platform.context.clock.advance(30)
    for client in (pollers["number"], pollers["unknown"], stranger):
        assert (await client.answer()).status == 304


async def test_a_refused_write_answers_nobody(rig: DeviceRig) -> None:
    writer, poller = await polling(rig)
    assert (await writer.ask("POST", ALIAS, "text=x&number=warm")).status == 400
    assert len(rig.platform.devices.polls) == 1
    await writer.ask("POST", ALIAS, "text=y")
    assert datapoint_of(await poller.answer())[0] == [("text", "y")]


async def test_if_modified_since_alone_is_a_plain_read(rig: DeviceRig) -> None:
    client = await rig.device()
    await client.ask("POST", ALIAS, "text=x")
    answer = await client.ask("GET", POLL, headers=[("If-Modified-Since", "nonsense")])
    assert (answer.status, answer.pairs, answer.header("Last-Modified")) == (200, [("text", "x")], None)


async def test_a_client_that_disconnects_leaves_nothing_and_takes_nothing(rig: DeviceRig) -> None:
    writer, poller = await polling(rig, 0)
    tasks = len(asyncio.all_tasks())
    poller.leave()
    while len(rig.platform.devices.polls):  # until the server has seen it
        await writer.ask("GET", "/timestamp")
    await rig.idle()
    assert len(asyncio.all_tasks()) < tasks
    assert rig.platform.context.activity.running == 0
    entry = rig.platform.context.journal.select("request", "token/d")[1]
    assert (entry.status, entry.detail) == (None, {"reason": "the connection ended before the answer"})
    await writer.ask("POST", ALIAS, "text=x")
    assert datapoint_of(await writer.ask("GET", POLL, headers=poll_headers(0, 0)))[0] == [("text", "x")]
    assert not any(timer.callback for _, _, timer in rig.platform.context.clock._timers)


async def test_a_lab_that_closes_ends_its_polls() -> None:
    async with lab() as rig:
        _, poller = await polling(rig)
        await rig.platform.stop()
        assert await poller.rest() == b""
        assert len(rig.platform.devices.polls) == 0


async def test_polls_are_each_answered_by_their_own_write(rig: DeviceRig) -> None:
    """Ten devices at a time, each with a poll of its own, over and over."""
    devices = [await rig.device(identity=f"d{number}") for number in range(10)]
    for turn in range(size(10, 100)):
        pollers = []
        for number, device in enumerate(devices):
            poller = await rig.connect()
            poller.credentials = device.credentials
            poller.send("GET", POLL, headers=poll_headers())
            pollers.append(poller)
            await rig.held(1, identity=f"d{number}")
        for number, device in enumerate(devices):
            await device.ask("POST", ALIAS, f"text={turn}-{number}")
        assert [datapoint_of(await poller.answer())[0] for poller in pollers] == [
            [("text", f"{turn}-{number}")] for number in range(10)
        ]
        for poller in pollers:
            poller.leave()


@pytest.mark.parametrize("product", ["password", "certificate"])
async def test_polls_of_other_credentials(rig: DeviceRig, product: str) -> None:
    device = await rig.device(product)
    device.send("GET", POLL, headers=poll_headers())
    await rig.held(1, product=product)
    point = Stored(Datapoint("text", NOW, "from elsewhere"), 1)
    rig.platform.devices.polls.wake(product, "d", [point], written=True)
    assert datapoint_of(await device.answer())[0] == [("text", "from elsewhere")]
