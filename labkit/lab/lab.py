"""The handle of a lab, which runs a whole platform on a thread of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar, Unpack
from weakref import WeakKeyDictionary, WeakSet

from labkit.control.clock import Moment
from labkit.control.control import Control
from labkit.control.over_http.remote import RemoteControl
from labkit.core.errors import LabError
from labkit.core.extras import needs
from labkit.core.handle import call_name, callers_frame, cells_shell
from labkit.core.keywords import shows_keywords
from labkit.core.words import counted
from labkit.fleet.flow import LabAddress
from labkit.lab.arguments import as_list, build_settings, given_settings, without_control
from labkit.lab.browser import Browser
from labkit.lab.clock import LabClock
from labkit.lab.connecting import CaFile, connection
from labkit.lab.device_faults import LabDeviceFaults
from labkit.lab.faults import LabFaults, warn_of_fault
from labkit.lab.firmware import LabFirmware
from labkit.lab.handsets import LabHandsets
from labkit.lab.journal import LabJournal
from labkit.lab.lab_arguments import check_seed_and_speed, lab_settings, product_id
from labkit.lab.lua_cells import load_where_cells_run
from labkit.lab.mailbox import LabMailbox
from labkit.lab.messaging import LabMessaging
from labkit.lab.page import PageLink, PageServer
from labkit.lab.product import Product, warn_of_similar
from labkit.lab.provider import Provider
from labkit.lab.runtime import Runtime
from labkit.lab.services import CustomService
from labkit.lab.show import card, table_frame
from labkit.lab.solution import Solution, warn_of
from labkit.lab.states import LabStates
from labkit.lab.story import StoryMethods
from labkit.settings import (
    LabKeywords,
    LabSettings,
    OverlapKeywords,
    OverlapSettings,
    ProductKeywords,
    ProductSettings,
    SocialKeywords,
    SocialSettings,
    SolutionKeywords,
    SolutionSettings,
)

if TYPE_CHECKING:
    import pandas

    from labkit.control.functions import Service
    from labkit.control.lab import Drained, PollInfo
    from labkit.core.slow import SlowCall
    from labkit.fleet.browser import Connections
    from labkit.widgets.lab_dashboard import LabDashboard

OWN = ("seed", "config", "speed", "start")  # arguments of a lab that are no settings
SCRIPTS_OF_SOLUTION = dict.fromkeys(
    ("lua", "script", "scripts", "routes", "handlers"),
    "; path is the folder of its scripts; solution.route('GET', '/a', lua=…) and solution.on(service, event, lua=…) "
    "add one",
)
P = ParamSpec("P")
T = TypeVar("T")


class Lab(LabStates, StoryMethods):
    """A whole IoT platform on its own thread, listening on loopback: `Lab(seed=7)`.

    Use it in a `with` statement, or end it with `close()`. Other examples: `Lab(profile="field", data="lab.db")`,
    `Lab(config="lab.yaml", speed=60)`. With `data`, each answer waits until the disk has the data: a client that
    sends one write after the other takes about seven times as long. Without it, all is in memory.
    """

    @shows_keywords(LabKeywords, LabSettings)
    def __init__(
        self,
        seed: int | None = None,
        *,
        config: str | Path | LabSettings | None = None,
        speed: float | None = None,
        start: Moment | None = None,
        **settings: Unpack[LabKeywords],
    ) -> None:
        """Start a platform.

        seed: makes identifiers and the journal repeat exactly; the clock is then virtual unless `speed` is given.
        config: a lab.yaml to load, or its settings. speed: seconds of lab time per real second, 0 for a virtual clock.
        start: lab time at the start (datetime, Unix seconds or `2026-03-01`). All other arguments are the settings of
        lab.yaml and override those of `config`, whose `control` and `https_port` are for `labkit serve`: without the
        argument `https_port` a lab listens at any free port. Raises SettingsError for a wrong setting.
        """
        check_seed_and_speed(seed, speed)
        _close_those_before(self)
        named = lab_settings(config, given_settings(LabSettings, "Lab", without_control(settings), OWN))
        self._hold(Runtime(partial(Control.start, named, seed=seed, speed=speed, start=start)))
        for solution in self._runtime.run(self._runtime.control.solutions.all) if named.solutions else ():
            warn_of(self._runtime, solution)
        for fault in self._runtime.run(self._runtime.control.faults.all) if named.faults else ():
            warn_of_fault(self._runtime, fault)

    @classmethod
    def connect(
        cls,
        url: str | Path | None = None,
        token: str | None = None,
        ca_file: str | Path | None = None,
        *,
        new: bool = False,
        seed: int | None = None,
    ) -> Self:
        """Return a lab that runs elsewhere, in a `labkit serve --control`: `Lab.connect("http://127.0.0.1:8444")`.

        url and token: as its server shows them, by default those in LABKIT_URL and LABKIT_TOKEN; or instead the file
        with the output of `labkit serve --json`: `Lab.connect("ready.json")`. ca_file: certificate of its CA, needed
        for an https URL. new: start a lab of one's own there, with the settings of the served one and none of its data,
        which ends with `close()`; it needs `labkit serve --labs`. seed: of that lab, by default the served one's; labs
        of one seed hand out equal identifiers and replay alike.

        Clients and live devices run here, fleets of a virtual clock in the lab. A call that needs the lab's own
        process, such as one with functions of Python, raises OwnProcessError. `close()` ends the connection, and not
        the lab. Raises LabError if no lab answers, or if it refuses the token; FullError if no further lab may run.
        """
        if seed is not None and not new:
            raise LabError("seed: a lab that runs has one already; expected it with new=True alone")
        lab = cls.__new__(cls)
        access = connection(url, token, ca_file)
        if new:
            lab._hold(Runtime(partial(RemoteControl.start, *access, seed=seed)))
        else:
            lab._hold(Runtime(partial(RemoteControl.connect, *access)))
        return lab

    @classmethod
    def resumed(cls, control: Control) -> Self:
        """Return a lab that continues a suspended platform, in this process or in one that was forked since.

        control: that of the suspended platform.
        """
        lab = cls.__new__(cls)
        lab._hold(Runtime(control.resume))
        return lab

    def _hold(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._products: dict[str, Product] = {}
        self._solutions: dict[str, Solution] = {}
        self._connections: Connections | None = None  # of all browsers
        self.clock = LabClock(self._runtime)
        self.journal = LabJournal(self._runtime)
        self.mailbox = LabMailbox(self._runtime)
        self.messaging = LabMessaging(self._runtime)
        self.handsets = LabHandsets(self._runtime)
        self.faults = LabFaults(self._runtime)
        self.device_faults = LabDeviceFaults(self._runtime)
        self.firmware = LabFirmware(self._runtime, type(self))
        self._ca_file = CaFile(self.address.ca_pem)
        self._runtime.keep(self._ca_file)
        self._page: PageServer | None = None
        load_where_cells_run()
        if cells_shell() is not None and call_name() == type(self).__name__:
            # made by the cell, not by what it calls, as checks do
            _warn_under_cells(runtime)

    @property
    def address(self) -> LabAddress:
        """Host and port at which the lab listens, and the certificate of its CA."""
        return self._runtime.address

    @property
    def seed(self) -> int | None:
        """Seed that the lab was started with, None if it has none."""
        return self._runtime.seed

    @property
    def ca_file(self) -> Path:
        """File with the certificate of the lab's CA, for clients in other processes; removed when the lab closes."""
        return self._ca_file.path

    @property
    def slow(self) -> list[SlowCall]:
        """Newest 1000 calls that held the lab's event loop for more than 50 ms of real time, oldest first.

        Everything else in the lab waited meanwhile. The first one of each name that took a second is a SlowWarning if
        somebody looks on: at a terminal, or in JupyterLab.
        """
        return self._runtime.run(self._runtime.control.lab.slow)

    @property
    def hosts(self) -> list[str]:
        """Names of all hosts that the lab serves: products, solutions and providers."""
        return self._runtime.run(self._runtime.control.addresses.hosts)

    @property
    def domains(self) -> dict[str, str]:
        """Host names of all products and solutions, by id; a product with the id of a solution is `<id> product`."""
        run, control = self._runtime.run, self._runtime.control
        solutions = {each.id: each.domain for each in run(control.solutions.all)}
        products = {
            f"{each.id} product" if each.id in solutions else each.id: each.domain
            for each in run(control.products.all)
        }
        return products | solutions

    @property
    def resolve(self) -> list[str]:
        """Texts for `curl --resolve`, and for CURLOPT_RESOLVE: `name:port:address` of each of the lab's hosts."""
        host = f"[{self.address.host}]" if ":" in self.address.host else self.address.host
        return [f"{name}:{self.address.https_port}:{host}" for name in self.hosts]

    @property
    def http_port(self) -> int | None:
        """Port of the plain-HTTP listener, None if there is none."""
        return self._runtime.http_port

    @property
    def proxy(self) -> str | None:
        """URL of a proxy that reaches this lab alone, for HTTPS_PROXY; None unless the lab has a `proxy_port`."""
        return self._runtime.proxy

    @shows_keywords(ProductKeywords, ProductSettings)
    def product(self, id: str, *, replace: bool = False, **settings: Unpack[ProductKeywords]) -> Product:
        """Add a product and return its handle; without settings, return the handle of an existing product.

        `lab.product("thermostat", auth="token", resources={"temperature": "number"})`

        replace: give an existing product exactly these settings. Without it, an existing product that has the same
        settings stays; TakenError is raised if they differ. Warns of a new product without settings whose id is similar
        to an existing one.
        """
        named = given_settings(ProductSettings, f"product {id!r}", settings)
        products = self._runtime.control.products
        info = None if named or replace else self._runtime.run(products.find, id)
        if info is None:
            if not named:
                new = f"product {id!r} is new and has no resources"
                warn_of_similar(self._runtime, new, id, products.all, len(self._products))
            built = build_settings(ProductSettings, f"product {id!r}", {"id": id, **named})
            info = self._runtime.run(products.ensure, built, replace)
        if id not in self._products:
            self._products[id] = Product(self._runtime, info)
        return self._products[id]

    @shows_keywords(SolutionKeywords, SolutionSettings)
    def solution(
        self,
        id: str,
        *,
        products: Iterable[Product | str] | Product | str | None = None,
        replace: bool = False,
        **settings: Unpack[SolutionKeywords],
    ) -> Solution:
        """Add a solution and return its handle; without settings, return the handle of an existing solution.

        `lab.solution("acme", products=[thermostat], path="notebooks/solutions/metrics")`; without `path` it is empty.
        A subscription is `{"publisher": "lights", "parameters": {…}}`; its publisher may be added later.

        replace: give an existing solution exactly these settings. Without it, an existing solution that has the same
        settings stays; TakenError is raised if they differ. Warns of a new solution without settings whose id is
        similar to an existing one.
        """
        ids = None if products is None else [product_id(each) for each in as_list(products)]
        values = {"products": ids, **settings}
        named = given_settings(SolutionSettings, f"solution {id!r}", values, hints=SCRIPTS_OF_SOLUTION)
        solutions = self._runtime.control.solutions
        info = None if named or replace else self._runtime.run(solutions.find, id)
        if info is None:
            if not named:
                new = f"solution {id!r} is new and empty"
                warn_of_similar(self._runtime, new, id, solutions.all, len(self._solutions))
            built = build_settings(SolutionSettings, f"solution {id!r}", {"id": id, **named})
            info = self._runtime.run(solutions.ensure, built, replace)
            warn_of(self._runtime, info)
        if id not in self._solutions:
            self._solutions[id] = Solution(self._runtime, info)
        return self._solutions[id]

    @shows_keywords(SocialKeywords, SocialSettings)
    def provider(self, name: str, **settings: Unpack[SocialKeywords]) -> Provider:
        """Return the handle of an identity provider, and add the provider first if it is new.

        google, facebook, amazon, github and twitter always exist. Add another, or add people and applications to an
        existing one, by settings: `lab.provider("acme", protocol="oauth2", people=[{"id": "ann", "name": "Ann"}])`.
        """
        named = given_settings(SocialSettings, f"provider {name!r}", settings)
        providers = self._runtime.control.providers
        if named:
            built = build_settings(SocialSettings, f"provider {name!r}", {"name": name, **named})
            info = self._runtime.run(providers.add, built)
        else:
            info = self._runtime.run(providers.get, name)
        return Provider(self._runtime, info, self.browser)

    def polls(
        self,
        product: Product | str | None = None,
        identity: str | None = None,
        *,
        limit: int | None = None,
    ) -> list[PollInfo]:
        """Return the open long polls, oldest first. product, identity: of their device; limit: most polls."""
        of = None if product is None else product_id(product)
        return self._runtime.listed(self._runtime.control.polls.all, of, identity, limit=limit)

    def _add_handle(self, id: str) -> None:
        self.product(id)

    def service(
        self, service: str | type[Service] | Service, /, **functions: Callable[..., object]
    ) -> CustomService:
        """Add a service that the platform lacks, for the scripts and handlers of all solutions.

        `lab.service("Twilio", postMessage=function)`: the function gets the arguments of a call by name and returns
        the result as plain data, or raises ServiceError(status, message). Instead of a name and functions, pass a
        class of `labkit.Service`, or an object of one. An earlier service of this name is replaced.
        """
        added = self._runtime.control.functions.service
        return CustomService(self._runtime, *self._runtime.run(added, service, functions))

    def calls(self, service: str, solution: str | None = None) -> list[dict[str, Any]]:
        """Return what scripts and handlers asked of a service, also of one that is missing; oldest first.

        Each is `{"operation": …, "arguments": …}`, with arguments as the journal has them: secrets are hidden, long
        values cut. solution: id; None for the calls of all. Warns of a name without calls that is similar to another.
        """
        return self.journal.calls(service, solution)

    def browser(self) -> Browser:
        """Return the browser of a new person, without cookies. It visits the lab's hosts by their URLs."""
        from labkit.fleet.browser import Connections

        if self._connections is None:
            self._connections = Connections(self.address)
            self._runtime.keep(self._connections, self._connections.close)
        return Browser(self._runtime, self._connections)

    def dashboard(self) -> LabDashboard:
        """Return a live view for JupyterLab: requests, refusals, script runs, mails and messages from now on."""
        with needs("lab"):
            from labkit.lab.dashboards import lab_dashboard

        return lab_dashboard(self._runtime)

    def page(self) -> str:
        """Return a link to a page in the browser that shows what happens in the lab, and acts on it.

        The link works once, in a browser on this machine, and as long as the lab; `page()` again makes another one. It
        is a text that notebooks show as a link. A `fork` ends the page: make a new link.
        """
        if self._page is None:
            self._page = PageServer(self._runtime.control)
            self._runtime.keep(self._page, self._page.close)
        return PageLink(self._runtime.run(self._page.link))

    def settle(self) -> None:
        """Wait until every request is answered or waits as a long poll, and every event is handled."""
        self._runtime.run(self._runtime.control.lab.settle)

    def drain(self, within: float = 3600) -> Drained:
        """Advance a virtual clock until no fault delays anything: no request, call or event. Return what it waited for.

        After a restart, it waits until the platform listens again; `settle()` waits for none of these. The result has
        `seconds`, of lab time, and `waited_for`, the number of delayed operations by description. within: most seconds
        of lab time to advance; in a story its fleets go on meanwhile. Raises LabError with what faults still delay
        after these, and on a running clock, as `clock.advance` does.
        """
        return self._runtime.run(self._runtime.control.lab.drain, within)

    @shows_keywords(OverlapKeywords, OverlapSettings)
    def overlap(self, **settings: Unpack[OverlapKeywords]) -> None:
        """Let handlers overlap on a virtual clock, as the lab's seed draws: `lab.overlap(calls=(0.001, 0.05))`.

        Each call replaces the settings of the one before; `lab.overlap()` ends the overlap. What is under way goes on
        as it began.
        """
        given = build_settings(
            OverlapSettings, "overlap", given_settings(OverlapSettings, "overlap", settings)
        )
        self._runtime.run(self._runtime.control.lab.overlap, given)

    def restart(self, down: float = 0) -> None:
        """Cut the platform's power and start it again. down: seconds of lab time during which it refuses connections.

        Connections, waiting long polls, running scripts with their globals and queued events are lost, all at one
        moment; requests in progress get no answer. Stored data stays, also in a lab in memory, and so does everything
        outside of the platform: clock, CA, providers, mails and journal. With down=0 no connection is refused: a new
        one waits until the platform is up again.
        """
        self._runtime.run(self._runtime.control.lab.restart, down)

    def reset(self) -> None:
        """Delete all data and the journal; keep products and solutions.

        Devices, datapoints, content, Keystore, users, mails and handsets are deleted. Providers keep the people and
        applications of their settings, and solutions the subscriptions of theirs. Virtual devices lose their
        credentials. A virtual clock goes back to its start and identifiers begin anew, so that a seeded lab repeats
        exactly.
        """
        self._runtime.run(self._runtime.control.lab.reset)
        for product in self._products.values():
            product.clear_handles()

    def sql(self, query: str) -> pandas.DataFrame:
        """Return the rows of a SELECT on the lab's database: `lab.sql("select * from datapoint")`.

        A long query reads a copy of the data, so that it blocks no device. It ends when the cell is interrupted, or
        after `guard.sql` seconds (30). Raises LabError for a statement that would change the data, is not valid SQL,
        or takes too long.
        """
        return table_frame(self._runtime.run(self._runtime.control.database.sql, query))

    def __repr__(self) -> str:
        if self.closed:
            return "<lab: closed>"
        return f"<lab at {self.address.host}:{self.address.https_port}, {self.clock!r}>"

    def _repr_html_(self) -> str:
        if self.closed:
            return "<b>lab</b>, closed"
        run, control = self._runtime.run, self._runtime.control
        return card(
            "lab",
            {
                "clock": repr(self.clock)[1:-1],
                "products": ", ".join(each.id for each in run(control.products.all)) or "none yet",
                "solutions": ", ".join(each.id for each in run(control.solutions.all)) or "none yet",
                "providers": ", ".join(each.name for each in run(control.providers.all)),
                "journal": counted(len(self.journal), "record"),
            },
        )


