"""Model check of credentials: activations and requests of a few devices of six products, in random order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labkit.conformance.check import model_check

if TYPE_CHECKING:
    from labkit.conformance.models.game import Game


@model_check(
    "DEV-PROV-1 DEV-PROV-2 DEV-PROV-6 DEV-PROV-7 DEV-PROV-11 DEV-PROV-15 DEV-PROV-16 DEV-PROV-17 "
    "DEV-PROV-18 DEV-PROV-21 DEV-PROV-22 DEV-PROV-24 DEV-AUTH-1 DEV-AUTH-2 DEV-AUTH-3 DEV-AUTH-4 DEV-AUTH-5 "
    "DEV-AUTH-6 DEV-AUTH-7 DEV-AUTH-8 DEV-AUTH-9 DEV-AUTH-11 DEV-AUTH-12 DEV-CERT-1 DEV-CERT-4 DEV-CERT-8 "
    "DEV-CERT-10 DEV-TLS-1",
    "credentials of devices of six products that activate again and again, as a model has them",
)
def model() -> type[Game]:
    """Return the game of credentials."""
    from labkit.conformance.device.provisioning.credentials import Credentials

    return Credentials
