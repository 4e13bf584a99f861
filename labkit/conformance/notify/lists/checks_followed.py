"""The pages of a list by their URLs, as a client of the provider follows them."""

from __future__ import annotations

from typing import Any

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.notifications import Notify
from labkit.conformance.probe import same
from labkit.conformance.target import Target


@check("NTF-LIST-13", "pages forth and back by their URLs, while other bindings are made and deleted")
async def followed(target: Target) -> None:
    notify, tag = Notify(target), f"{target.identity()} é+&"
    newest = [(await notify.bound(Tag=[tag, "other"]))["sid"] for _ in range(7)][::-1]
    await notify.bound(Tag="other")
    login = tuple(notify.configured[name] for name in ("AccountSid", "AuthToken"))
    browser = target.browser()

    async def page(url: object, number: int, sids: list[str]) -> dict[str, Any]:
        response = expect.status(await browser.request("GET", str(url), auth=login), 200)
        found: dict[str, Any] = response.json()
        same("the page", [each["sid"] for each in found["bindings"]], sids, response)
        meta: dict[str, Any] = found["meta"]
        same("page and page_size", [meta["page"], meta["page_size"]], [number, 2], response)
        return meta

    first = (await notify.done("listBinding", Tag=[tag, "other"], PageSize=2))["meta"]
    meta = await page(first["url"], 0, newest[:2])
    for number in (1, 2, 3):
        meta = await page(meta["next_page_url"], number, newest[2 * number : 2 * number + 2])
    same("is there a page after the last?", meta["next_page_url"], None)
    await page(meta["url"], 3, newest[6:])
    latest = (await notify.bound(Tag=[tag, "other"]))["sid"]  # which moves no page that is followed
    for number in (2, 1, 0):
        meta = await page(meta["previous_page_url"], number, newest[2 * number : 2 * number + 2])
    same("is there a page before the first?", meta["previous_page_url"], None)
    await notify.nothing("deleteBinding", BindingSid=newest[1])  # the last one of this page
    meta = await page(meta["next_page_url"], 1, newest[2:4])
    await page(meta["first_page_url"], 0, [latest, newest[0]])
