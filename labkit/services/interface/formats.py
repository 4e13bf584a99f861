"""Checks of the text formats of schemas (JSON Schema draft 7, Validation 7.3), in time linear in the text.

Checked: date, date-time, time (RFC 3339), email, hostname, ipv4, ipv6, uri (syntax only), uuid. Any other format
(int32, byte, password, …) is documentation: every text conforms to it.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from datetime import date, datetime
from uuid import UUID

from labkit.services.addresses import address

LABEL = r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)"
HOSTNAME = re.compile(rf"(?=.{{1,253}}\Z){LABEL}(?:\.{LABEL})*")
URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?:[!#$&-;=?-Z_a-z~\[\]]|%[0-9A-Fa-f]{2})*")
DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
# Python 3.14 also reads 24:00 as the end of a day.
TIME = re.compile(r"((?:[01]\d|2[0-3]):\d{2}):(\d{2})(\.\d{1,12})?([Zz]|[+-]\d{2}:\d{2})", re.ASCII)
UUID_FORM = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


def _date(text: str) -> bool:
    return bool(DATE.fullmatch(text) and date.fromisoformat(text))


def _time(text: str) -> bool:
    found = TIME.fullmatch(text)
    if not found:
        return False
    minutes, seconds, _, zone = found.groups()
    # Python accepts neither a leap second nor more than six digits of a fraction.
    datetime.fromisoformat(f"2000-01-01T{minutes}:{'59' if seconds == '60' else seconds}{zone.upper()}")
    return True


def _date_time(text: str) -> bool:
    return text[10:11] in ("T", "t", " ") and _date(text[:10]) and _time(text[11:])


def _email(text: str) -> bool:
    # `address` also accepts the form of mail headers, `Ann <ann@example.com>`.
    return "<" not in address(text)


def _uuid(text: str) -> bool:
    return bool(UUID_FORM.fullmatch(text) and UUID(text))


CHECKS: dict[str, Callable[[str], object]] = {
    "date": _date,
    "date-time": _date_time,
    "time": _time,
    "email": _email,
    "hostname": lambda text: HOSTNAME.fullmatch(text) is not None,
    "ipv4": ipaddress.IPv4Address,
    # Without a zone (%eth0), which is only meaningful on one machine.
    "ipv6": lambda text: "%" not in text and ipaddress.IPv6Address(text),
    "uri": lambda text: URI.fullmatch(text) is not None,
    "uuid": _uuid,
}


def conforms(text: str, format: str) -> bool:
    """Return whether `text` has this format. True for a format that is not checked."""
    check = CHECKS.get(format)
    try:
        return check is None or bool(check(text))
    except ValueError:
        return False
