"""junit.xml: the verdict for CI systems; INVALID is a failure, UNKNOWN an error."""

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence

from harness.checks import threshold_results, verdict_files, verdicts
from harness.checks.certificate import certificate_items
from harness.report import escaping, run_facts


def properties(judgement: verdict_files.Judgement, facts: run_facts.RunFacts) -> dict[str, str]:
    """Return the properties of a run: scenario, subject, cluster, date and versions."""
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
    for key, value in {
        "seed": judgement.seed,
        "run": judgement.run_id,
        "verdict": judgement.verdict,
        **({"not-examined": ", ".join(judgement.unexamined)} if judgement.unexamined else {}),
        **(more or {}),
    }.items():
        ET.SubElement(_properties(suite), "property", name=key, value=str(value))
    certificate = ET.SubElement(suite, "testcase", classname=name, name="certificate")
    _add_certificate(certificate, judgement.certificate)
    for check in judgement.checks:
        _add_check(suite, name, check, is_needed=judgement.is_needed(check))
    for threshold in judgement.thresholds:
        add_threshold(suite, name, threshold, is_needed=not judgement.ended_by_violation)
    for left in judgement.not_examined:
        case = ET.SubElement(suite, "testcase", classname=name, name=left.check)
        ET.SubElement(case, "skipped", message=f"not examined: {left.reason}")
    _count(suite)
    ET.indent(suite)
    text = ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
    return escaping.visible(text)  # without the characters that XML 1.0 cannot contain


def _properties(suite: ET.Element) -> ET.Element:
    found = suite.find("properties")
    return ET.SubElement(suite, "properties") if found is None else found


def _add_certificate(case: ET.Element, items: Iterable[certificate_items.Item]) -> None:
    """Add an error for each item that is missing, and name those that were not needed."""
    lines = []
    for item in items:
        if item.ok:
            continue
        text = f"{item.question} {item.reason}"
        if item.needed:
            ET.SubElement(case, "error", message=text)
        else:
            lines.append(_not_needed(text))
    _add_output(case, lines)


def _not_needed(text: str) -> str:
    return f"{run_facts.NOT_NEEDED}, since {run_facts.WHY_NOT_NEEDED}: {text}"


def _add_check(
    suite: ET.Element, name: str, check: verdicts.CheckResult, *, is_needed: bool
) -> None:
    case = ET.SubElement(suite, "testcase", classname=name, name=check.check)
    match check.verdict:
        case verdicts.Verdict.INVALID:
            failure = ET.SubElement(case, "failure", message=check.reason)
            failure.text = "\n".join(violation.text for violation in check.violations)
        case verdicts.Verdict.UNKNOWN if not is_needed:
            ET.SubElement(case, "skipped", message=_not_needed(check.reason))
        case verdicts.Verdict.UNKNOWN:
            ET.SubElement(case, "error", message=check.reason)
        case verdicts.Verdict.VALID:
            pass
    lines = [
        f"{item.summary}: {explanation}"
        for item in check.violations
        for explanation in (item.schedulers, item.attribution)
        if explanation
    ]
    _add_output(case, lines)


def add_threshold(
    suite: ET.Element, name: str, found: threshold_results.Result, *, is_needed: bool = True
) -> None:
    """Add a test case that the threshold names; `name` is its class."""
    case = ET.SubElement(suite, "testcase", classname=name, name=f"threshold {found.text}")
    match found.verdict:
        case verdicts.Verdict.INVALID:
            ET.SubElement(case, "failure", message=found.reason)
        case verdicts.Verdict.UNKNOWN if is_needed:
            ET.SubElement(case, "error", message=found.reason)
        case verdicts.Verdict.UNKNOWN:
            ET.SubElement(case, "skipped", message=_not_needed(found.reason))
        case verdicts.Verdict.VALID:
            ET.SubElement(case, "system-out").text = found.reason


def _add_output(case: ET.Element, lines: Sequence[str]) -> None:
    if lines:
        ET.SubElement(case, "system-out").text = "\n".join(lines)


def _count(suite: ET.Element) -> None:
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    suite.set("failures", str(sum(case.find("failure") is not None for case in cases)))
    suite.set("errors", str(sum(case.find("error") is not None for case in cases)))
    suite.set("skipped", str(sum(case.find("skipped") is not None for case in cases)))
