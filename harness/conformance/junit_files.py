"""junit.xml of rules: a broken `must` is a failure, an undecided one an error."""

import importlib.metadata
import xml.etree.ElementTree as ET
from collections.abc import Sequence

from harness import clocks
from harness.conformance import results, rules
from harness.report import junit


def render(
    name: str, found: Sequence[results.Result], *, fail_on: rules.Level = rules.Level.MUST
) -> str:
    """Return junit.xml with a test case for each rule; `name` says what was tested.

    A rule of less weight than `fail_on` does not fail a build: it is a skipped case, whose type
    says if it failed, was undecided, or was skipped.
    """
    suite = ET.Element("testsuite", name=f"driver-test {name}", timestamp=clocks.wall_text())
    properties = ET.SubElement(suite, "properties")
    version = importlib.metadata.version("flake-hunt")
    for key, value in (("driver", name), ("flake-hunt", version)):
        ET.SubElement(properties, "property", name=key, value=value)
    for item in found:
        case = ET.SubElement(
            suite,
            "testcase",
            classname=item.rule.group,
            name=item.rule.id,
            time=f"{item.seconds:.3f}",
        )
        if item.outcome is not results.Outcome.HELD:
            case.append(_not_held(item, fails=item.rule.level.counts(fail_on)))
    suite.set("time", f"{sum(item.seconds for item in found):.3f}")
    return junit.document(suite)


def _not_held(item: results.Result, *, fails: bool) -> ET.Element:
    kinds = {results.Outcome.FAILED: "failure", results.Outcome.UNDECIDED: "error"}
    tag = kinds.get(item.outcome, "skipped") if fails else "skipped"
    text = item.text if fails else f"{item.rule.level} ({item.outcome}): {item.text}"
    found = ET.Element(tag, message=text, type=str(item.outcome))
    if item.outcome is results.Outcome.FAILED:
        found.text = f"{item.rule.says}; {'; '.join(item.rule.sources)}"
    return found
