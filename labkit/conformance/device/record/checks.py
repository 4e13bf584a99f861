"""Recording values at timestamps: POST /onep:v1/stack/record."""

from __future__ import annotations

from itertools import combinations, product

from labkit.conformance import device_client, expect
from labkit.conformance.check import check
from labkit.conformance.target import Target
from labkit.fleet.device import VirtualDevice

PRODUCT = "token-open"
Pairs = list[tuple[str, object]]


@check("DEV-REC-1", "one pair and several are answered 204 with Content-Length: 0")
async def answer(target: Target) -> None:
    device, past = await _device(target)
    for points in ({past: "a"}, {past + 10: "b", past + 11: "c", past + 12: "d"}):
        response = expect.status(await device_client.record(device, _points("text", points)), 204)
        expect.header(response, "Content-Length", "0")


@check("DEV-REC-2", "each value is stored under its own timestamp")
async def own_timestamps(target: Target) -> None:
    device, past = await _device(target)
    points = {past + 20: "third", past: "first", past + 1: "second"}
    expect.status(await device_client.record(device, _points("text", points)), 204)
    await _expect_points(target, device, "text", points)


@check("DEV-REC-2", "all of the points of one request are stored, 8, 9 or 50")
async def many_points(target: Target) -> None:
    for count in (8, 9, 50):
        device, past = await _device(target)
        points = {past + 2 * number: f"{number} of {count}" for number in range(count)}
        expect.status(await device_client.record(device, _points("text", points)), 204)
        await _expect_points(target, device, "text", points)


@check("DEV-REC-3", "the pairs of several aliases in one body are all stored")
async def several_aliases(target: Target) -> None:
    device, past = await _device(target)
    text = {past: "a", past + 1: "b"}
    number = {past + 5: "1", past + 7: "2", past + 9: "3"}
    body = [*_points("text", text), *_points("number", number), *_points("flag", {past: "true"})]
    expect.status(await device_client.record(device, body), 204)
    await _expect_points(target, device, "text", text)
    await _expect_points(target, device, "number", number)
    await _expect_points(target, device, "flag", {past: "true"})


@check(
    "DEV-REC-4", "timestamps of one alias less than a second apart are a conflict, next to each other or not"
)
async def conflict(target: Target) -> None:
    device, past = await _device(target)
    adjacent: Pairs = [("alias", "text"), (str(past), "a"), (str(past), "b")]
    apart: Pairs = [("alias", "text"), (str(past), "a"), (str(past + 5), "b"), (str(past), "c")]
    same: Pairs = [("alias", "text"), (str(past), "a"), (str(past), "a")]
    near: Pairs = [("alias", "text"), (f"{past}.001", "a"), (str(past + 5), "b"), (str(past + 1), "c")]
    nearer: Pairs = [("alias", "text"), (f"{past + 1}.25", "a"), (f"{past}.5", "b")]
    nearest: Pairs = [("alias", "text"), (f"{past}.000000001", "a"), (str(past + 1), "b")]
    for body in (adjacent, apart, same, near, nearer, nearest):
        expect.status(await device_client.record(device, body), 409)


@check("DEV-REC-4", "any three timestamps by the half second")
async def any_three(target: Target) -> None:
    device, past = await _device(target)
    for first in (past, past + 1):  # one of them is even
        for halves in product(range(5), repeat=3):
            times = [f"{first + each // 2}.{each % 2 * 5}" for each in halves]
            body: Pairs = [("alias", "text"), *((each, "a") for each in times)]
            apart = all(abs(one - other) >= 2 for one, other in combinations(halves, 2))
            expect.status(await device_client.record(device, body), 204 if apart else 409)


@check("DEV-REC-4", "timestamps one second apart are no conflict")
async def one_second_apart(target: Target) -> None:
    device, past = await _device(target)
    points = {past + 1: "b", past: "a", past + 2: "c"}
    expect.status(await device_client.record(device, _points("text", points)), 204)
    await _expect_points(target, device, "text", points)
    body: Pairs = [("alias", "number"), (f"{past}.75", "1"), (f"{past + 1}.75", "2")]
    expect.status(await device_client.record(device, body), 204)


@check("DEV-REC-5", "equal timestamps of different aliases are no conflict")
async def different_aliases(target: Target) -> None:
    device, past = await _device(target)
    body = [*_points("text", {past: "a"}), *_points("number", {past: "1"}), *_points("flag", {past: "true"})]
    expect.status(await device_client.record(device, body), 204)
    expect.equal(
        "the values",
        await device_client.stored(device, "text", "number", "flag"),
        {"text": "a", "number": "1", "flag": "true"},
    )


