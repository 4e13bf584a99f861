"""Model check of bindings and notifications: three services of two solutions, and handsets that go off and on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labkit.conformance.check import model_check

if TYPE_CHECKING:
    from labkit.conformance.models.game import Game


@model_check(
    "NTF-BIND-1 NTF-BIND-3 NTF-BIND-5 NTF-BIND-6 NTF-BIND-7 NTF-BIND-8 NTF-BIND-9 NTF-BIND-12 NTF-BIND-13 "
    "NTF-BIND-14 NTF-BIND-15 NTF-BIND-17 NTF-BIND-18 NTF-BIND-20 NTF-LIST-2 NTF-LIST-3 NTF-LIST-4 NTF-LIST-6 "
    "NTF-LIST-8 NTF-SEND-1 NTF-SEND-3 NTF-SEND-4 NTF-SEND-5 NTF-SEND-11 NTF-SEND-13 NTF-SEND-14 NTF-SEND-15 "
    "NTF-SEND-16 NTF-SEND-17 NTF-TTL-1 NTF-TTL-3 NTF-TTL-4 NTF-TTL-5 NTF-CALL-7",
    "bindings, lists and sends of three services in any order, and what handsets got, as a model has them",
)
def model() -> type[Game]:
    """Return the game of notifications."""
    from labkit.conformance.notify.send.notifications import Notifications

    return Notifications
