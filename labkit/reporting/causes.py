"""Grouping of failed verdicts by their probable cause: a failure that explains others comes before them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from labkit.conformance.verdict import Verdict

# Parts of the documents on which the checks of other parts depend, each part on the ones listed before it. The
# remaining parts follow in the order of the catalogue.
FOUNDATIONS = (
    *(
        "DEV-TLS",
        "DEV-HTTP",
        "DEV-TIME",
        "DEV-PROV",
        "DEV-AUTH",
        "DEV-ALIAS",
        "DEV-READ",
        "DEV-HYBRID",
        "DEV-REC",
    ),
    *(
        "SOL-ASSET",
        "SOL-ROUTE",
        "SOL-REQ",
        "SOL-RESP",
        "SOL-JSON",
        "SOL-FUN",
        "SOL-SVC",
        "SOL-ERR",
        "DEV-EVT",
        "SOL-EVT",
    ),
    *("KEY-CALL", "KEY-SET", "KEY-GET", "USR-CALL", "USR-USER", "USR-TOKEN", "USR-ROLE", "USR-PERM"),
    *("IFC-CALL", "IFC-DEF", "IFC-SET", "IFC-SUB", "NTF-CALL", "NTF-BIND", "NTF-SEND"),
)
STATUS = "status"  # reason of a check that got a response with an unexpected status


@dataclass(frozen=True, slots=True)
class Problem:
    """A failed verdict, with other verdicts that it probably explains.

    same_answer: checks that got the same wrong answer to the same request; not_reached: checks that could not run
    because of a requirement that this check fails.
    """

    verdict: Verdict
    same_answer: tuple[Verdict, ...] = ()
    not_reached: tuple[Verdict, ...] = ()


def problems(verdicts: Iterable[Verdict], failing: Sequence[str], parts: Iterable[str]) -> list[Problem]:
    """Return the verdicts with an outcome in `failing` as problems, probable causes first.

    parts: parts of the requirements, in the catalogue's order. A check that was not reached belongs to the first
    problem with its cause. If no check of that cause failed in this run, it is a problem of its own.
    """
    verdicts = list(verdicts)
    ranks = {part: rank for rank, part in enumerate(dict.fromkeys((*FOUNDATIONS, *parts)))}
    bad = sorted((each for each in verdicts if each.outcome in failing), key=lambda each: _rank(each, ranks))
    unreached = [each for each in verdicts if each.outcome == "not reached"]
    heads: dict[object, Verdict] = {}
    same: dict[str, list[Verdict]] = {}
    first: list[Verdict] = []
    for each in bad:
        head = heads.setdefault(_answer(each), each)
        if head is each:
            first.append(each)
        else:
            same.setdefault(head.check, []).append(each)
    blaming: dict[str, str] = {}
    for each in first:
        for requirement in each.blamed:
            blaming.setdefault(requirement, each.check)
    left_out: dict[str, list[Verdict]] = {}
    for each in unreached:
        head_name = blaming.get(each.cause)
        if head_name is None:
            blaming[each.cause] = each.check  # no check shows the cause, so this one represents the others
            first.append(each)
        else:
            left_out.setdefault(head_name, []).append(each)
    return [
        Problem(each, tuple(same.get(each.check, ())), tuple(left_out.get(each.check, ()))) for each in first
    ]


def _rank(verdict: Verdict, ranks: Mapping[str, int]) -> tuple[bool, int, bool, int]:
    """Return the sort key of a verdict: the smaller, the more it explains.

    A broken verdict explains the least. A model check, or a check of many requirements, explains less than a check of
    a single requirement.
    """
    part = min(ranks.get(each.rpartition("-")[0], len(ranks)) for each in verdict.blamed)
    return verdict.outcome == "broken", part, bool(verdict.outcomes), len(verdict.blamed)


def _answer(verdict: Verdict) -> object:
    """Return the request (without its query) and the unexpected status of a verdict, as a key for equal answers.

    For a verdict with another reason, return the check's unique name.
    """
    request = verdict.exchange.partition("\n")[0].partition("?")[0]
    if verdict.reason != STATUS or verdict.outcomes or not request:
        return verdict.check
    return request, verdict.expected, verdict.actual
