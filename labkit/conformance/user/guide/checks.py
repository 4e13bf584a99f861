"""The example solution of the guides: accounts, mails and sessions. Every check creates its own users."""

from __future__ import annotations

import json
import re
import unicodedata
from urllib.parse import parse_qs, urlsplit

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.guide import Guide
from labkit.conformance.probe import Table
from labkit.conformance.set_up import set_up
from labkit.conformance.target import Target
from labkit.conformance.users import NEW_PASSWORD, PASSWORD

LIFETIME = 86400  # seconds: of a reset token
SIGNUP, FORGOTTEN, RESET = "/api/user/signup", "/api/forgotten", "/api/resetPassword"
LOGIN, USER = "/api/session/login", "/api/session/user"


async def reset_token(guide: Guide, email: str) -> str:
    """Request a password reset and return the token mailed to the address."""
    expect.status(await guide.post(FORGOTTEN, email=email), 200)
    link = urlsplit(guide.link(email))
    return parse_qs(link.query).get("rt", [""])[0]


# ---- accounts


@check(
    "USR-GUIDE-1 USR-GUIDE-3",
    "a signup sends a mail whose link activates the account",
    needs={"mailbox"},
)
async def signup(target: Target) -> None:
    guide, email = Guide(target), f"{target.identity()}@example.com"
    login = {"email": email, "password": PASSWORD}
    expect.status(await guide.post(SIGNUP, name="Ann", status=1, **login), 200)  # status must be ignored
    link, url = guide.link(email), re.escape(guide.url("/api/verify/"))
    expect.true("the link leads to this solution", re.fullmatch(f"{url}[^/?]+", link), link)
    expect.equal("recipients", [mail.recipients for mail in guide.mails(email)], [(email,)])
    expect.status(await guide.post(LOGIN, **login), 401)
    guide.message(expect.status(await guide.get(urlsplit(link).path), 200))
    expect.status(await guide.post(LOGIN, **login), 303)


@check("USR-GUIDE-2", "a refused signup answers with the status and the message of the error")
async def refused_signup(target: Target) -> None:
    guide = Guide(target)
    person = await guide.person()
    taken = {"email": person.email, "name": "Eve", "password": PASSWORD}
    whole = {"email": f"{target.identity()}@example.com", "name": "Eve", "password": PASSWORD}
    lacking = [{name: each for name, each in whole.items() if name != missing} for missing in whole]
    for given in (
        taken,
        {**taken, "email": person.email.upper()},
        *lacking,
        {**taken, "email": "no address"},
    ):
        kind, error = await guide.call("User", "createUser", given)
        expect.equal("what createUser gives", kind, "table", guide.last)
        response = await guide.post(SIGNUP, **given)
        expect.equal("status", response.status_code, error["status"], response)
        expect.true("it is a refusal", 400 <= response.status_code < 500, response.status_code, response)
        expect.equal("message", guide.message(response), error["message"], response)


@check("USR-GUIDE-2", "a signup that is refused sends no mail", needs={"mailbox"})
async def no_mail(target: Target) -> None:
    guide = Guide(target)
    person = await guide.person()
    response = await guide.post(SIGNUP, email=person.email, name="Eve", password=PASSWORD)
    expect.true("it is a refusal", 400 <= response.status_code < 500, response.status_code, response)
    expect.equal("mails", guide.mails(person.email), [], response)


@check("USR-GUIDE-3", "the code of an account activates it")
async def verify(target: Target) -> None:
    guide = Guide(target)
    email, password, code = await guide.sign_up()
    guide.message(expect.status(await guide.get(f"/api/verify/{code}"), 200))
    expect.status(await guide.post(LOGIN, email=email, password=password), 303)
    guide.message(expect.status(await guide.get(f"/api/verify/{code}"), 401))


@check("USR-GUIDE-4", "an unknown code is 401")
async def unknown_code(target: Target) -> None:
    guide = Guide(target)
    guide.message(expect.status(await guide.get(f"/api/verify/{target.identity()}"), 401))


@check(
    "USR-GUIDE-5 USR-GUIDE-7",
    "the token of a mailed link resets a forgotten password, once",
    needs={"mailbox"},
)
async def reset(target: Target) -> None:
    guide = Guide(target)
    person, other = await guide.person(), await guide.person()
    token = await reset_token(guide, person.email)
    url, link = guide.url("/"), guide.link(person.email)
    expect.true("the link leads to this solution", link.startswith(url), link)
    expect.true("the link holds a token", token, link)
    page = await guide.get(link.removeprefix(url.rstrip("/")))
    expect.status(page, 200)
    expect.status(await guide.post(RESET, resetToken=token, password="short"), 400)
    expect.status(await guide.post(RESET, resetToken=token, password=NEW_PASSWORD), 200)
    expect.status(await guide.post(RESET, resetToken=token, password="a third one"), 400)
    expect.status(await guide.post(LOGIN, email=person.email, password=NEW_PASSWORD), 303)
    expect.status(await guide.post(LOGIN, email=person.email, password=person.password), 401)
    expect.status(await guide.post(LOGIN, email=other.email, password=other.password), 303)


