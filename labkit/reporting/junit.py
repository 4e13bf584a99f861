"""Verdicts as JUnit XML, for CI servers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from itertools import groupby
from xml.etree import ElementTree

from labkit.conformance.verdict import Verdict
from labkit.reporting.run_notebook import NotebookRun

ILLEGAL = {code: "�" for code in range(32) if chr(code) not in "\t\n\r"}  # characters that XML 1.0 excludes


def junit(
    verdicts: Iterable[Verdict],
    runs: Iterable[NotebookRun],
    sentences: Mapping[str, str],
    *,
    strict: bool = False,
    began: float = 0.0,
    seconds: float = 0.0,
) -> str:
    """Return JUnit XML with a suite for each part of the requirements, a case for each check, and a suite of notebooks.

    A failed check is a failure, a broken one an error, one that was not reached is skipped. A warned check counts as
    skipped, since CI servers know no other outcome that is neither, or is a failure if `strict`; the property `warned`
    of its suite is their number. What did not pass has the sentences of its requirements. sentences: of the
    requirements, by id; began: seconds since 1970; seconds: duration of the whole run.
    """
    when = datetime.fromtimestamp(began, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    root = ElementTree.Element("testsuites", name="labkit conformance", timestamp=when, time=f"{seconds:.3f}")
    ordered = sorted(verdicts, key=_part)  # a stable sort: checks stay in order within their part
    for part, members in groupby(ordered, _part):
        suite = ElementTree.SubElement(root, "testsuite", name=part, timestamp=when)
        of_part = list(members)
        _properties(suite, of_part)
        for verdict in of_part:
            _case(suite, verdict, part, sentences, strict)
        _count(suite)
    suite = ElementTree.SubElement(root, "testsuite", name="notebooks", timestamp=when)
    for run in runs:
        case = ElementTree.SubElement(suite, "testcase", classname="notebooks", name=run.name)
        if run.error is not None:
            element = ElementTree.SubElement(case, "error", message=_legal(run.error.message))
            element.text = _legal(f"{run.error}\n\n{run.error.traceback}")
    _count(suite)
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(each.get(name, "0")) for each in root)))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _case(
    suite: ElementTree.Element, verdict: Verdict, part: str, sentences: Mapping[str, str], strict: bool
) -> None:
    case = ElementTree.SubElement(
        suite,
        "testcase",
        classname=part,
        name=_legal(f"{verdict.check}: {verdict.title}"),
        time=f"{verdict.seconds:.3f}",
    )
    message = _legal(verdict.explanation())
    blamed = "\n".join(f"{each}: {sentences.get(each, '')}" for each in verdict.blamed)
    detail = _legal(f"{blamed}\nexpected: {verdict.expected}\nactual: {verdict.actual}\n\n{verdict.exchange}")
    match "failed" if strict and verdict.outcome == "warned" else verdict.outcome:
        case "failed":
            ElementTree.SubElement(case, "failure", message=message).text = detail
        case "broken":
            ElementTree.SubElement(case, "error", message=message).text = _legal(blamed)
        case "not reached":
            ElementTree.SubElement(case, "skipped", message=f"not reached: {message}").text = _legal(blamed)
        case "skipped":
            ElementTree.SubElement(case, "skipped", message=message)
        case "warned":
            ElementTree.SubElement(case, "skipped", message=f"warned: {message}").text = detail


def _properties(suite: ElementTree.Element, verdicts: Iterable[Verdict]) -> None:
    if warned := sum(each.outcome == "warned" for each in verdicts):
        properties = ElementTree.SubElement(suite, "properties")
        ElementTree.SubElement(properties, "property", name="warned", value=str(warned))


def _part(verdict: Verdict) -> str:
    return verdict.requirements[0].rpartition("-")[0]


def _count(suite: ElementTree.Element) -> None:
    suite.set("tests", str(len(suite.findall("testcase"))))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(len(suite.findall(f"testcase/{tag}"))))


def _legal(text: str) -> str:
    return text.translate(ILLEGAL)
