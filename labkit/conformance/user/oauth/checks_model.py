"""Model check of OAuth codes and token sets: two users and two clients, in random order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labkit.conformance.check import model_check

if TYPE_CHECKING:
    from labkit.conformance.models.game import Game


@model_check(
    "USR-OAUTH-1 USR-OAUTH-6 USR-OAUTH-7 USR-OAUTH-12 USR-OAUTH-20 USR-OAUTH-21 USR-OAUTH-24 USR-OAUTH-26 USR-OAUTH-29 "
    "USR-OAUTH-31 USR-OAUTH-32 USR-OAUTH-33 USR-OAUTH-34 USR-OAUTH-35 USR-OAUTH-36 USR-OAUTH-37 USR-OAUTH-38 "
    "USR-TOKEN-8",
    "codes and token sets of two users and two clients that are exchanged in any order, as a model has them",
)
def model() -> type[Game]:
    """Return the game of OAuth."""
    from labkit.conformance.user.oauth.oauth import OAuth

    return OAuth
