"""Consent forms that are open in browsers. A form is valid once, for a limited time, in one browser."""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from labkit.http.error import HttpError
from labkit.providers.social.messages import AuthorizationRequest, ProviderRequest

LIFETIME = 600  # seconds of lab time until an open form expires
MOST = 10_000  # open forms; the oldest is removed first
COOKIE = "__Host-browser"  # binds a form to a browser, against forgery by other sites
VALUE = re.compile(r"[A-Za-z0-9]{32}")


@dataclass(frozen=True, slots=True)
class PendingForm:
    """Open form. value: of its hidden field; browser: value of the cookie; expires: lab time in seconds."""

    value: str
    browser: str
    authorization: AuthorizationRequest
    expires: float

    @property
    def cookie(self) -> str:
        """The value of the header Set-Cookie for this form."""
        return f"{COOKIE}={self.browser}; Path=/; Secure; HttpOnly; SameSite=Lax"


class Forms:
    """Open forms by value. now: returns lab time; secret: returns a random value of the given length."""

    def __init__(self, now: Callable[[], float], secret: Callable[[int], str]) -> None:
        self._now = now
        self._secret = secret
        self._waiting: dict[str, PendingForm] = {}

    def snapshot(self) -> list[PendingForm]:
        """Return the open forms, the oldest first."""
        return list(self._waiting.values())

    def restore(self, forms: Iterable[PendingForm]) -> None:
        """Replace the open forms."""
        self._waiting = {form.value: form for form in forms}

    def show(self, authorization: AuthorizationRequest, call: ProviderRequest) -> PendingForm:
        """Create and return a form for the browser that sent `call`."""
        now = self._now()
        while self._waiting and (len(self._waiting) >= MOST or self._oldest().expires <= now):
            del self._waiting[self._oldest().value]
        form = PendingForm(
            self._secret(32), _browser(call) or self._secret(32), authorization, now + LIFETIME
        )
        self._waiting[form.value] = form
        return form

    def _oldest(self) -> PendingForm:
        return next(iter(self._waiting.values()))

    def sent(self, value: str, call: ProviderRequest) -> AuthorizationRequest:
        """Remove a submitted form; return its request. Raises HttpError if unknown, expired or of another browser."""
        form, browser = self._waiting.get(value), _browser(call)
        if form is None or self._now() >= form.expires:
            raise HttpError(400, "this form was submitted already, or has expired: start the login again")
        if browser is None or not hmac.compare_digest(browser, form.browser):
            raise HttpError(403, "this form was made for another browser")
        del self._waiting[value]
        return form.authorization


def _browser(call: ProviderRequest) -> str | None:
    """Return the value of the browser's cookie, or None if it is missing or malformed."""
    pairs = (each.partition("=") for each in call.headers.get("cookie", "").split(";"))
    found = [value.strip() for name, _, value in pairs if name.strip() == COOKIE]
    return found[-1] if found and VALUE.fullmatch(found[-1]) else None
