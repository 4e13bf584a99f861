"""Limits on the measures of a run, for `labkit fleet --fail-if "p99>250ms"`."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, get_args

from labkit.core.errors import LabError, UnknownError, unknown
from labkit.fleet.channel import Kind
from labkit.fleet.measures import Latency

PARTS = re.compile(
    r"\s*(?P<measure>[^<>=]+?)\s*(?P<sign>>=|<=|>|<)\s*(?P<limit>[\d.]+)\s*(?P<unit>[a-zµ%]*)\s*"
)
SIGNS: Mapping[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
SECONDS = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3_600.0, "d": 86_400.0}
PERCENTILE = re.compile(r"(?P<sending>sending )?(p(?P<percent>\d{1,2}(\.\d+)?)|max)")
DURATIONS = {
    "pN": "latency from the due time, in lab time, at any percentile: p50, p95, p99.9",
    "max": "the longest latency from the due time",
    "sending pN": "latency from sending, in real time, at any percentile",
    "sending max": "the longest latency from sending",
    "seconds": "how long the run lasted, in lab time",
    "real": "how long it lasted, in real time",
    "cpu": "processor time",
}
TIMES = ("seconds", "real", "cpu")
COUNTS = {
    "requests": "answered or not",
    "rate": "requests a real second",
    "errors": "requests that were refused or got no answer; with %, of the requests",
    "errors KIND": "errors of one kind, such as `errors 503` or `errors no answer`",
    "failed": "devices that failed; with %, of the devices",
}
ACCOUNTS = {
    name: f"numbers {name}, with accounts; with %, of those sent"
    for name in (
        "sent",
        "acknowledged",
        "stored",
        "replaced",
        "forgotten",
        "handled",
        "lost",
        "doubled",
        "reordered",
        "unanswered",
        "arrived",
        "unknown",
    )
}
WHOLE = "requests", "rate", "sent"  # measures without a total, which cannot be limited in %


class CountMeasure(NamedTuple):
    """A measured count. whole: the total that the count is a part of, None if there is no total."""

    number: float
    whole: float | None = None


class RunMeasures(NamedTuple):
    """The measures of a run that thresholds can limit.

    due, sending: latencies from the due time and from sending; durations: in seconds, by name; counts: by name.
    """

    due: Latency
    sending: Latency
    durations: Mapping[str, float]
    counts: Mapping[str, CountMeasure]


@dataclass(frozen=True)
class Threshold:
    """A limit that a measure of a run must not cross. limit: seconds, a count or, if `share`, a fraction of 1."""

    text: str
    measure: str
    sign: str
    limit: float
    share: bool

    @classmethod
    def of(cls, text: str, accounts: bool = True) -> Threshold:
        """Parse `MEASURE SIGN NUMBER UNIT`, such as `p99>250ms`, `failed>0.1%` or `requests<1000`.

        accounts: whether the run has accounts. Raises LabError, which lists the measures if the measure is unknown.
        """
        found = PARTS.fullmatch(text)
        if found is None:
            raise LabError(f"--fail-if {text!r}: expected MEASURE, > or <, and a number, as in 'p99>250ms'")
        measure, unit = " ".join(found["measure"].split()), found["unit"]
        try:
            number = float(found["limit"])
        except ValueError:
            raise LabError(f"--fail-if {text!r}: {found['limit']!r} is no number") from None
        timed = PERCENTILE.fullmatch(measure) is not None or measure in TIMES
        if not (timed or measure in COUNTS or measure in ACCOUNTS or measure.startswith("errors ")):
            known = [*DURATIONS, *COUNTS, *ACCOUNTS]
            raise UnknownError(f"--fail-if {text!r}: {unknown('measure', measure, known)}")
        kind = measure.removeprefix("errors ")
        if kind not in (measure, "KIND", *get_args(Kind)) and not kind.isdecimal():
            raise UnknownError(
                f"--fail-if {text!r}: {unknown('kind of error', kind, ('a status', *get_args(Kind)))}"
            )
        if measure in ACCOUNTS and not accounts:
            raise LabError(f"--fail-if {text!r}: {measure} needs --accounts")
        if timed and unit not in SECONDS:
            raise LabError(f"--fail-if {text!r}: expected a time with its unit: {', '.join(SECONDS)}")
        units = ("",) if measure in WHOLE else ("", "%")
        if not timed and unit not in units:
            raise LabError(
                f"--fail-if {text!r}: expected a number{' or a fraction in %' if '%' in units else ''}, not {unit!r}"
            )
        factor = SECONDS[unit] if timed else 0.01 if unit else 1.0
        return cls(text, measure, found["sign"], number * factor, unit == "%")

    def value(self, measured: RunMeasures) -> float:
        """Return the measure's value in the unit of `limit`; NaN without a value."""
        latency = PERCENTILE.fullmatch(self.measure)
        if latency is not None:
            percent = 100.0 if latency["percent"] is None else float(latency["percent"])
            return (measured.sending if latency["sending"] else measured.due).percentile(percent)
        if self.measure in TIMES:
            return measured.durations[self.measure]
        counted = measured.counts.get(self.measure, CountMeasure(0, measured.counts["requests"].number))
        if not self.share:
            return counted.number
        return counted.number / counted.whole if counted.whole else math.nan

    def crossed(self, measured: RunMeasures) -> str | None:
        """Return a line that describes how the limit is crossed; None if it is not.

        A measure without a value crosses its limit.
        """
        value = self.value(measured)
        if math.isnan(value):
            return f"--fail-if {self.text}: {self.measure} has no value"
        if not SIGNS[self.sign](value, self.limit):
            return None
        return f"--fail-if {self.text}: {self.measure} is {self._shown(value)}"

    def _shown(self, value: float) -> str:
        if self.share:
            return f"{100 * value:.4g}%"
        if self.measure in COUNTS or self.measure in ACCOUNTS or self.measure.startswith("errors "):
            return f"{value:,.10g}"
        return f"{1000 * value:.3g} ms" if value < 1 else f"{value:.4g} s"


def measure_descriptions() -> list[tuple[str, str]]:
    """Return the names of all measures with their descriptions."""
    return [
        *DURATIONS.items(),
        *COUNTS.items(),
        (", ".join(ACCOUNTS), "of --accounts; with %, of those sent"),
    ]
