"""Model check of content: contents of two products that change, and downloads of any range."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labkit.conformance.check import model_check

if TYPE_CHECKING:
    from labkit.conformance.models.game import Game


@model_check(
    "DEV-CONT-1 DEV-CONT-2 DEV-CONT-3 DEV-CONT-4 DEV-CONT-5 DEV-CONT-7 DEV-CONT-8 DEV-CONT-9 DEV-CONT-11 DEV-CONT-12 "
    "DEV-CONT-13 DEV-CONT-14 DEV-CONT-15 DEV-CONT-17 DEV-CONT-18 DEV-CONT-19 DEV-CONT-20 DEV-TLS-1",
    "contents of two products, whole and in any range, while they change, as a model has them",
)
def model() -> type[Game]:
    """Return the game of contents."""
    from labkit.conformance.device.content.contents import Contents

    return Contents