@check("DEV-REC-6", "a 409 lists alias and timestamp of the points that conflict, not the others")
async def listed(target: Target) -> None:
    device, past = await _device(target)
    clash: Pairs = [("alias", "text"), (str(past), "a"), (str(past), "b")]
    fine = _points("number", {past: "1", past + 1: "2"})
    other: Pairs = [("alias", "mode"), (str(past + 7), "on"), (str(past + 7), "off")]
    response = expect.status(await device_client.record(device, [*clash, *fine, *other]), 409)
    pairs = sorted(response.text.split("&"))
    expect.equal("the pairs", pairs, [f"mode={past + 7}", f"text={past}"], response)
    response = expect.status(await device_client.record(device, [*fine, *clash]), 409)
    expect.body(response, f"text={past}")
    oldest: Pairs = [("alias", "text"), ("0", "a"), ("0", "b")]
    expect.body(expect.status(await device_client.record(device, oldest), 409), "text=0")


@check("DEV-REC-7", "a 409 lists each alias once, with the first timestamp of its first clash")
async def first_clash(target: Target) -> None:
    device, past = await _device(target)
    body: Pairs = [("alias", "text"), (str(past), "a"), (str(past + 3), "b"), (str(past + 9), "c")]
    body += [(str(past + 3), "d"), (str(past), "e")]
    expect.body(expect.status(await device_client.record(device, body), 409), f"text={past + 3}")
    body = [*_points("text", {past: "a"}), *_points("number", {past: "1"}), *_points("text", {past: "b"})]
    expect.body(expect.status(await device_client.record(device, body), 409), f"text={past}")
    body = [("alias", "text"), (f"{past}.2", "a"), (f"{past}.9", "b")]
    expect.body(expect.status(await device_client.record(device, body), 409), f"text={past}")


@check("DEV-REC-7", "a 409 names the second of a timestamp that counts back", needs={"clock"})
async def first_clash_counted_back(target: Target) -> None:
    device = await target.activated(PRODUCT)
    now = await device_client.now(device)
    body: Pairs = [("alias", "text"), ("-10", "a"), (str(now - 10), "b"), ("-10.9", "c")]
    response = expect.status(await device_client.record(device, body), 409)
    expect.body(response, f"text={now - 10}")


@check("DEV-REC-8", "a record that is refused stores nothing")
async def nothing_stored(target: Target) -> None:
    device, past = await _device(target)
    fine = _points("number", {past: "1"})
    clash: Pairs = [("alias", "text"), (str(past), "a"), (str(past), "b")]
    wrong_value = _points("level", {past: "101"})
    for wrong, status in ((clash, 409), (wrong_value, 400), ([("alias", "flag")], 400)):
        for body in ([*fine, *wrong], [*wrong, *fine]):
            expect.status(await device_client.record(device, body), status)
            found = await device_client.stored(device, "text", "number", "level", "flag")
            expect.equal("what is stored", found, {})


@check("DEV-REC-9", "a point at the timestamp of a stored one replaces it")
async def replaces(target: Target) -> None:
    device, past = await _device(target)
    for value in ("before", "after"):
        expect.status(await device_client.record(device, _points("text", {past: value})), 204)
        expect.equal("the point", await device_client.datapoint(target, device, "text"), (past, value))


@check("DEV-REC-10", "decimals are taken, compared exactly and stored as whole seconds")
async def decimals(target: Target) -> None:
    device, past = await _device(target)
    body: Pairs = [("alias", "text"), (f"{past}.25", "a"), (f"{past + 1}.25", "b"), (f"{past + 2}.999", "c")]
    expect.status(await device_client.record(device, body), 204)
    await _expect_points(target, device, "text", {past: "a", past + 1: "b", past + 2: "c"})
    for first, second in (
        (f"{past}.5", f"{past + 1}.499"),
        (f"{past}.001", f"{past + 1}"),
        (past, f"{past}.9"),
    ):
        body = [("alias", "text"), (str(first), "a"), (str(second), "b")]
        expect.status(await device_client.record(device, body), 409)
        expect.status(await device_client.record(device, [body[0], body[2], body[1]]), 409)


