"""The forms that people have before them: each is sent once, in time, by the browser that it was shown to."""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass

from labkit.http.error import HttpError
from labkit.providers.social.messages import AuthorizationRequest, ProviderRequest

LIFETIME = 600  # seconds of lab time that a person may think
MOST = 10_000  # that wait; the oldest goes first
COOKIE = "__Host-browser"  # tells whose form it is: another site cannot send it for this browser
VALUE = re.compile(r"[A-Za-z0-9]{32}")


@dataclass(frozen=True, slots=True)
class PendingForm:
    """A form that waits. value: of its hidden field; browser: of the cookie; expires: lab time in seconds."""

    value: str
    browser: str
    authorization: AuthorizationRequest
    expires: int

    @property
    def cookie(self) -> str:
        """The header Set-Cookie that goes with it."""
        return f"{COOKIE}={self.browser}; Path=/; Secure; HttpOnly; SameSite=Lax"


class Forms:
    """Those that were shown and not sent yet. seconds: lab time; secret: makes a value of so many characters."""

    def __init__(self, seconds: Callable[[], int], secret: Callable[[int], str]) -> None:
        self._seconds = seconds
        self._secret = secret
        self._waiting: dict[str, PendingForm] = {}

    def show(self, authorization: AuthorizationRequest, call: ProviderRequest) -> PendingForm:
        """A new form for the browser that calls."""
        now = self._seconds()
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
        """What the form asked for; it is used up. Raises HttpError where it is not this browser's to send."""
        form, browser = self._waiting.get(value), _browser(call)
        if form is None or self._seconds() >= form.expires:
            raise HttpError(400, "this form was sent already, or is too old: begin the login anew")
        if browser is None or not hmac.compare_digest(browser, form.browser):
            raise HttpError(403, "this form was made for another browser")
        del self._waiting[value]
        return form.authorization


def _browser(call: ProviderRequest) -> str | None:
    """The value that tells browsers apart, if the cookie is one of ours."""
    pairs = (each.partition("=") for each in call.headers.get("cookie", "").split(";"))
    found = [value.strip() for name, _, value in pairs if name.strip() == COOKIE]
    return found[-1] if found and VALUE.fullmatch(found[-1]) else None
