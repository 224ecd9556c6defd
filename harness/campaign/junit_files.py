"""junit.xml of a campaign from its results: the cases, failures and errors that pytest writes.

pytest writes the cases in the order in which they end, and none if it is killed. A campaign over
machines has them in the order of its plan, also those of runs without a result.
"""

import functools
import itertools
import os
import pathlib
import re
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Mapping, Sequence

from harness import writing
from harness.campaign import (
    campaign_plan,
    campaign_thresholds,
    results,
    run_outcomes,
    summaries,
)
from harness.report import escaping, junit

SUITE = "flake-hunt"
_VERSION = re.compile(r"(?<! as) v?\d[\w.+-]*")
_PACKAGE = pathlib.Path(__file__).parents[2]


def classname(run: campaign_plan.PlannedRun) -> str:
    """Return scenario and subject, as junit.xml of a single run names its cases."""
    return f"{run.title} ({run.subject})"


def case_name(run: campaign_plan.PlannedRun) -> str:
    """Return the id of a run without the version of a tested program.

    TestGrid makes a row of each name, which must go on when the program changes.
    """
    if not run.tested:
        return run.id
    return f"{run.title}[{_VERSION.sub('', run.tested)}-{run.repetition}]"


def portable(text: str, folder: pathlib.Path) -> str:
    """Return a text without the paths above the reports, the package, Python and temporary files.

    `folder` is that of the campaign in a folder of reports.
    """
    roots = {folder.resolve().parent.parent, _PACKAGE, pathlib.Path(sys.prefix)}
    roots |= {pathlib.Path(sys.base_prefix), pathlib.Path.cwd(), pathlib.Path.home()}
    roots.add(pathlib.Path(tempfile.gettempdir()))
    for root in sorted(map(str, roots), key=len, reverse=True):
        text = text.replace(root.rstrip(os.sep) + os.sep, "") if root != os.sep else text
    return text


def rename(path: pathlib.Path, planned: Iterable[campaign_plan.PlannedRun]) -> None:
    """Give the cases of pytest's file in a campaign's folder these names, if there is one."""
    if not path.is_file():
        return
    root = ET.parse(path).getroot()  # noqa: S314 - our own file
    root.set("name", SUITE)
    runs = {run.id: run for run in planned}
    for case in root.iter("testcase"):
        run = runs.get(case.get("name", ""))
        case.set("classname", classname(run) if run else SUITE)
        case.set("name", case_name(run) if run else case.get("name", ""))
        for part in list(case):
            if part.tag == "properties":
                case.remove(part)
                continue
            part.text = portable(part.text or "", path.parent)
            if "message" in part.attrib:
                part.set("message", portable(part.attrib["message"], path.parent))
    writing.replace(path, ET.tostring(root, encoding="utf-8", xml_declaration=True))


def add_thresholds(folder: pathlib.Path, found: Sequence[campaign_thresholds.Result]) -> None:
    """Add the thresholds per campaign to the file in a campaign's folder, if there is one."""
    _add(
        folder,
        [functools.partial(junit.add_threshold, name=item.place, found=item) for item in found],
    )


def add_left_out(folder: pathlib.Path, left_out: Mapping[str, str]) -> None:
    """Add the scenarios that were left out, with the reason, as skipped cases."""
    _add(
        folder, [functools.partial(_left_out, name=name, why=why) for name, why in left_out.items()]
    )


def _left_out(suite: ET.Element, *, name: str, why: str) -> ET.Element:
    case = ET.SubElement(suite, "testcase", classname=name, name=name, time="0.000")
    ET.SubElement(case, "skipped", message=why)
    return case


def _add(folder: pathlib.Path, added: Sequence[Callable[[ET.Element], ET.Element]]) -> None:
    path = folder / summaries.JUNIT_NAME
    if not (added and path.is_file()):
        return
    root = ET.parse(path).getroot()  # noqa: S314 - our own file
    suite = root if root.tag == "testsuite" else root[0]
    cases = [add(suite) for add in added]
    counted = {"tests": ".", "failures": "failure", "errors": "error", "skipped": "skipped"}
    for name, kind in counted.items():
        count = sum(case.find(kind) is not None for case in cases)
        suite.set(name, str(int(suite.get(name, "0")) + count))
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
    writing.replace(path, escaping.visible(text).encode())


def write(
    folder: pathlib.Path,
    planned: Sequence[campaign_plan.PlannedRun],
    found: Iterable[results.RunResult],
    problems: Sequence[str] = (),
) -> None:
    """Write the file into a campaign's folder, in the place of pytest's."""
    content = render(planned, found, problems).decode()
    writing.replace(folder / summaries.JUNIT_NAME, portable(content, folder).encode())


def render(
    planned: Sequence[campaign_plan.PlannedRun],
    found: Iterable[results.RunResult],
    problems: Sequence[str] = (),
) -> bytes:
    """Return the content; each planned run is a test case, and so is a merge with problems."""
    attempts = {
        number: list(group)
        for number, group in itertools.groupby(
            results.in_plan_order(found), key=lambda result: result.number
        )
    }
    suite = ET.Element("testsuite", name=SUITE)
    cases = [_case(run, attempts[run.number]) for run in planned if run.number in attempts]
    cases += [_merge(problems)] if problems else []
    for name, kind in (("errors", "error"), ("failures", "failure"), ("skipped", "skipped")):
        suite.set(name, str(sum(case.find(kind) is not None for case in cases)))
    suite.set("tests", str(len(cases)))
    suite.set("time", f"{sum(float(case.get('time', '0')) for case in cases):.3f}")
    suite.extend(cases)
    root = ET.Element("testsuites", name=SUITE)
    root.append(suite)
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
    return escaping.visible(text).encode()  # without characters that XML 1.0 cannot contain


def _case(run: campaign_plan.PlannedRun, attempts: Sequence[results.RunResult]) -> ET.Element:
    seconds = sum(result.seconds for result in attempts)
    case = ET.Element(
        "testcase", classname=classname(run), name=case_name(run), time=f"{seconds:.3f}"
    )
    if text := run_outcomes.failure(attempts):
        ET.SubElement(case, "failure", message=text)
    elif text := run_outcomes.inconclusive(attempts):
        ET.SubElement(case, "error", message=text)
    elif text := run_outcomes.skipped(attempts):
        ET.SubElement(case, "skipped", message=text)
    ET.SubElement(case, "system-out").text = run_outcomes.story(attempts)
    return case


def _merge(problems: Sequence[str]) -> ET.Element:
    case = ET.Element("testcase", classname="merge", name="shards", time="0.000")
    ET.SubElement(case, "error", message=f"UNKNOWN: {problems[0]}").text = "\n".join(problems)
    return case