@check("DEV-REC-11", "a negative timestamp counts back from the time of receipt")
async def negative(target: Target) -> None:
    device = await target.activated(PRODUCT)
    before = await device_client.now(device)
    body: Pairs = [("alias", "text"), ("-600", "ten minutes ago"), ("-30", "half a minute ago")]
    expect.status(await device_client.record(device, body), 204)
    after = await device_client.now(device)
    stamp, value = await device_client.datapoint(target, device, "text")
    expect.equal("the first value", value, "ten minutes ago")
    expect.true(
        f"its timestamp is within {before - 600} to {after - 600}",
        before - 600 <= stamp <= after - 600,
        stamp,
    )
    expect.equal("the newest value", await device_client.value(device, "text"), "half a minute ago")


@check("DEV-REC-11", "a second back, and parts of one; 0 and 1 are of the year 1970")
async def a_little_back(target: Target) -> None:
    for back, earliest in (("-1", 1), ("-1.5", 2), ("-0.5", 1), ("-0.001", 1)):
        device = await target.activated(PRODUCT)
        before = await device_client.now(device)
        expect.status(await device_client.record(device, [("alias", "text"), (back, "a")]), 204)
        after = await device_client.now(device)
        stamp, _ = await device_client.datapoint(target, device, "text")
        expect.true(f"{back} is a little before now", before - earliest <= stamp <= after, stamp)
    device = await target.activated(PRODUCT)
    expect.status(await device_client.record(device, [("alias", "text"), ("1", "a"), ("2", "b")]), 204)
    expect.equal("the point of 1970", await device_client.datapoint(target, device, "text"), (1, "a"))
    expect.status(await device_client.record(device, [("alias", "Text"), ("0", "zero")]), 204)
    expect.equal("the value of 0", await device_client.value(device, "Text"), "zero")


@check("DEV-REC-11", "parts of a second count back from the exact time of receipt", needs={"clock"})
async def from_the_moment(target: Target) -> None:
    device = await target.activated(PRODUCT)
    now = await device_client.now(device)
    await target.advance(now + 10.25 - target.lab_time())
    for back, second in (("-0.25", 10), ("-0.3", 9), ("-1", 9), ("-1.25", 9), ("-1.5", 8), ("-0.001", 10)):
        device = await target.activated(PRODUCT)
        expect.status(await device_client.record(device, [("alias", "text"), (back, back)]), 204)
        point = await device_client.datapoint(target, device, "text")
        expect.equal(f"the point of {back}", point, (now + second, back))


@check("DEV-REC-11", "a negative timestamp conflicts with an absolute one of the same time")
async def negative_conflict(target: Target) -> None:
    device = await target.activated(PRODUCT)
    now = await device_client.now(device)
    seconds = range(now - 100, now - 80)  # one of these is near, whenever the request is received
    body: Pairs = [*_points("text", dict.fromkeys(seconds, "a")), ("-99.5", "b")]
    expect.status(await device_client.record(device, body), 409)
    expect.equal("text", await device_client.value(device, "text"), None)


@check("DEV-REC-12", "a timestamp a little ahead is taken; one minutes ahead is answered 400")
async def ahead(target: Target) -> None:
    device = await target.activated(PRODUCT)
    now = await device_client.now(device)
    expect.status(await device_client.record(device, _points("text", {now + 50: "soon"})), 204)
    expect.equal("text", await device_client.value(device, "text"), "soon")
    expect.refusal(await device_client.record(device, _points("number", {now + 600: "1"})), 400)
    expect.equal("number", await device_client.value(device, "number"), None)


@check("DEV-REC-12", "60 seconds ahead are taken, 61 are not", needs={"clock"})
async def edge_ahead(target: Target) -> None:
    device = await target.activated(PRODUCT)
    now = await device_client.now(device)
    expect.status(await device_client.record(device, _points("text", {now + 60: "at the edge"})), 204)
    expect.equal("text", await device_client.value(device, "text"), "at the edge")
    expect.refusal(await device_client.record(device, _points("number", {now + 61: "1"})), 400)


@check("DEV-REC-13", "an unknown alias is ignored, and the others are stored")
async def unknown_alias(target: Target) -> None:
    device, past = await _device(target)
    lost = _points("nowhere", {past: "lost"})
    for body in ([*lost, *_points("text", {past: "a"})], [*_points("text", {past + 9: "b"}), *lost], lost):
        expect.status(await device_client.record(device, body), 204)
    await _expect_points(target, device, "text", {past: "a", past + 9: "b"})
    expect.equal("nowhere", await device_client.value(device, "nowhere"), None)