@check("USR-GUIDE-6", "to have forgotten is 400 without email, 404 without user")
async def forgotten_by_nobody(target: Target) -> None:
    guide = Guide(target)
    nothing: tuple[Table, ...] = ({}, {"email": ""}, {"email": 7}, {"email": ["ann@example.com"]})
    for given in nothing:
        guide.message(expect.status(await guide.post(FORGOTTEN, **given), 400))
    guide.message(expect.status(await guide.post(FORGOTTEN, email=f"{target.identity()}@example.com"), 404))


@check("USR-GUIDE-8", "to reset is 400 without token, without password, with an unknown token")
async def reset_of_nothing(target: Target) -> None:
    guide = Guide(target)
    token, password = {"resetToken": target.identity()}, {"password": NEW_PASSWORD}
    unknown = {"resetToken": target.identity().replace("-", "").ljust(40, "x")}
    without: tuple[Table, ...] = ({}, password, token, {**token, "password": ""})
    odd = ("", {"a": 1}, "x" * 500, "-----BEGIN PUBLIC KEY-----", "é ü", "\n")
    wrong = [{"resetToken": each, **password} for each in odd]
    for given in (*without, {**token, **password}, {**unknown, **password}, *wrong):
        guide.message(expect.status(await guide.post(RESET, **given), 400))


@check("USR-GUIDE-9", "a reset token is good for 86400 seconds, and no longer", needs={"clock", "mailbox"})
async def reset_lifetime(target: Target) -> None:
    guide = Guide(target)
    person, other = await guide.person(), await guide.person()
    early = await reset_token(guide, person.email)
    late = await reset_token(guide, other.email)
    await target.advance(LIFETIME)
    expect.status(await guide.post(RESET, resetToken=early, password=NEW_PASSWORD), 200)
    await target.advance(1)
    expect.status(await guide.post(RESET, resetToken=late, password=NEW_PASSWORD), 400)


@check("USR-GUIDE-10", "a part of an address, or a pattern that matches it, finds no user")
async def near_addresses(target: Target) -> None:
    guide = Guide(target)
    person = await guide.person()
    for email in (person.email[1:], f"_{person.email[1:]}", f"%{person.email[1:]}", "%"):
        expect.status(await guide.post(FORGOTTEN, email=email), 404)


@check("USR-GUIDE-11 USR-GUIDE-32", "the Keystore has the user under the token alone", needs={"mailbox"})
async def keys_are_no_tokens(target: Target) -> None:
    guide = Guide(target)
    person = await guide.person()
    token = await reset_token(guide, person.email)
    other = target.identity().replace("-", "")
    for key in (other, other.ljust(len(token), "0")):
        await guide.call("Keystore", "set", {"key": key, "value": person.id})
        expect.status(await guide.post(RESET, resetToken=key, password=NEW_PASSWORD), 400)
    keys = await guide.keys(containing=token)
    held = [(await guide.call("Keystore", "get", {"key": key}))[1].get("value") for key in keys]
    expect.equal("what stands under the token", held, [str(person.id)], guide.last)
    for key in keys:
        if key != token:
            expect.status(await guide.post(RESET, resetToken=key, password=NEW_PASSWORD), 400)


@check("USR-GUIDE-33", "with the first reset token that is used end all of its user's", needs={"mailbox"})
async def tokens_end_together(target: Target) -> None:
    guide = Guide(target)
    person, other = await guide.person(), await guide.person()
    tokens = [await reset_token(guide, person.email) for _ in range(3)]
    others = await reset_token(guide, other.email)
    expect.status(await guide.post(RESET, resetToken=tokens[1], password=NEW_PASSWORD), 200)
    later = await reset_token(guide, person.email)
    for token in tokens:
        expect.status(await guide.post(RESET, resetToken=token, password="a third one"), 400)
    expect.equal("keys of dead tokens", await guide.keys(containing=tokens[0]), [], guide.last)
    for token in (later, others):
        expect.status(await guide.post(RESET, resetToken=token, password="a third one"), 200)


@check("USR-GUIDE-41", "a password changed by updateUser ends reset tokens", needs={"mailbox"})
async def tokens_end_with_the_password(target: Target) -> None:
    guide = Guide(target)
    person, other = await guide.person(), await guide.person()
    before, others = await reset_token(guide, person.email), await reset_token(guide, other.email)
    given = {"id": person.id, "password": NEW_PASSWORD, "original_password": person.password}
    await guide.table("updateUser", **given)
    await guide.table("updateUser", id=other.id, name="Bea")
    await target.settle()
    expect.status(await guide.post(RESET, resetToken=before, password="a third one"), 400)
    expect.equal("keys of the dead token", await guide.keys(containing=before), [], guide.last)
    later = await reset_token(guide, person.email)
    for token in (later, others):
        expect.status(await guide.post(RESET, resetToken=token, password="a third one"), 200)


