"""listBinding of Notify. Every check lists its own bindings, by identities or tags that no other check uses."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.device_client import now
from labkit.conformance.notifications import CHANNELS, DAY, Notify
from labkit.conformance.target import Target


def day(second: float) -> str:
    """Return the UTC day of a Unix second as YYYY-MM-DD."""
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%d")


@check("NTF-LIST-1", "a list has meta, and bindings as getBinding gives them")
async def listed(target: Target) -> None:
    notify = Notify(target)
    made = await notify.bound("sms", Tag=["one"])
    found = await notify.done("listBinding", Identity=made["identity"])
    notify.same("what a list has", sorted(found), ["bindings", "meta"])
    notify.same("bindings", found["bindings"], [made])
    found = await notify.done("listBinding", Identity=target.identity())
    notify.same("bindings of nobody", found["bindings"], [])


@check("NTF-LIST-2", "a list by identities has the bindings of any of them")
async def by_identity(target: Target) -> None:
    notify = Notify(target)
    names = [f"{target.identity()} person" for _ in range(3)]
    ann, bob, cat = [[await notify.bound(kind, Identity=name) for kind in ("apn", "sms")] for name in names]
    await notify.lists("one", ann, Identity=names[0])
    await notify.lists("one in a list", ann, Identity=names[:1])
    await notify.lists("two", [*ann, *bob], Identity=names[:2])
    await notify.lists("one twice", bob, Identity=[names[1], names[1]])
    await notify.lists("one and nobody", cat, Identity=[names[2], target.identity()])
    strangers = [target.identity() for _ in range(30)]
    await notify.lists("many", [*ann, *cat], Identity=[names[0], *strangers, names[2]])
    await notify.lists("in capitals", [], Identity=names[0].upper())
    await notify.lists("the beginning of one", [], Identity=names[0][:-1])
    await notify.lists("a pattern", [], Identity=[f"{names[0][:-1]}%", f"{names[0][:-1]}*", "' OR 1 --"])


@check("NTF-LIST-3", "a list by tags has the bindings that have all of them")
async def by_tag(target: Target) -> None:
    notify, tag = Notify(target), target.identity()
    one = await notify.bound(Tag=[tag, "red"])
    two = await notify.bound("sms", Tag=[tag, "blue", "red"])
    three = await notify.bound("fcm", Tag=[tag])
    other = await notify.bound(Tag=[f"{tag} red", "red"])
    await notify.lists("one tag", [one, two, three], Tag=tag)
    await notify.lists("two tags", [one, two], Tag=[tag, "red"])
    await notify.lists("three tags", [two], Tag=["blue", tag, "red"])
    await notify.lists("one twice", [one, two], Tag=["red", tag, "red"])
    await notify.lists("a tag of nobody", [], Tag=[tag, "green"])
    await notify.lists("another tag", [other], Tag=f"{tag} red")


@check("NTF-LIST-3", "a tag is found as long as one binding has it, whatever became of others")
async def left(target: Target) -> None:
    notify, tag, endpoint = Notify(target), target.identity(), target.identity()
    made = [await notify.bound(Tag=[tag, f"{tag} b"]) for _ in range(3)]
    replaced = await notify.bound(Endpoint=endpoint, Tag=[tag, f"{tag} b"])
    await notify.lists("four", [*made, replaced], Tag=tag)
    another = await notify.bound(Endpoint=endpoint, Tag=tag)
    await notify.lists("one replaced", [*made, another], Tag=tag)
    for gone in (0, 1):
        await notify.nothing("deleteBinding", BindingSid=made[gone]["sid"])
        await notify.lists("the rest", [*made[gone + 1 :], another], Tag=tag)
        await notify.lists("the rest with both", made[gone + 1 :], Tag=[tag, f"{tag} b"])
    await notify.nothing("deleteBinding", BindingSid=made[2]["sid"])
    await notify.lists("the last", [another], Tag=tag)
    await notify.lists("none", [], Tag=f"{tag} b")


@check("NTF-LIST-4", "a list by 20 tags is given, by 21 not")
async def most_tags(target: Target) -> None:
    notify, tag = Notify(target), target.identity()
    tags = [tag, *(f"tag {number}" for number in range(20))]
    made = await notify.bound(Tag=tags[:20])
    await notify.bound(Tag=tags[:19])
    await notify.lists("20 tags", [made], Tag=tags[:20])
    await notify.fails("listBinding", Tag=tags)


@check("NTF-LIST-5", "each binding has the tags all and its own type")
async def implicit(target: Target) -> None:
    notify, tag = Notify(target), target.identity()
    made = await notify.bound_all(Tag=[tag, *CHANNELS])
    await notify.lists("all", list(made.values()), Tag=["all", tag])
    for kind in CHANNELS:
        await notify.lists(kind, [made[kind]], Tag=[tag, kind])
        await notify.lists(f"{kind} and all", [made[kind]], Tag=[kind, "all", tag])
        await notify.lists(kind, [made[kind]], Identity=made[kind]["identity"], Tag=kind)
    await notify.lists("two types", [], Tag=[tag, "apn", "sms"])
    newest = await notify.bound()
    expect.equal("newest of all", (await notify.sids(Tag="all", PageSize=1)), [newest["sid"]], notify.last)


@check("NTF-LIST-6", "bounds of dates are days of UTC, both included")
async def dates(target: Target) -> None:
    notify = Notify(target)
    made = await notify.bound()
    second = parsedate_to_datetime(made["date_created"]).timestamp()
    before, today, after = (day(second + days * DAY) for days in (-1, 0, 1))
    for bounds, there in (
        ({"StartDate": today}, True),
        ({"EndDate": today}, True),
        ({"StartDate": today, "EndDate": today}, True),
        ({"StartDate": before, "EndDate": after}, True),
        ({"StartDate": after}, False),
        ({"EndDate": before}, False),
        ({"StartDate": after, "EndDate": before}, False),
        ({"StartDate": "0001-01-01", "EndDate": "9999-12-31"}, True),
    ):
        await notify.lists(f"{bounds}", [made] if there else [], Identity=made["identity"], **bounds)


@check("NTF-LIST-6", "the last second of a day is of that day, the next one is not", needs={"clock"})
async def midnight(target: Target) -> None:
    notify, device, identity = Notify(target), target.device("token-open"), target.identity()
    midnight = (await now(device) // DAY + 1) * DAY
    made = []
    for second in (midnight - 0.001, midnight):
        await target.in_lab(target.lab.clock.advance_to, second)
        made.append(await notify.bound(Identity=identity))
    await target.advance(0.75)
    made.append(await notify.bound(Identity=identity))
    eve, first = day(midnight - 1), day(midnight)
    await notify.lists("until the eve", made[:1], Identity=identity, EndDate=eve)
    await notify.lists("from the day on", made[1:], Identity=identity, StartDate=first)
    await notify.lists("the eve", made[:1], Identity=identity, StartDate=eve, EndDate=eve)
    await notify.lists("the day", made[1:], Identity=identity, StartDate=first, EndDate=first)


@check("NTF-LIST-7", "meta has the page, and the URLs of others")
async def meta(target: Target) -> None:
    notify, identity = Notify(target), target.identity()
    for _ in range(5):
        await notify.bound(Identity=identity)
    pages = [
        (await notify.done("listBinding", Identity=identity, PageSize=2, Page=page))["meta"]
        for page in range(3)
    ]
    for number, each in enumerate(pages):
        for name in ("key", "url", "first_page_url"):
            expect.true(f"{name} is a text", isinstance(each.get(name), str), each, notify.last)
        notify.same("page and page_size", [each.get("page"), each.get("page_size")], [number, 2])
        for name, there in (("next_page_url", number < 2), ("previous_page_url", number > 0)):
            if there:
                expect.true(f"{name} is a text", isinstance(each.get(name), str), each, notify.last)
        notify.same("key", each["key"], "bindings")


@check("NTF-LIST-8", "pages have 50 bindings unless another size is asked for, and none twice")
async def pages(target: Target) -> None:
    notify, tag = Notify(target), target.identity()
    made = []
    for _ in range(3):
        identity = target.identity()
        made += [await notify.bound(Identity=identity, Tag=tag) for _ in range(17)]
    newest = [each["sid"] for each in reversed(made)]
    found = await notify.done("listBinding", Tag=tag)
    notify.same("page_size", found["meta"].get("page_size"), 50)
    notify.same("the first page", [each["sid"] for each in found["bindings"]], newest[:50])
    notify.same("the second page", await notify.sids(Tag=tag, Page=1), newest[50:])
    notify.same("one after the last", await notify.sids(Tag=tag, Page=2), [])
    notify.same("all on one", await notify.sids(Tag=tag, PageSize=1000), newest)
    notify.same("all on one", await notify.sids(Tag=tag, PageSize="51"), newest)
    seen = [sid for page in range(8) for sid in await notify.sids(Tag=tag, PageSize=7, Page=page)]
    notify.same("pages of 7", seen, newest)
    for number, size, more in ((0, 50, True), (1, 50, False), (0, 51, False)):
        meta = (await notify.done("listBinding", Tag=tag, Page=number, PageSize=size))["meta"]
        notify.same(
            "next and previous", ["next_page_url" in meta, "previous_page_url" in meta], [more, number > 0]
        )
    for wrong in ({"PageSize": 0}, {"PageSize": 1001}, {"Page": -1}, {"PageSize": "many"}, {"Page": 0.5}):
        text = await notify.refused("listBinding", 400, Tag=tag, **wrong)
        expect.true("the error names it", next(iter(wrong)) in text, text, notify.last)


@check("NTF-LIST-9", "the newest binding comes first")
async def order(target: Target) -> None:
    notify, identity = Notify(target), target.identity()
    made = [await notify.bound(kind, Identity=identity) for kind in CHANNELS]
    notify.same("order", await notify.sids(Identity=identity), [each["sid"] for each in reversed(made)])


@check("NTF-LIST-10", "filters that are named together must all fit")
async def together(target: Target) -> None:
    notify, tag = Notify(target), target.identity()
    ann = await notify.bound(Tag=[tag])
    bob = await notify.bound(Tag=[tag])
    await notify.bound("sms", Identity=ann["identity"])
    names = [ann["identity"], bob["identity"]]
    await notify.lists("identity and tag", [ann], Identity=names[0], Tag=tag)
    await notify.lists("identities and tag", [ann, bob], Identity=names, Tag=[tag, "apn"])
    await notify.lists("and another", [], Identity=names, Tag=[tag, "sms"])
    await notify.lists("and a day", [], Identity=names, Tag=tag, EndDate="2001-01-01")
    await notify.lists("and a day", [ann, bob], Identity=names, Tag=tag, StartDate="2001-01-01")


@check("NTF-LIST-11", "an invalid day is refused")
async def no_days(target: Target) -> None:
    notify = Notify(target)
    for wrong in (
        "2026-02-29",
        "2026-13-01",
        "26-01-01",
        "0000-01-01",
        "2026-1-1",
        "20260101",
        "2026-01-01T00:00:00Z",
        "today",
        "٢٠٢٦-٠١-٠١",
    ):
        for name in ("StartDate", "EndDate"):
            text = await notify.refused("listBinding", 400, **{name: wrong})
            expect.true("the error names it", name in text, text, notify.last)
    await notify.lists(
        "a leap day", [], Identity=target.identity(), StartDate="2024-02-29", EndDate="2024-02-29"
    )


@check("NTF-LIST-12", "the case of tags counts, and implicit ones that are given change nothing")
async def odd_tags(target: Target) -> None:
    notify, tag = Notify(target), target.identity()
    one = await notify.bound(Tag=[tag, "Red"])
    two = await notify.bound(Tag=[tag, "red", "sms", "all", "gcm"])
    notify.same("tags", two.get("tags"), [tag, "red"])
    await notify.lists("in capitals", [one], Tag=[tag, "Red"])
    await notify.lists("in small letters", [two], Tag=[tag, "red"])
    await notify.lists("neither", [], Tag=[tag, "RED"])
    await notify.lists("another type", [], Tag=[tag, "sms"])
    await notify.lists("all", [one, two], Tag=[tag, "all"])
    await notify.lists("no implicit one", [], Tag=[tag, "ALL"])
