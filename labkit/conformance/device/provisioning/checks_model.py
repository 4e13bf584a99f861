"""Credentials by a model: activations and requests of a few devices of four products, in random order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labkit.conformance.check import model_check
from labkit.conformance.device.provisioning.game import CLOSED, OPEN, OTHER, PASSWORD, Credentials
from labkit.conformance.models.search import Model

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

PASSWORDS = (
    "correct horse battery",
    "p" * 20,
    "P" * 20,
    "p" * 19,
    "é" * 20,
    "é" * 19,  # 38 bytes
    "p" * 100 + "a",
    "p" * 100 + "b",
    ":%&+= é😀" * 3,
    " " + "p" * 20,
    "p" * 20 + " ",
)


@dataclass(frozen=True)
class Activate:
    product: int
    device: int
    shows: str
    form: str
    password: str
    other: int

    async def __call__(self, game: Credentials) -> None:
        await game.activate(self.product, self.device, self.shows, self.form, self.password, self.other)


@dataclass(frozen=True)
class Both:
    product: int
    device: int
    passwords: tuple[str, str]

    async def __call__(self, game: Credentials) -> None:
        await game.both(self.product, self.device, self.passwords)


@dataclass(frozen=True)
class Use:
    product: int
    device: int
    shows: str

    async def __call__(self, game: Credentials) -> None:
        await game.use(self.product, self.device, self.shows)


@dataclass(frozen=True)
class Read:
    product: int
    device: int

    async def __call__(self, game: Credentials) -> None:
        await game.read(self.product, self.device)


def commands() -> SearchStrategy[Any]:
    """What devices do."""
    from hypothesis import strategies as st

    one_of = st.sampled_from
    products = one_of([OPEN, OPEN, OPEN, OTHER, OTHER, PASSWORD, CLOSED])
    devices = one_of([0, 0, 0, 1, 2, 3])
    passwords = one_of(PASSWORDS)
    good = one_of([each for each in PASSWORDS if len(each) >= 20])
    forms = one_of(["id", "id", "vendor", "unnamed"])
    shows = one_of(["none", "none", "current", "current", "old", "other", "abroad", "wrong", "case", "cut"])
    uses = one_of(["current", "current", "old", "abroad", "case", "cut", "none", "wrong"])
    activations = st.builds(Activate, products, devices, shows, forms, passwords, devices)
    return st.one_of(
        st.builds(Activate, products, devices, st.just("none"), st.just("id"), good, devices),
        activations,
        activations,
        st.builds(Use, products, devices, uses),
        st.builds(Use, products, devices, uses),
        st.builds(Read, products, devices),
        st.builds(Both, products, devices, st.tuples(good, good)),
    )


RULES = (
    "DEV-PROV-1 DEV-PROV-2 DEV-PROV-5 DEV-PROV-6 DEV-PROV-7 DEV-PROV-11 DEV-PROV-15 DEV-PROV-16 DEV-PROV-17 "
    "DEV-PROV-18 DEV-PROV-21 DEV-PROV-22 DEV-PROV-24 DEV-AUTH-1 DEV-AUTH-4 DEV-AUTH-5 DEV-AUTH-7 DEV-TLS-1"
)

credentials = model_check(
    "provisioning/model",
    "credentials of devices of four products that activate again and again, as a model has them",
    Model(tuple(RULES.split()), commands, Credentials),
)