@check(
    "DEV-REC-14",
    "an empty body, a wrong order, no points, no number or a value that does not fit is answered 400",
)
async def malformed(target: Target) -> None:
    device, past = await _device(target)
    bodies = (
        "",
        f"{past}=a",
        f"{past}=a&alias=text",
        f"text={past}",
        "alias=text",
        f"alias=text&alias=number&{past}=1",
        f"alias=number&{past}=1&alias=text",
        "alias=text&soon=a",
        "alias=text&=a",
        "alias=text&0x10=a",
        "alias=text&1e9=a",
        "alias=text&nan=a",
        f"alias=number&{past}=warm",
        f"alias=level&{past}=5&{past + 1}=101",
    )
    for body in bodies:
        expect.refusal(await device_client.record(device, body), 400)
        expect.equal("what is stored", await device_client.stored(device, "text", "number", "level"), {})


@check(
    "DEV-REC-14", "a body of up to six pairs is taken if it begins with an alias and each alias has a point"
)
async def orders(target: Target) -> None:
    device, past = await _device(target)
    for count in range(1, 7):
        for order in product("ap", repeat=count):
            shown = "".join(order)
            points = [f"{past + 10 * index}={shown}" for index in range(count)]
            pairs = ["alias=text" if each == "a" else points[index] for index, each in enumerate(shown)]
            taken = shown.startswith("a") and "aa" not in shown and not shown.endswith("a")
            response = await device_client.record(device, "&".join(pairs))
            if not taken:
                expect.refusal(response, 400)
                continue
            expect.status(response, 204)
            for index, each in enumerate(shown):
                if each == "p":
                    found = await device_client.datapoint(target, device, "text", past + 10 * index - 1)
                    expect.equal(f"the point of {shown}", found, (past + 10 * index, shown))


@check("DEV-REC-15", "a recorded point is read only if it is newer than the current value")
async def newer_only(target: Target) -> None:
    device, past = await _device(target)
    expect.status(await device_client.record(device, _points("text", {past: "stands"})), 204)
    expect.status(await device_client.record(device, _points("text", {past - 10: "older"})), 204)
    expect.equal("the value", await device_client.value(device, "text"), "stands")
    expect.status(await device_client.record(device, _points("text", {past + 10: "newer"})), 204)
    expect.equal("the value", await device_client.value(device, "text"), "newer")
    expect.status(await device_client.write(device, {"number": 1}), 204)
    expect.status(await device_client.record(device, _points("number", {past: "2"})), 204)
    expect.equal("the value", await device_client.value(device, "number"), "1")


@check(
    "DEV-REC-16", "a point recorded ahead is read until the next write, and again once it is recorded anew"
)
async def ahead_hides_nothing(target: Target) -> None:
    device, other = await target.activated(PRODUCT), await target.activated(PRODUCT)
    now = await device_client.now(device)
    for round in ("1", "2"):
        expect.status(await device_client.record(device, _points("text", {now + 50: f"ahead-{round}"})), 204)
        expect.equal("the value", await device_client.value(device, "text"), f"ahead-{round}")
        expect.status(await device_client.write(device, {"text": f"written-{round}"}), 204)
        expect.equal("the value", await device_client.value(device, "text"), f"written-{round}")
    expect.status(await device_client.record(device, _points("text", {now - 50: "the past"})), 204)
    expect.equal("the value", await device_client.value(device, "text"), "written-2")
    expect.equal("another device's", await device_client.value(other, "text"), None)


async def _device(target: Target) -> tuple[VirtualDevice, int]:
    """Return a fresh device, and a timestamp in its past."""
    device = await target.activated(PRODUCT)
    return device, await device_client.now(device) - 1000


def _points(alias: str, points: dict[int, str]) -> Pairs:
    return [("alias", alias), *((str(stamp), value) for stamp, value in points.items())]


async def _expect_points(target: Target, device: VirtualDevice, alias: str, points: dict[int, str]) -> None:
    """Raise Mismatch unless these are the first datapoints of an alias, in order of time, and the last one is read."""
    since = 0
    for stamp, value in sorted(points.items()):
        found = await device_client.datapoint(target, device, alias, since)
        expect.equal(f"the point of {alias} after {since}", found, (stamp, value))
        since = stamp
    expect.equal(alias, await device_client.value(device, alias), points[max(points)])
