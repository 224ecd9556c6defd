"""junit.xml: the verdict for CI systems; INVALID is a failure, UNKNOWN an error."""

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping

from harness.checks import threshold_results, verdict_files, verdicts
from harness.report import escaping, run_facts


def properties_of(judgement: verdict_files.Judgement, facts: run_facts.RunFacts) -> dict[str, str]:
    return {
        "scenario": judgement.scenario,
        "subject": facts.subject,
        "cluster": facts.cluster,
        "started": facts.date,
        **{f"version: {name}": text for name, text in facts.versions.items()},
    }


def render(judgement: verdict_files.Judgement, more: Mapping[str, str] | None = None) -> str:
    """Return junit.xml: a test case for the certificate, each check and each threshold.

    Checks that examined nothing are skipped cases. `more` properties are added to seed, run and
    verdict.
    """
    name = f"{judgement.scenario} ({judgement.subject_name})"
    suite = ET.Element("testsuite", name=name)
    properties = ET.SubElement(suite, "properties")
    for key, value in {
        "seed": judgement.seed,
        "run": judgement.run_id,
        "verdict": judgement.verdict,
        **({"not-examined": ", ".join(judgement.unexamined)} if judgement.unexamined else {}),
        **(more or {}),
    }.items():
        ET.SubElement(properties, "property", name=key, value=str(value))
    missing: dict[bool, list[str]] = {True: [], False: []}
    for item in judgement.certificate:
        if not item.ok:
            missing[item.needed].append(f"{item.question} {item.reason}")
    certificate = _case(suite, name, "certificate", map(_not_needed, missing[False]))
    for position, text in enumerate(missing[True]):
        certificate.insert(position, ET.Element("error", message=text))
    for check in judgement.checks:
        _add_check(suite, name, check, is_needed=judgement.is_needed(check))
    for threshold in judgement.thresholds:
        add_threshold(suite, name, threshold, is_needed=not judgement.ended_by_violation)
    for left in judgement.not_examined:
        case = _case(suite, name, left.check)
        ET.SubElement(case, "skipped", message=f"not examined: {left.reason}")
    return document(suite)


def document(suite: ET.Element, root: ET.Element | None = None) -> str:
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    for plural, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(plural, str(sum(case.find(tag) is not None for case in cases)))
    whole = suite if root is None else root
    ET.indent(whole)
    text = ET.tostring(whole, encoding="unicode", xml_declaration=True) + "\n"
    return escaping.visible(text)  # without the characters that XML 1.0 cannot contain


def add_threshold(
    suite: ET.Element, name: str, found: threshold_results.Result, *, is_needed: bool = True
) -> None:
    output = [found.reason] if found.verdict is verdicts.Verdict.VALID else []
    case = _case(suite, name, f"threshold {found.text}", output)
    _add_verdict(case, found.verdict, found.reason, is_needed=is_needed)


def _add_check(
    suite: ET.Element, name: str, check: verdicts.CheckResult, *, is_needed: bool
) -> None:
    output = [
        f"{item.summary}: {explanation}"
        for item in check.violations
        for explanation in (item.schedulers, item.attribution)
        if explanation
    ]
    case = _case(suite, name, check.check, output)
    text = "\n".join(violation.text for violation in check.violations)
    _add_verdict(case, check.verdict, check.reason, is_needed=is_needed, text=text)


def _case(suite: ET.Element, classname: str, name: str, output: Iterable[str] = ()) -> ET.Element:
    case = ET.SubElement(suite, "testcase", classname=classname, name=name)
    if text := "\n".join(output):
        ET.SubElement(case, "system-out").text = text
    return case


def _add_verdict(
    case: ET.Element, verdict: verdicts.Verdict, reason: str, *, is_needed: bool, text: str = ""
) -> None:
    if verdict is verdicts.Verdict.INVALID:
        found = ET.Element("failure", message=reason)
        found.text = text
    elif verdict is verdicts.Verdict.UNKNOWN:
        tag, message = ("error", reason) if is_needed else ("skipped", _not_needed(reason))
        found = ET.Element(tag, message=message)
    else:
        return
    case.insert(0, found)


def _not_needed(text: str) -> str:
    return f"{run_facts.NOT_NEEDED}, since {run_facts.WHY_NOT_NEEDED}: {text}"
