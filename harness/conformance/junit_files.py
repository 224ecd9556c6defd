"""junit.xml of rules: a broken `must` is a failure, an undecided one an error."""

import xml.etree.ElementTree as ET
from collections.abc import Sequence

from harness.conformance import results, rules
from harness.report import escaping


def render(name: str, found: Sequence[results.Result]) -> str:
    """Return junit.xml with a test case for each rule; `name` says what was tested.

    A rule that is no `must` is a skipped case if it does not hold: it does not fail a build.
    """
    suite = ET.Element("testsuite", name=name)
    for item in found:
        _add(suite, item)
    _count(suite)
    ET.indent(suite)
    return escaping.visible(ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n")


def _add(suite: ET.Element, item: results.Result) -> None:
    case = ET.SubElement(
        suite,
        "testcase",
        classname=item.rule.group,
        name=item.rule.id,
        time=f"{item.seconds:.3f}",
    )
    if item.outcome is results.Outcome.HELD:
        return
    is_must = item.rule.level is rules.Level.MUST
    kind = {results.Outcome.FAILED: "failure", results.Outcome.UNDECIDED: "error"}
    tag = kind.get(item.outcome, "skipped") if is_must else "skipped"
    text = item.text if is_must else f"{item.rule.level} ({item.outcome}): {item.text}"
    found = ET.SubElement(case, tag, message=text)
    if item.outcome is results.Outcome.FAILED:
        found.text = f"{item.rule.says}; {'; '.join(item.rule.sources)}"


def _count(suite: ET.Element) -> None:
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    for plural, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(plural, str(sum(case.find(tag) is not None for case in cases)))
