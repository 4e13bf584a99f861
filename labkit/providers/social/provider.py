"""Site of an identity provider: its HTTPS endpoints, consent form, people and applications."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from types import MappingProxyType
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from aiohttp import web

from labkit.context import Context
from labkit.core.bounded import cut
from labkit.core.errors import LabError, SettingsError
from labkit.faults import ProviderFaults
from labkit.http.bodies import read_body
from labkit.http.connection import Connection
from labkit.http.error import HttpError
from labkit.http.request import SiteRequest
from labkit.http.sites import Site
from labkit.providers.inbox import Inbox, ReceivedRequest
from labkit.providers.receipt import Receipt, receive, unanswered
from labkit.providers.social.faults import FAULTS, Step
from labkit.providers.social.forms import Forms, PendingForm
from labkit.providers.social.issued import ProtocolState
from labkit.providers.social.kinds import METHODS, ProviderKind, kind_of
from labkit.providers.social.messages import (
    FORM,
    Application,
    AuthorizationRequest,
    ErrorRedirect,
    FatalRequestError,
    ProviderProtocol,
    ProviderRequest,
    ProviderResponse,
)
from labkit.providers.social.openid import PATHS, OpenId
from labkit.providers.social.pages import page
from labkit.providers.social.people import PeopleDirectory
from labkit.providers.social.redaction import shown, shown_url
from labkit.settings import ApplicationSettings, Person, SocialSettings, build


@dataclass(frozen=True, slots=True)
class ProviderState:
    """An identity provider as plain data. key: that signs ID tokens, in PEM; empty for none."""

    settings: SocialSettings
    people: list[Person]
    applications: list[Application]
    forms: list[PendingForm]
    consents: list[Person]
    inbox: list[ReceivedRequest]
    protocol: ProtocolState
    key: str = ""


BODY = 64 * 1024  # bytes
LONGEST_KEPT = 4096  # characters of a parameter that the inbox keeps, and a quarter of those of all
LONGEST_NAME, LONGEST_ADDRESS = 200, 320  # characters of a name and of an email address in the form


@cache
def _kind_and_steps(name: str, protocol: str | None) -> tuple[ProviderKind, Mapping[str, Step]]:
    """Return the kind of a provider, and the step of each of its paths."""
    kind = kind_of(name, protocol)
    paths = {step: getattr(kind, step, "") for step in METHODS} | (PATHS if kind.openid else {})
    return kind, MappingProxyType({path: step for step, path in paths.items() if path})


class IdentityProviderSite(Site[Receipt]):
    """Identity provider of the lab, at its own host name."""

    body_limit = BODY
    _context: Context

    def __init__(self, settings: SocialSettings, context: Context) -> None:
        host = f"{settings.name}.social.{context.settings.domain}"
        super().__init__(host, f"provider {settings.name!r}", f"social/{settings.name}", context)
        self.name = settings.name
        self.kind, self._steps = _kind_and_steps(settings.name, settings.protocol)
        self.title = self.kind.title or settings.name
        self.inbox = Inbox()
        self.faults: ProviderFaults[Step] = context.faults.provider(self.name, FAULTS)
        self.people = PeopleDirectory()
        self.settings = settings
        self._openid = OpenId(self.kind, self.url, context.clock.now)
        self._begin()

    def clear(self) -> None:
        """Reset people and applications to the settings; remove tokens, forms, faults and received requests."""
        self.inbox.clear()
        self.faults.clear()
        self._begin()

    def _begin(self) -> None:
        self.applications: dict[str, Application] = {}
        self._forms = Forms(self._context.clock.now, self._secret)
        self._consents: deque[Person] = deque()
        self.people.reset(self.settings.people)
        self.register_all()
        self.__dict__.pop("_protocol", None)

    @cached_property
    def _protocol(self) -> ProviderProtocol:
        """The state of logins. Made at its first use, as oauthlib takes long to import."""
        from labkit.providers.social.oauth1 import OAuth1
        from labkit.providers.social.oauth2 import OAuth2

        given = (self.name, self.kind, self.applications, self._context.clock.now, self._secret)
        return OAuth1(*given) if self.kind.protocol == "oauth1" else OAuth2(*given, self._openid)

    def snapshot(self) -> ProviderState:
        """Return the provider with all that people and applications have done there."""
        return ProviderState(
            self.settings,
            list(self.people),
            list(self.applications.values()),
            self._forms.snapshot(),
            list(self._consents),
            list(self.inbox),
            self._protocol.snapshot(),
            self._openid.snapshot(),
        )

    def restore(self, state: ProviderState) -> None:
        """Take over the state of a provider with the same settings, after `clear`."""
        self.people.reset(state.people)
        self.applications.clear()
        self.applications.update({each.client_id: each for each in state.applications})
        self._forms.restore(state.forms)
        self._consents.extend(state.consents)
        self.inbox.restore(state.inbox)
        self._protocol.restore(state.protocol)
        self._openid.restore(state.key)

    def extend(self, settings: SocialSettings) -> None:
        """Add people and applications; replace `consent` and `outside` if they are given.

        Raises SettingsError, and changes nothing, if the protocol differs or an id is in use.
        """
        if "protocol" in settings.model_fields_set and settings.protocol != self.kind.protocol:
            raise SettingsError(f"provider {self.name!r}: protocol: expected {self.kind.protocol}")
        for person in settings.people:
            if person.id in self.people:
                raise SettingsError(f"provider {self.name!r}: person {person.id!r} is there already")
        for each in settings.applications:
            if each.client_id in self.applications:
                raise SettingsError(f"provider {self.name!r}: client {each.client_id!r} is there already")
        given: dict[str, object] = {
            name: getattr(settings, name)
            for name in ("consent", "outside")
            if name in settings.model_fields_set
        }
        people = (*self.settings.people, *settings.people)
        applications = (*self.settings.applications, *settings.applications)
        self.settings = self.settings.model_copy(
            update={**given, "people": people, "applications": applications}
        )
        for person in settings.people:
            self.people.add(person.id, person.name, person.email)
        for each in settings.applications:
            self._register(each)

    # ---- configuration by the lab

    @property
    def protocol(self) -> str:
        """`oauth1` or `oauth2`."""
        return self.kind.protocol

    def url(self, path: str = "") -> str:
        """Return the URL of a path at this provider."""
        return self._context.url(self.host, path)

    def endpoints(self) -> dict[str, str]:
        """Return the URLs of authorize, token, userinfo and, for OAuth 1, request_token; the setting `outside` wins."""
        if self.settings.outside is not None:
            return {name: url for name, url in self.settings.outside if url is not None}
        found: dict[str, str] = {
            step: self.url(path) for path, step in self._steps.items() if step not in PATHS
        }
        if self.kind.asks:
            found["userinfo"] += f"?{self.kind.asks}"
        return found

    def register_all(self) -> None:
        """Register the applications of the settings, with the lab's current port in their redirect URIs."""
        for each in self.settings.applications:
            self._register(each)

    def register(
        self, redirect: str | Iterable[str], *, name: str = "", scopes: Iterable[str] = ()
    ) -> Application:
        """Register an application with a new client id and secret. Raises LabError for an invalid redirect URI.

        redirect: one URL or several; a URL of the lab may omit the port.
        """
        given = {
            "client_id": self._secret(20),
            "client_secret": self._secret(40),
            "redirect": redirect if isinstance(redirect, str) else tuple(redirect),
            "name": name,
            "scopes": tuple(scopes),
        }
        try:
            return self._register(build(ApplicationSettings, given))
        except SettingsError as error:
            raise LabError(f"application: {error}") from None

    def consent(self, person: str) -> None:
        """Grant the next authorize request as this person, without a form. Raises UnknownError if there is none."""
        self._consents.append(self.people.get(person))

    def fault(self, name: str, step: str | None = None) -> None:
        """Apply a fault to the next request of a step (ProviderFaults.add). Raises LabError if it does not fit."""
        if step == "request_token" and not self.kind.request_token:
            raise LabError(f"{self.name} speaks OAuth 2, which has no request tokens")
        self.faults.add(name, step)

    def _register(self, settings: ApplicationSettings) -> Application:
        made = Application(
            settings.client_id,
            settings.client_secret.get_secret_value(),
            tuple(self._with_port(each) for each in settings.redirect),
            settings.name,
            settings.scopes,
        )
        self.applications[made.client_id] = made
        return made

    def _with_port(self, url: str) -> str:
        """Add the lab's port, which may be any free one, to a URL of the lab without port; return others unchanged."""
        parts = urlsplit(url)
        own = parts.netloc == self._context.settings.domain or parts.netloc.endswith(
            f".{self._context.settings.domain}"
        )
        if parts.scheme != "https" or not own:
            return url
        return self._context.url(parts.netloc, urlunsplit(("", "", parts.path, parts.query, "")))

    def _secret(self, length: int) -> str:
        return self._context.identifiers.alphanumeric(f"social/{self.name}", length)

    # ---- handling of a request

    def exchange(self, connection: Connection, request: SiteRequest) -> Receipt:
        return receive(self._context, self, connection, request, self.inbox, self.actor)

    async def answer(self, receipt: Receipt) -> web.Response:
        await receipt.acts_as()
        return self._response(receipt, await self._answer(receipt))

    def refusal(self, receipt: Receipt, error: HttpError) -> web.Response:
        """Return an error page with the reason."""
        refused = page(
            "refused.html",
            error.status,
            error.reason,
            error.headers,
            provider=self.title,
            reason=error.reason,
            fatal=isinstance(error, FatalRequestError),
        )
        return self._response(receipt, refused)

    def _response(self, receipt: Receipt, answer: ProviderResponse) -> web.Response:
        location = answer.headers.get("Location")
        receipt.arrival.answer = self._portless(
            f"redirect to {shown_url(location)}" if location else answer.summary
        )
        return web.Response(
            status=answer.status,
            text=answer.body,
            content_type=answer.type,
            charset="utf-8" if answer.type.startswith("text/") else None,
            headers=answer.headers,
        )

    async def _answer(self, receipt: Receipt) -> ProviderResponse:
        request, arrival = receipt.request, receipt.arrival
        data = await read_body(request, BODY, self._context.settings.guard.body)
        type = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        body = data.decode("utf-8", "replace") if type == FORM else ""
        target = request.rel_url.raw_path_qs
        if not target.isascii():
            raise HttpError(400, "the path is not percent-encoded")
        headers = {name.lower(): value for name, value in request.headers.items()}
        call = ProviderRequest(request.method, self.url(target), headers, body)
        arrival.parameters = self._parameters(call)
        step = self._steps.get(receipt.raw_path)
        if not request.secure:
            raise HttpError(403, "this provider speaks HTTPS only")
        if step is None:
            raise HttpError(
                404, f"{self.title} has no such path; its endpoints are: {', '.join(self._steps)}"
            )
        if request.method not in METHODS[step]:
            allow = ", ".join(METHODS[step])
            raise HttpError(405, f"wrong method for this path, expected one of: {allow}", {"Allow": allow})
        arrival.fault = self._hit(receipt, step)
        await unanswered(arrival.fault, self._context.settings.guard.outbound)
        match arrival.fault:
            case "malformed JSON":
                return ProviderResponse(200, '{"access_token": ', summary="malformed JSON")
            case "server error":
                return ProviderResponse.json(500, {"error": "server_error"}, "server error")
            case "expired code":
                return self._protocol.expired()
        if step == "certs" or (self.kind.openid and "openid" in target):
            await self._openid.prepare()
        if step == "authorize":
            return self._authorize(call, receipt)
        endpoint: Callable[[ProviderRequest], ProviderResponse] = getattr(self._protocol, step)
        return endpoint(call)

    def _hit(self, receipt: Receipt, step: Step) -> str:
        """Return the name of the fault that hits a request at this step; empty for none."""
        return self.faults.take(step, actor=self.actor, cause=receipt.identify().sequence) or ""

    def _parameters(self, call: ProviderRequest) -> dict[str, str]:
        from oauthlib.oauth1.rfc5849.utils import parse_authorization_header

        header = call.headers.get("authorization", "")
        pairs = call.pairs
        if header.lower().startswith("oauth "):
            try:
                pairs += [(name, value) for name, value in parse_authorization_header(header)]
            except ValueError:
                pairs.append(("authorization", "OAuth, malformed"))
        elif header:
            pairs.append(("authorization", f"{header.partition(' ')[0]} …"))
        kept = cut(shown(pairs), LONGEST_KEPT, 4 * LONGEST_KEPT)
        assert isinstance(kept, dict)
        return {name: self._portless(value) for name, value in kept.items()}

    def _portless(self, text: str) -> str:
        """Return `text` without the lab's port, which differs from run to run."""
        with_port = self._context.url(self._context.settings.domain).removeprefix("https://")
        return text.replace(with_port, self._context.settings.domain)

    # ---- authorize

    def _authorize(self, call: ProviderRequest, receipt: Receipt) -> ProviderResponse:
        try:
            if call.method == "POST":
                return self._decided(call, receipt)
            authorization = self._protocol.ask(call)
        except ErrorRedirect as sent:
            return self._back(sent.url, receipt)
        if receipt.arrival.fault == "deny":
            return self._back(self._protocol.deny(authorization), receipt)
        person = self._consented()
        if person is not None:
            return self._back(self._protocol.approve(authorization, person), receipt)
        return self._form(authorization, call)

    def _consented(self) -> Person | None:
        """Return the person who consents without a form: from `consent`, or automatically the first one. Else None."""
        if self._consents:
            return self._consents.popleft()
        return next(iter(self.people), None) if self.settings.consent == "automatic" else None

    def _form(
        self,
        authorization: AuthorizationRequest,
        call: ProviderRequest,
        problem: str = "",
        entered: dict[str, str] | None = None,
    ) -> ProviderResponse:
        people = list(self.people)
        form = self._forms.show(authorization, call)
        return page(
            "authorize.html",
            400 if problem else 200,
            problem or "the form",
            {"Set-Cookie": form.cookie},
            provider=self.title,
            application=authorization.application,
            back=urlsplit(authorization.back).hostname,
            action=self.kind.authorize,
            form=form.value,
            people=people,
            chosen=people[0].id if people and not problem else "",
            entered={"name": "", "email": "", "id": "", **(entered or {})},
            scopes=authorization.scopes,
            problem=problem,
        )

    def _decided(self, call: ProviderRequest, receipt: Receipt) -> ProviderResponse:
        """Return the answer to a submitted form. Raises HttpError for an invalid form or decision."""
        given = dict(parse_qsl(call.body, keep_blank_values=True))
        authorization = self._forms.sent(given.get("form", ""), call)
        if given.get("decision") == "deny" or receipt.arrival.fault == "deny":
            return self._back(self._protocol.deny(authorization), receipt)
        if given.get("decision") != "approve":
            raise HttpError(400, "expected a decision: approve or deny")
        try:
            person = self._chosen(given)
        except LabError as error:
            return self._form(authorization, call, str(error), given)
        return self._back(self._protocol.approve(authorization, person), receipt)

    def _chosen(self, given: dict[str, str]) -> Person:
        """Return the person whom the form selects; store a new person. Raises LabError for invalid input."""
        if given.get("person"):
            return self.people.get(given["person"])
        name, email, id = (given.get(key, "").strip() for key in ("name", "email", "id"))
        if not name:
            raise LabError("Please enter a name, or choose a person from the list.")
        if max(len(name), len(id)) > LONGEST_NAME or len(email) > LONGEST_ADDRESS:
            raise LabError(
                f"Please enter a name of at most {LONGEST_NAME} characters, and an email of at most {LONGEST_ADDRESS}."
            )
        if email and "@" not in email.strip("@"):
            raise LabError("Please enter a complete email address: name@example.com.")
        return self.people.add(id or self._secret(12), name, email)

    def _back(self, url: str, receipt: Receipt) -> ProviderResponse:
        """Return the redirect to the application, with a fault of the step `callback` applied."""
        if fault := self._hit(receipt, "callback"):
            receipt.arrival.fault = fault
            parts = urlsplit(url)
            name = "state" if self.kind.protocol == "oauth2" else "oauth_token"
            pairs = [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if pair[0] != name]
            url = urlunsplit(parts._replace(query=urlencode([*pairs, (name, self._secret(32))])))
        return ProviderResponse.redirect(url)
