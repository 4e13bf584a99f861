"""The solution of the guides in a real browser: social logins from loginurl to the final JSON, and a new password."""

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from labkit import Lab
from labkit.lab.solution import Solution
from tests.chromium import Tab, browser, needs_chromium

pytestmark = [needs_chromium, pytest.mark.xdist_group("chromium")]

GUIDE = Path(__file__).parents[2] / "notebooks/solutions/guide"
CALLBACKS = {"google": "/social/handle/google", "twitter": "/social/twitter/handle"}


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(seed=7) as lab:
        yield lab


@pytest.fixture(scope="module")
def acme(lab: Lab) -> Solution:
    acme = lab.solution("acme", path=GUIDE)
    for name, path in CALLBACKS.items():
        provider = lab.provider(name)
        provider.people.add("ann", name="Ann <b>", email="ann@example.com")
        app = provider.register(acme.url(path))
        acme.User.createSocial(
            consumer=name,
            scope=["profile"] if name == "google" else [],
            redirect=acme.url(path),
            client_id=app.client_id,
            client_secret=app.client_secret,
        )
    return acme


@pytest.fixture
async def tab(chromium_port: int) -> AsyncIterator[Tab]:
    async with browser(chromium_port, insecure=True) as tab:
        yield tab


async def at(tab: Tab) -> tuple[str, str]:
    """Return host and path of the current page."""
    url = urlsplit(await tab.evaluate("location.href"))
    return str(url.hostname), url.path


@pytest.mark.parametrize(
    ("name", "login"), [("google", "/social/handle/google/loginurl"), ("twitter", "/twitter/login")]
)
async def test_a_social_login(lab: Lab, acme: Solution, tab: Tab, name: str, login: str) -> None:
    await tab.goto(acme.url(login))
    assert (await at(tab))[0] == f"{name}.social.lab.localhost"
    await tab.evaluate("document.querySelector('[value=ann]').click()")
    await tab.click("[value=approve]")
    assert await at(tab) == (acme.domain, CALLBACKS[name])
    answer = json.loads(await tab.evaluate("document.body.innerText"))
    assert answer["name"] == "Ann <b>"
    assert "ann" in (answer.get("sub"), answer.get("screen_name"))


async def test_a_person_denies(lab: Lab, acme: Solution, tab: Tab) -> None:
    await tab.goto(acme.url("/social/handle/google/loginurl"))
    await tab.click("[value=deny]")
    answer = json.loads(await tab.evaluate("document.body.innerText"))
    assert "access_denied" in answer["message"]


async def test_a_new_password_by_the_link_of_a_mail(lab: Lab, acme: Solution, tab: Tab) -> None:
    code = acme.User.createUser(email="ann@example.com", name="Ann", password="correct horse")
    acme.User.activateUser(code=code)
    assert acme.post("/api/forgotten", json={"email": "ann@example.com"}).status_code == 200
    [link] = lab.mailbox[-1].links
    await tab.goto(link)
    answer = await tab.evaluate("""new Promise((resolve) => {
        const told = document.getElementById("told");
        new MutationObserver(() => resolve(told.textContent)).observe(told, {childList: true});
        document.getElementById("password").value = "battery staple";
        document.querySelector("button").click();
    })""")
    assert "new password is set" in answer
    assert isinstance(acme.User.getUserToken(email="ann@example.com", password="battery staple"), str)
