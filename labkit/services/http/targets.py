"""Which URLs scripts may request, and what a redirect makes of a request."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from urllib.parse import urljoin

from yarl import URL

from labkit.core.errors import ServiceError

LONGEST_URL = 8000  # characters
URL_FORM = re.compile(
    r"https?://[!-\[\]-~]+", re.IGNORECASE
)  # printable ASCII without spaces and backslashes
REDIRECTS = frozenset({301, 302, 303, 307, 308})
OF_THE_HOST = frozenset(
    {"authorization", "cookie", "proxy-authorization"}
)  # headers for the first host alone
OF_THE_BODY = frozenset({"content-type"})


@dataclass(frozen=True, slots=True)
class OutgoingRequest:
    """A request of a script."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: str | None

    def without(self, names: Collection[str]) -> OutgoingRequest:
        """Return the request without some headers. names: in lower case."""
        kept = {name: value for name, value in self.headers.items() if name.lower() not in names}
        return replace(self, headers=kept)


def host_of(url: str) -> tuple[str, int]:
    """Return host and port of a URL. Raises ServiceError 400 for one that is none of http or https."""
    if len(url) <= LONGEST_URL and URL_FORM.fullmatch(url):
        try:
            parts = URL(url, encoded=True)  # as the client does, so that it cannot find another host
            if parts.host and parts.port and parts.user is None and parts.password is None:
                return parts.host.lower(), parts.port
        except ValueError:  # a port that is none, a bracket without its other one
            pass
    raise ServiceError(
        400,
        f"Parameter url validation failed: expected an http or https URL of at most {LONGEST_URL} characters.",
    )


def expect_named(url: str, named: Collection[str]) -> None:
    """Raise ServiceError 403 for a URL at a host that is not named. named: `host` for any port, or `host:port`."""
    host, port = host_of(url)
    if host not in named and f"{host}:{port}" not in named:
        raise ServiceError(403, f"{host}:{port} is none of the hosts that scripts may reach (http_hosts)")


def redirected(request: OutgoingRequest, status: int, location: str) -> OutgoingRequest | None:
    """Return the request that an answer redirects to; None for any other answer (RFC 9110 section 15.4)."""
    if status not in REDIRECTS or not location:
        return None
    target = replace(request, url=urljoin(request.url, location).partition("#")[0])
    if status == 303 or (status in (301, 302) and request.method == "POST"):
        method = "HEAD" if request.method == "HEAD" else "GET"
        target = replace(target, method=method, body=None).without(OF_THE_BODY)
    return target if host_of(target.url) == host_of(request.url) else target.without(OF_THE_HOST)