@check("USR-GUIDE-34", "a forgotten password is reset by every spelling of the address", needs={"mailbox"})
async def forms_of_an_address(target: Target) -> None:
    guide, number = Guide(target), target.identity()
    email = f"j\u00fcrgen{number}@m\u00fcller.example"
    with set_up("somebody with an address beyond ASCII"):
        code = await guide.text("createUser", email=email, name="J\u00fcrgen", password=PASSWORD)
        await guide.text("activateUser", code=code)
    for form in (
        email,
        email.upper(),
        unicodedata.normalize("NFD", email),
        f"j\u00fcrgen{number}@xn--mller-kva.example",
    ):
        expect.status(await guide.post(LOGIN, email=form, password=PASSWORD), 303)
        before = len(guide.mails(email))
        expect.status(await guide.post(FORGOTTEN, email=form), 200)
        expect.equal("mails", len(guide.mails(email)), before + 1, guide.last)


@check("USR-GUIDE-35", "to look at the link of the mail activates nothing")
async def looked_at(target: Target) -> None:
    guide = Guide(target)
    email, password, code = await guide.sign_up()
    looked = await guide.request("HEAD", f"/api/verify/{code}")
    expect.status(looked, 405)
    expect.status(await guide.post(LOGIN, email=email, password=password), 401)
    guide.message(expect.status(await guide.get(f"/api/verify/{code}"), 200))
    expect.status(await guide.post(LOGIN, email=email, password=password), 303)


# ---- sessions


@check("USR-GUIDE-12 USR-GUIDE-14 USR-GUIDE-16", "a login sets the cookie that identifies the user")
async def login(target: Target) -> None:
    guide = Guide(target)
    person = await guide.person()
    response = expect.status(await guide.post(LOGIN, email=person.email, password=person.password), 303)
    where = urlsplit(response.headers.get("Location", ""))
    expect.equal("where it leads", where.path, USER, response)
    sid, attributes = guide.cookie(response, "sid")
    expect.equal("path of the cookie", attributes.get("path"), "/", response)
    missing = {"httponly", "secure", "samesite"} - attributes.keys()
    expect.equal("what the cookie lacks", missing, set(), response)
    kind, user = await guide.call("User", "getCurrentUser", {"token": sid})
    expect.equal("whom the token names", (kind, user.get("id")), ("table", person.id), guide.last)
    shown = expect.status(await guide.get(USER, sid=sid), 200)
    expect.header(shown, "Cache-Control", "no-cache")
    guide.same("user", shown.json(), user)


@check("USR-GUIDE-13", "a login that fails is 401 and clears the cookie")
async def failing_login(target: Target) -> None:
    guide = Guide(target)
    person = await guide.person()
    wrong = {"email": person.email, "password": NEW_PASSWORD}
    said = set()
    for given in (
        wrong,
        {**wrong, "email": f"{target.identity()}@example.com"},
        {},
        {"email": person.email},
        {"password": PASSWORD},
        {"email": {"a": 1}, "password": [PASSWORD]},
    ):
        response = expect.status(await guide.post(LOGIN, **given), 401)
        message = guide.message(response)
        said |= {message} if len(given) == 2 and isinstance(given["email"], str) else set()
        value, attributes = guide.cookie(response, "sid")
        expect.equal("value of the cookie", value, "", response)
        expired = attributes.get("max-age") == "0" or "expires" in attributes
        expect.true(
            "the cookie ends, where it was set", expired and attributes.get("path") == "/", attributes
        )
    expect.equal("messages that differ", len(said), 1, guide.last)


@check("USR-GUIDE-15", "without a valid session there is no user")
async def no_session(target: Target) -> None:
    guide = Guide(target)
    for sid in ("", "nonsense", target.identity()):
        guide.message(expect.status(await guide.get(USER, sid=sid), 400))
    good = await guide.login(await guide.person())
    for form, status in (
        *((form, 200) for form in ("sid={}", "a=b; sid={}; c=d", "xsid=no;sid={}", "a=b=c;  sid={}")),
        *((form, 400) for form in ("xsid={}", "sid2={}", "SID={}", "si={}", "a=sid={}", "sid = {}")),
        *((form, 400) for form in ("other=1; sid", "sid=a.b.c; sid=d", "=")),
    ):
        shown = await guide.request("GET", USER, headers={"Cookie": form.format(good)})
        expect.header(expect.status(shown, status), "Cache-Control", "no-cache")


@check("USR-GUIDE-36", "a login that a form of another site could send is none")
async def forms_of_other_sites(target: Target) -> None:
    guide = Guide(target)
    person = await guide.person()
    sid = await guide.login(person)
    body = json.dumps({"email": person.email, "password": person.password})
    kinds = (
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/json",
        None,
    )
    for path in (LOGIN, FORGOTTEN, SIGNUP, RESET):
        for kind in kinds:
            headers = {"Cookie": f"sid={sid}", **({"Content-Type": kind} if kind else {})}
            response = await guide.request("POST", path, headers=headers, content=body)
            guide.message(expect.status(response, 415))
            expect.equal("cookies", response.headers.get_list("Set-Cookie"), [], response)
    json_type = {"Content-Type": "Application/JSON; charset=utf-8"}
    expect.status(await guide.request("POST", LOGIN, headers=json_type, content=body), 303)
