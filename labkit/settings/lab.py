"""Settings of a whole lab, and the checks between its sections."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

from pydantic import Field

from labkit.core.errors import SettingsError, unknown
from labkit.core.keywords import Doc
from labkit.settings.faults import FaultSettings
from labkit.settings.guard import Guard
from labkit.settings.limits import Limits, LimitsSwitch
from labkit.settings.products import ProductSettings
from labkit.settings.providers import ProvidersSettings
from labkit.settings.sections import (
    ControlSwitch,
    DatapointSettings,
    JournalSettings,
    PasswordSettings,
    Stub,
    TlsSettings,
)
from labkit.settings.solutions import SolutionSettings
from labkit.settings.validation import KeyPath, build, key_text, line_suffix, listed, shown_key
from labkit.settings.values import Host, HttpHost, Model, Options, Port, ServiceName
from labkit.settings.wire import PROFILES, Wire

MOST_FAULTS = 1000
PORTS = ("https_port", "http_port", "proxy_port")  # no two are equal, except 0


class LabKeywords(TypedDict, total=False):
    """The settings of a lab as keyword arguments. None: not given."""

    domain: str | None
    host: str | None
    https_port: int | None
    http_port: int | None
    proxy_port: int | None
    tls: Options | None
    data: str | Path | None
    keystore: str | None
    profile: Literal["spec", "field"] | None
    wire: Options | None
    guard: Options | None
    limits: Literal["published"] | Options | None
    journal: Options | None
    datapoints: Options | None
    passwords: Options | None
    control: bool | Options | None
    products: Iterable[Options] | None
    solutions: Iterable[Options] | None
    providers: Options | None
    http_hosts: Iterable[str] | None
    stubs: Mapping[str, str | Path | Options] | None
    faults: Iterable[Options] | None


class LabSettings(Model):
    """Settings of a whole lab: the keys of lab.yaml."""

    domain: Annotated[Host, Doc("parent domain of all hosts that have none of their own")] = "lab.localhost"
    host: Annotated[str, Doc("IP address to listen on")] = "127.0.0.1"
    https_port: Annotated[Port, Doc("port of HTTPS; 0, the default in a cell, is any free one")] = 8443
    http_port: Annotated[Port | None, Doc("port of plain HTTP; none without it")] = None
    proxy_port: Annotated[
        Port | None, Doc("port of a CONNECT proxy on 127.0.0.1 that reaches this lab alone; none without it")
    ] = None
    tls: Annotated[TlsSettings, Doc("the server's keys, or a certificate of your own")] = TlsSettings()
    data: Annotated[
        str | Path | None,
        Doc("file of the database; in memory without it, which is faster"),
    ] = None
    keystore: Annotated[
        str | None, Doc("URL of a Redis server for the Keystore; the lab's own without it")
    ] = None
    profile: Annotated[
        Literal["spec", "field"],
        Doc("wire behaviour of the documents (spec), or of deployed platforms (field)"),
    ] = "spec"
    wire: Annotated[
        dict[str, Any], Doc(f"switches that differ from the profile's ({', '.join(Wire.model_fields)})")
    ] = {}
    guard: Annotated[Guard, Doc("limits of time and size that protect the process")] = Guard()
    limits: Annotated[
        LimitsSwitch,
        Doc("limits of deployed platforms: `published`, or a mapping of some; off without it", since="1.4"),
    ] = Limits()
    journal: Annotated[JournalSettings, Doc("what the journal keeps")] = JournalSettings()
    datapoints: Annotated[DatapointSettings, Doc("how many datapoints are kept")] = DatapointSettings()
    passwords: Annotated[PasswordSettings, Doc("cost of hashing a password")] = PasswordSettings()
    control: Annotated[
        ControlSwitch, Doc("control over HTTP by `labkit serve`: true, or a mapping of host and port")
    ] = None
    products: Annotated[tuple[ProductSettings, ...], Doc("products to start with")] = ()
    solutions: Annotated[tuple[SolutionSettings, ...], Doc("solutions to start with")] = ()
    providers: Annotated[ProvidersSettings, Doc("identity and messaging providers")] = ProvidersSettings()
    http_hosts: Annotated[
        tuple[HttpHost, ...],
        Doc(
            "hosts that scripts may reach by the service Http: `example.com`, `example.com:8443`", since="1.3"
        ),
    ] = ()
    stubs: Annotated[
        dict[ServiceName, Stub],
        Doc(
            "services of vendors that scripts call: `Twilio: twilio.py`, a file with a Python function for each "
            "operation, or `Twilio: {postMessage: {sid: SM1}}`, the result of each operation",
            since="1.3",
        ),
    ] = {}
    faults: Annotated[
        tuple[FaultSettings, ...], Field(max_length=MOST_FAULTS), Doc("faults to start with")
    ] = ()

    def wire_behaviour(self) -> Wire:
        """Return the wire behaviour: the profile's, with the switches in `wire` set."""
        return merge_wire(self, {})


def merge_wire(settings: LabSettings, lines: dict[str, int]) -> Wire:
    """Return the profile's wire behaviour with the switches in `wire` set. Raises SettingsError for a wrong one.

    lines: line of each key in lab.yaml, for the error.
    """
    values = {**PROFILES[settings.profile].model_dump(), **settings.wire}
    return build(Wire, values, "wire", lines)


def check_names(settings: LabSettings, lines: dict[str, int] | None = None) -> None:
    """Raise SettingsError if two products, solutions, providers or ports are equal, or a name in a solution is unknown.

    A solution may name products and, in its subscriptions, other solutions. lines: line of each key in lab.yaml. The
    error has a text for each wrong name.
    """
    told = [
        f"{shown_key(path, settings)}: {text}{line_suffix(lines or {}, key_text(path))}"
        for path, text in _wrong_names(settings)
    ]
    if told:
        raise SettingsError(listed(told), told)


def _wrong_names(settings: LabSettings) -> Iterator[tuple[KeyPath, str]]:
    products = [product.id for product in settings.products]
    solutions = [solution.id for solution in settings.solutions]
    social = [provider.name for provider in settings.providers.social]
    named: tuple[tuple[KeyPath, str, list[str]], ...] = (
        (("products",), "id", products),
        (("solutions",), "id", solutions),
        (("providers", "social"), "name", social),
    )
    for section, field, ids in named:
        for index, each in enumerate(ids):
            if each in ids[:index]:
                yield (*section, index, field), f"{each!r} is there already"
    ports: dict[int, str] = {}
    for name in PORTS:
        port = getattr(settings, name)
        if port and (first := ports.setdefault(port, name)) != name:
            yield (name,), f"{port} is {first}, too"
    # A folder may describe the product of its solution, which is known once it is read.
    described = {each.id for each in settings.solutions if each.path and not each.products}
    for index, solution in enumerate(settings.solutions):
        for number, product in enumerate(solution.products):
            if product not in products and product not in described:
                yield ("solutions", index, "products", number), unknown("product", product, products)
        for number, subscription in enumerate(solution.subscriptions):
            if subscription.publisher not in solutions:
                path = ("solutions", index, "subscriptions", number, "publisher")
                yield path, unknown("solution", subscription.publisher, solutions)
