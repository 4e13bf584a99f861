"""The lab: a whole platform on a thread of its own, held by one handle."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from labkit.core.clock import Clock
from labkit.core.errors import LabError
from labkit.fleet.flow import Address
from labkit.lab.browser import Browser
from labkit.lab.clock import LabClock
from labkit.lab.journal import LabJournal
from labkit.lab.portal import Portal
from labkit.lab.product import Product
from labkit.lab.provider import Provider
from labkit.lab.show import card
from labkit.lab.solution import Solution
from labkit.platform import Platform
from labkit.settings import LabSettings, ProductSettings, SocialSettings, SolutionSettings, build, load

if TYPE_CHECKING:
    import pandas

    from labkit.fleet.browser import Connections


class Client(Protocol):
    """Something of a lab's that holds connections."""

    async def close(self) -> None: ...


class Lab:
    """A whole platform, on its own thread, on loopback.

    seed: identifiers and the journal repeat exactly, and the clock is virtual unless `speed` says otherwise.
    config: a lab.yaml to load. speed: seconds of lab time for each real second, 0 for the virtual clock.
    start: lab time to begin at (datetime, or Unix seconds). Further settings are those of lab.yaml:
    `Lab(profile="field", data="lab.db")`. Raises SettingsError for a wrong one.
    """

    def __init__(
        self,
        seed: int | None = None,
        *,
        config: str | Path | None = None,
        speed: float | None = None,
        start: datetime | float | None = None,
        **settings: Any,
    ) -> None:
        self._settings = _settings(config, settings)
        rate = speed if speed is not None else (1.0 if seed is None else 0.0)
        if isinstance(start, datetime):
            start = (start if start.tzinfo else start.replace(tzinfo=UTC)).timestamp()
        platform = Platform(self._settings, seed=seed, clock=Clock(rate, start))
        portal = Portal()
        try:
            portal.run(platform.start)
        except BaseException:
            portal.close()
            raise
        self._portal, self._platform = portal, platform
        self._products: dict[str, Product] = {}
        self._solutions: dict[str, Solution] = {}
        self.clock = LabClock(portal, platform.clock)
        self.journal = LabJournal(portal, platform.journal)
        self.mailbox = platform.mailbox
        self._clients: list[Client] = []
        self._connections: Connections | None = None  # of all browsers
        # Runs at close(), when the lab is garbage, or when the kernel ends; it must not hold the lab itself.
        self._finish = weakref.finalize(self, _finish, portal, platform, self._clients)

    @property
    def address(self) -> Address:
        """Where the lab listens, and the certificate of its CA."""
        return Address(self._settings.host, self._platform.edge.https_port, self._platform.ca_pem)

    @property
    def http_port(self) -> int | None:
        """The port of the plain-HTTP listener, if there is one."""
        return self._platform.edge.http_port

    def product(self, id: str, **settings: Any) -> Product:
        """Add a product; without settings, the handle of one that is there already.

        `lab.product("thermostat", auth="token", resources={"temperature": "number"})`
        """
        if not settings and id in self._platform.products:
            if id not in self._products:
                self._products[id] = Product(self._portal, self._platform, id, self.address)
                self._clients.append(self._products[id])
            return self._products[id]
        built = build(ProductSettings, {"id": id, **settings}, "")
        self._portal.run(self._platform.add_product, built)
        return self.product(id)

    def solution(
        self,
        id: str,
        *,
        products: Iterable[Product | str] = (),
        path: str | Path | Sequence[str | Path] | None = None,
        **settings: Any,
    ) -> Solution:
        """Add a solution, from folders or empty; without settings, the handle of one that is there already."""
        named = tuple(each if isinstance(each, str) else each.id for each in products)
        if not (named or path or settings) and id in self._platform.solutions:
            if id not in self._solutions:
                self._solutions[id] = Solution(self._portal, self._platform, id, self.address)
                self._clients.append(self._solutions[id])
            return self._solutions[id]
        built = build(SolutionSettings, {"id": id, "products": named, "path": path, **settings}, "")
        self._portal.run(self._platform.add_solution, built)
        return self.solution(id)

    def provider(self, name: str, **settings: Any) -> Provider:
        """An identity provider. google, facebook, amazon, github and twitter are there; others are added so:

        `lab.provider("acme", protocol="oauth2", people=[{"id": "ann", "name": "Ann"}])`. Settings for one that is
        there add to it.
        """
        if settings:
            built = build(SocialSettings, {"name": name, **settings}, "")
            self._portal.call(self._platform.add_provider, built)
        return Provider(self._portal, self._platform.social.get(name), self.browser)

    def browser(self) -> Browser:
        """A new person's browser, with no cookies yet: it visits the lab's hosts by their URLs."""
        from labkit.fleet.browser import Browser as Visitor
        from labkit.fleet.browser import Connections

        if self._connections is None:
            self._connections = Connections(self.address)
            self._clients.append(self._connections)
        return Browser(self._portal, Visitor(self._connections, self._platform.serves))

    def settle(self) -> None:
        """Wait until every request is answered or held as a poll, and every event is handled."""
        self._portal.run(self._platform.settle)

    def reset(self) -> None:
        """Forget devices, datapoints, content, Keystore, users, mails and journal; products and solutions stay.

        Providers stay with the people and applications of their settings.
        """
        self._portal.run(self._platform.reset)

    def sql(self, query: str) -> pandas.DataFrame:
        """The rows of a SELECT on the lab's database: `lab.sql("select * from datapoint")`."""
        return self._portal.run(self._platform.database.frame, query)

    def close(self) -> None:
        """End the lab: connections, thread, everything. A second call does nothing."""
        self._finish()

    @property
    def closed(self) -> bool:
        return not self._finish.alive

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if self.closed:
            return "<lab: closed>"
        return f"<lab at {self.address.host}:{self.address.https_port}, {self.clock!r}>"

    def _repr_html_(self) -> str:
        if self.closed:
            return "<b>lab</b>, closed"
        return card(
            "lab",
            {
                "clock": repr(self.clock)[1:-1],
                "products": ", ".join(each.id for each in self._platform.products) or "none yet",
                "solutions": ", ".join(each.id for each in self._platform.solutions) or "none yet",
                "providers": ", ".join(each.name for each in self._platform.social),
                "journal": f"{len(self.journal)} records",
            },
        )


def _settings(config: str | Path | None, settings: Mapping[str, Any]) -> LabSettings:
    if config is None:
        return build(LabSettings, {"https_port": 0, **settings}, "")
    loaded = load(config)
    overridden = {"https_port": 0, **settings}  # in a notebook many labs may load one file
    if wrong := overridden.keys() - LabSettings.model_fields.keys():
        raise LabError(f"unknown setting {sorted(wrong)[0]!r}")
    given = build(LabSettings, overridden, "")
    return loaded.model_copy(update={name: getattr(given, name) for name in overridden})


def _finish(portal: Portal, platform: Platform, clients: list[Client]) -> None:
    async def finish() -> None:
        for client in clients:
            await client.close()
        await platform.stop()

    try:
        portal.run(finish)
    finally:
        portal.close()
