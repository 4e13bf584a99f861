"""Which of the verdicts that went wrong comes first: what explains others stands before them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from labkit.conformance.verdict import Verdict

# Parts of the documents that the checks of others rely on, each part on those before it. The rest follow in the order
# of the catalogue.
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
STATUS = "status"  # the reason of a check to which another status came


@dataclass(frozen=True, slots=True)
class Problem:
    """A verdict that went wrong, with others that it probably explains.

    same: checks to which the same request was answered the same wrong way; left_out: checks that could not be made
    because of a requirement that this check fails.
    """

    verdict: Verdict
    same: tuple[Verdict, ...] = ()
    left_out: tuple[Verdict, ...] = ()


def problems(verdicts: Iterable[Verdict], failing: Sequence[str], parts: Iterable[str]) -> list[Problem]:
    """Return the verdicts with an outcome in `failing` as problems, each before what it may explain.

    parts: of the requirements, in the catalogue's order. A check that was not reached belongs to the first problem
    with its cause; where no check of that cause failed in this run, it is a problem itself.
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
            blaming[each.cause] = each.check  # nothing that was checked says why: one stands for the rest
            first.append(each)
        else:
            left_out.setdefault(head_name, []).append(each)
    return [
        Problem(each, tuple(same.get(each.check, ())), tuple(left_out.get(each.check, ()))) for each in first
    ]


def _rank(verdict: Verdict, ranks: Mapping[str, int]) -> tuple[bool, int, bool, int]:
    """A verdict that is broken says the least; a model, and a check of many requirements, less than one of a single
    requirement.
    """
    part = min(ranks.get(each.rpartition("-")[0], len(ranks)) for each in verdict.blamed)
    return verdict.outcome == "broken", part, bool(verdict.outcomes), len(verdict.blamed)


def _answer(verdict: Verdict) -> object:
    """What came to which request, where a status was wrong; else the verdict's own name, which no other has.

    The request is its method and path without the query.
    """
    request = verdict.exchange.partition("\n")[0].partition("?")[0]
    if verdict.reason != STATUS or verdict.outcomes or not request:
        return verdict.check
    return request, verdict.expected, verdict.actual
