"""The example solution of the guides: near misses of links, reset tokens, cookies and paths."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.guide import Guide
from labkit.conformance.near_misses import CASE, EMPTY, SPACE, near_misses
from labkit.conformance.target import Target
from labkit.conformance.user.guide.checks import FORGOTTEN, LOGIN, RESET, USER, reset_token
from labkit.conformance.users import NEW_PASSWORD

VERIFY = "/api/verify/"
ROUTES = (USER, "/_init")
SAME_PATH = ("a slash behind",)  # a trailing slash is ignored in paths


@check(
    "USR-GUIDE-4 USR-GUIDE-6 USR-GUIDE-8 USR-GUIDE-15 USR-GUIDE-7",
    "near misses of codes, reset tokens, addresses and sessions, and then the right ones",
    needs={"mailbox"},
)
async def near_right(target: Target) -> None:
    guide = Guide(target)
    _, _, code = await guide.sign_up()
    for _, wrong in near_misses(code, but=(*EMPTY, *SAME_PATH)):
        expect.status(await guide.get(f"{VERIFY}{quote(wrong, safe='')}"), 401)
    expect.status(await guide.get(f"{VERIFY}{code}"), 200)
    person = await guide.person()
    for _, wrong in near_misses(person.email, but=(*CASE, *SPACE, *EMPTY)):
        response = await guide.post(FORGOTTEN, email=wrong)
        expect.true(
            "it is nobody's address", response.status_code in (400, 404), response.status_code, response
        )
    token = await reset_token(guide, person.email)
    for _, wrong in near_misses(token, but=EMPTY):
        expect.status(await guide.post(RESET, resetToken=wrong, password=NEW_PASSWORD), 400)
    expect.status(await guide.post(RESET, resetToken=token, password=NEW_PASSWORD), 200)
    expect.status(await guide.post(LOGIN, email=person.email, password=NEW_PASSWORD), 303)
    sid = await guide.text("getUserToken", email=person.email, password=NEW_PASSWORD)
    for _, wrong in near_misses(sid, but=(*EMPTY, *SPACE)):
        expect.status(await guide.get(USER, sid=wrong), 400)
    expect.status(await guide.get(USER, sid=sid), 200)


@check("SOL-ROUTE-1 SOL-ROUTE-2", "near misses of a route's path")
async def near_routes(target: Target) -> None:
    guide = Guide(target)
    for path in ROUTES:
        for kind, wrong in near_misses(
            path, but=(*EMPTY, *SAME_PATH, "all but the first character", "one character before")
        ):
            asked = quote(wrong if wrong.startswith("/") else f"/{wrong}", safe="/")
            response = await guide.get(asked)
            expect.true(
                f"{kind} of {path} is no path", response.status_code == 404, response.status_code, response
            )
    expect.equal("the path of a page", urlsplit(guide.url(USER)).path, USER)