_in_cells: WeakSet[Runtime] = WeakSet()


def _warn_under_cells(runtime: Runtime) -> None:
    """Warn under each cell of a notebook of the handlers that failed by its calls."""
    shell = cells_shell()
    if shell is not None:
        _in_cells.add(runtime)
        if _warn_of_failures not in shell.events.callbacks["post_run_cell"]:
            shell.events.register("post_run_cell", _warn_of_failures)


def _warn_of_failures(result: object) -> None:
    for runtime in list(_in_cells):
        runtime.warn_of_failures()


_of_cells: WeakKeyDictionary[Lab, tuple[str, int, int]] = (
    WeakKeyDictionary()
)  # by file, line and number of the cell


def _close_those_before(new: Lab) -> None:
    """Close the lab that an earlier run of the same cell of a notebook made under one name, which the new one gets.

    The notebook's memory of outputs would keep it alive. Only code of a cell itself counts, not a function's there.
    """
    shell = cells_shell()
    frame = None if shell is None else callers_frame()
    if frame is None or frame.f_locals is not shell.user_ns:
        return
    place = frame.f_code.co_filename, frame.f_lineno
    for each, (*where, number) in list(_of_cells.items()):
        names = [name for name, value in [*shell.user_ns.items()] if value is each and name[0] != "_"]
        if (*where,) == place and number != shell.execution_count and len(names) == 1:
            with suppress(LabError):  # it is in a story
                each.close()
    if not _of_cells:
        shell.events.register("post_run_cell", _close_replaced)
    _of_cells[new] = *place, shell.execution_count


_named: dict[str, Lab] = {}  # by variable, after the cell before; handles of a lab keep it from ending


def _close_replaced(result: object) -> None:
    """Close each lab of a cell whose variable has got another one; called by IPython after each cell.

    Else its handles in other variables would go on with a lab that nobody sees any more, and its fleets run on.
    """
    named = {
        name: value
        for name, value in [*cells_shell().user_ns.items()]
        if isinstance(value, Lab) and name[0] != "_"
    }
    for name, lab in list(_named.items()):
        if name in named and lab not in named.values() and lab in _of_cells:
            with suppress(LabError):  # it is in a story
                lab.close()
    _named.clear()
    _named.update(named)
