"""Model check of credentials: activations and requests of a few devices of six products, in random order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labkit.conformance.device.provisioning.game import (
    ALLOWED,
    CLOSED,
    FIRST,
    OPEN,
    OTHER,
    PASSWORD,
    Credentials,
)
from labkit.conformance.old_models import Model, model_check

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

PASSWORDS = (
    FIRST,
    "p" * 20,
    "P" * 20,
    "p" * 19,
    "é" * 20,
    "e\u0301" * 20,  # it looks the same, but has other bytes
    "é" * 19,  # 38 bytes
    "p" * 100 + "a",
    "p" * 100 + "b",
    ":%&+= é😀" * 3,
    " " + "p" * 20,
    "p" * 20 + " ",
    "",
)


@dataclass(frozen=True)
class Activate:
    """Activate a device."""

    product: int
    device: int
    shows: str
    form: str
    password: str
    other: int

    async def __call__(self, game: Credentials) -> None:
        await game.activate(self.product, self.device, self.shows, self.form, self.password, self.other)


@dataclass(frozen=True)
class ActivateTwice:
    """Activate a device twice concurrently."""

    product: int
    device: int
    passwords: tuple[str, str]

    async def __call__(self, game: Credentials) -> None:
        await game.both(self.product, self.device, self.passwords)


@dataclass(frozen=True)
class Use:
    """Write with a credential."""

    product: int
    device: int
    shows: str
    by: int
    carrier: str

    async def __call__(self, game: Credentials) -> None:
        await game.use(self.product, self.device, self.shows, self.by, self.carrier)


@dataclass(frozen=True)
class Read:
    """Read a device's value."""

    product: int
    device: int

    async def __call__(self, game: Credentials) -> None:
        await game.read(self.product, self.device)


@dataclass(frozen=True)
class Connect:
    """Write on a connection with a client certificate."""

    device: int
    certificate: int

    async def __call__(self, game: Credentials) -> None:
        await game.connect(self.device, self.certificate)


@dataclass(frozen=True)
class Replace:
    """Replace a device's certificate."""

    device: int
    certificate: int
    by_device: int
    by: int

    async def __call__(self, game: Credentials) -> None:
        await game.replace(self.device, self.certificate, self.by_device, self.by)


def commands() -> SearchStrategy[Any]:
    """Return the commands of devices."""
    from hypothesis import strategies as st

    one_of = st.sampled_from
    products = one_of([OPEN, OPEN, OTHER, PASSWORD, PASSWORD, PASSWORD, CLOSED, ALLOWED])
    devices = one_of([0, 0, 0, 1, 1, 2, 3])
    passwords = one_of(PASSWORDS)
    good = one_of([each for each in PASSWORDS if len(each) >= 20])
    forms = one_of(["id", "id", "vendor", "unnamed"])
    shows = one_of(
        "none none current current other other mine mine abroad old wrong case cut longer".split()
    ).map(lambda each: "mine as another" if each == "mine" else each)
    uses = one_of("current current current old old abroad case cut longer composed last none wrong".split())
    carriers = one_of(["usual"] * 6 + ["word", "wrong type", "two", "twice", "empty", "empty beside"])
    activations = st.builds(Activate, products, devices, shows, forms, passwords, devices)
    use = st.builds(Use, products, devices, uses, devices, carriers)
    own = st.tuples(products, devices, uses, carriers).map(lambda each: Use(*each[:3], each[1], each[3]))
    short = one_of([each for each in PASSWORDS if len(each) < 20])
    near = st.tuples(one_of([OPEN, PASSWORD]), one_of("cut longer case composed".split())).map(
        lambda each: Use(each[0], 0, each[1], 0, "usual")
    )
    special = one_of(["word", "wrong type", "two", "twice", "empty beside"])
    carried = st.tuples(one_of([OPEN, PASSWORD]), special).map(
        lambda each: Use(each[0], 0, "current", 0, each[1])
    )
    refused = one_of([CLOSED, ALLOWED])
    by_old = one_of([OPEN, PASSWORD]).map(lambda product: Use(product, 0, "old", 0, "usual"))
    abroad = one_of([OPEN, OTHER]).map(lambda product: Use(product, 0, "abroad", 0, "usual"))
    certificates = st.integers(0, 1)
    return st.one_of(
        st.builds(Activate, products, devices, st.just("none"), st.just("id"), good, devices),
        st.builds(Activate, products, devices, st.just("current"), st.just("id"), good, devices),
        activations,
        activations,
        st.builds(
            Activate, st.just(PASSWORD), devices, one_of(["none", "current"]), st.just("id"), short, devices
        ),
        st.builds(  # by devices that have credentials
            Activate,
            one_of([OPEN, PASSWORD]),
            one_of([0, 1]),
            one_of("other other current none abroad".split()),
            one_of(["id", "unnamed"]),
            good,
            one_of([0, 1]),
        ),
        use,
        own,
        own,
        near,
        carried,
        st.builds(Activate, refused, st.integers(1, 3), st.just("none"), st.just("id"), good, devices),
        st.one_of(by_old, by_old, abroad),
        st.builds(Read, products, devices),
        st.builds(ActivateTwice, products, devices, st.tuples(good, good)),
        st.one_of(
            st.builds(Connect, st.integers(0, 1), certificates),
            st.builds(Replace, st.integers(0, 1), certificates, st.integers(0, 1), certificates),
        ),
    )


RULES = (
    "DEV-PROV-1 DEV-PROV-2 DEV-PROV-6 DEV-PROV-7 DEV-PROV-11 DEV-PROV-15 DEV-PROV-16 DEV-PROV-17 "
    "DEV-PROV-18 DEV-PROV-21 DEV-PROV-22 DEV-PROV-24 DEV-AUTH-1 DEV-AUTH-2 DEV-AUTH-3 DEV-AUTH-4 DEV-AUTH-5 "
    "DEV-AUTH-6 DEV-AUTH-7 DEV-AUTH-8 DEV-AUTH-9 DEV-AUTH-11 DEV-AUTH-12 DEV-CERT-1 DEV-CERT-4 DEV-CERT-8 "
    "DEV-CERT-10 DEV-TLS-1"
)

credentials = model_check(
    "provisioning/model",
    "credentials of devices of six products that activate again and again, as a model has them",
    Model(tuple(RULES.split()), commands, Credentials),
)
