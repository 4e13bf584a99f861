"""The solution of the guides in a lab, and its users, who only use HTTPS."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from labkit import Lab
from labkit.lab.browser import Browser
from labkit.lab.solution import Solution

FOLDER = Path(__file__).parents[3] / "notebooks" / "solutions" / "guide"
PASSWORD = "correct horse"


@dataclass
class Guide:
    """A lab with the solution."""

    lab: Lab
    solution: Solution
    _count: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def url(self, path: str) -> str:
        return self.solution.url(path)

    def visitor(self) -> Visitor:
        """Return a visitor without cookies."""
        return Visitor(self, self.lab.browser())

    def email(self) -> str:
        """Return an unused address."""
        return f"person{next(self._count)}@example.com"

    def person(self) -> Person:
        """Return a person with an active account, not logged in."""
        visitor, email = self.visitor(), self.email()
        answer = visitor.post("/api/user/signup", email=email, name="Ann", password=PASSWORD)
        assert answer.status_code == 200, answer.text
        assert visitor.follow_mail(email).status_code == 200
        return Person(self, visitor.browser, email)

    def member(self) -> Person:
        """Return a person who is logged in."""
        person = self.person()
        assert person.log_in().status_code == 303
        return person

    def link(self, email: str) -> str:
        """Return the link of the newest mail to an address."""
        return self.lab.mailbox.find(to=email)[-1].links[-1]


@dataclass
class Visitor:
    """A visitor with a browser, which follows redirects only on request."""

    guide: Guide
    browser: Browser

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.browser.get(self.guide.url(path), follow=False, **options)

    def post(self, path: str, **body: object) -> httpx.Response:
        """POST an object as JSON."""
        return self.browser.post(self.guide.url(path), follow=False, json=body)

    def follow_mail(self, email: str) -> httpx.Response:
        """Open the link of the newest mail to an address."""
        return self.browser.get(self.guide.link(email))


@dataclass
class Person(Visitor):
    """A person with an active account."""

    email: str

    def log_in(self, password: str = PASSWORD) -> httpx.Response:
        return self.post("/api/session/login", email=self.email, password=password)

    @property
    def id(self) -> int:
        """Return the person's id in the solution; requires a login."""
        return int(self.get("/api/session/user").json()["id"])

    @property
    def sid(self) -> str:
        """Return the user token in the browser's cookie."""
        return self.browser.cookies.get("sid") or ""


def refused(answer: httpx.Response, status: int, text: str = "") -> None:
    """Assert that an answer is a refusal: this status, and JSON with a message that contains `text`."""
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == "application/json"
    assert text in answer.json()["message"]
