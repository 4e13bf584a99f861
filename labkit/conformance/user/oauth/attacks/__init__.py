"""Attacks on the OAuth provider as data: warnings of RFC 6749, 6750 and 9700, and the refusal of each."""

from __future__ import annotations

from labkit.conformance.user.oauth.attacks.credentials import ATTACKS as CREDENTIALS
from labkit.conformance.user.oauth.attacks.requests import ATTACKS as REQUESTS
from labkit.conformance.user.oauth.attacks.scenario import Actor, Attack, Outcome, attempt
from labkit.conformance.user.oauth.attacks.tokens import ATTACKS as TOKENS

ATTACKS: tuple[Attack, ...] = (*CREDENTIALS, *REQUESTS, *TOKENS)

__all__ = ["ATTACKS", "CREDENTIALS", "REQUESTS", "TOKENS", "Actor", "Attack", "Outcome", "attempt"]
