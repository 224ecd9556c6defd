"""junit.xml of a campaign: a test case for each planned run, in the order of the plan."""

import itertools
import os
import pathlib
import re
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Collection, Iterable, Iterator, Sequence

from harness.campaign import campaign_documents, campaign_plan
from harness.checks import verdicts
from harness.history import results
from harness.report import junit

NAME = "junit.xml"
SUITE = "flake-hunt"
_VERSION = re.compile(r"(?<! as) v?\d[\w.+-]*")
_PACKAGE = pathlib.Path(__file__).parents[2]


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


def render(
    plan: campaign_plan.CampaignPlan,
    found: Iterable[results.RunResult],
    *,
    thresholds: Iterable[campaign_documents.ThresholdResult] = (),
    problems: Sequence[str] = (),
) -> str:
    """Return the content: cases of the planned runs, of a merge with problems, of thresholds, and
    of scenarios that were left out.
    """
    attempts = {
        number: list(group)
        for number, group in itertools.groupby(
            results.in_plan_order(found), key=lambda result: result.number
        )
    }
    root = ET.Element("testsuites", name=SUITE)
    suite = ET.SubElement(root, "testsuite", name=SUITE)
    suite.extend([_case(run, attempts.get(run.number, ())) for run in _cases(plan, attempts)])
    suite.extend([_merge(problems)] if problems else [])
    for threshold in thresholds:
        junit.add_threshold(suite, threshold.place, threshold)
    for name, why in plan.left_out.items():
        case = ET.SubElement(suite, "testcase", classname=name, name=name, time="0.000")
        ET.SubElement(case, "skipped", message=why)
    suite.set("time", f"{sum(float(case.get('time', '0')) for case in suite):.3f}")
    return junit.document(suite, root)


def _cases(
    plan: campaign_plan.CampaignPlan, made: Collection[int]
) -> Iterator[campaign_plan.PlannedRun]:
    """Yield the planned runs; those beyond the end of a time budget only if their kind has none."""
    kinds = {run.kind for run in plan.runs if run.number in made}
    for run in plan.runs:
        if run.number in made or not plan.minutes or run.kind not in kinds:
            kinds.add(run.kind)
            yield run


def _case(run: campaign_plan.PlannedRun, attempts: Sequence[results.RunResult]) -> ET.Element:
    seconds = sum(result.seconds for result in attempts)
    place = f"{run.title} ({run.subject})"  # as junit.xml of a single run names its cases
    subject = _VERSION.sub("", run.tested) or run.subject  # TestGrid makes a row of each name
    name = f"{run.title}[{subject}-{run.repetition}]"
    case = ET.Element("testcase", classname=place, name=name, time=f"{seconds:.3f}")
    if not attempts:
        ET.SubElement(case, "skipped", message="the campaign ended before this run")
        return case
    if text := failure(attempts):
        ET.SubElement(case, "failure", message=text).text = text
    elif text := inconclusive(attempts):
        ET.SubElement(case, "error", message=text).text = text
    elif attempts[-1].cut:
        ET.SubElement(case, "skipped", message=attempts[-1].reason)
    lines = (f"attempt {number}: {_line(run)}\n" for number, run in enumerate(attempts, start=1))
    ET.SubElement(case, "system-out").text = "".join(lines)
    return case


def _merge(problems: Sequence[str]) -> ET.Element:
    case = ET.Element("testcase", classname="merge", name="shards", time="0.000")
    ET.SubElement(case, "error", message=f"UNKNOWN: {problems[0]}").text = "\n".join(problems)
    return case


def failure(attempts: Sequence[results.RunResult]) -> str:
    """Return why the run fails: INVALID, or not found what it must find; empty: it does not."""
    last = attempts[-1]
    if last.is_regression:
        return f"INVALID: {_unexplained(last)}, which {last.hypothesis} does not explain: {last.reason}"
    if last.is_against_subject:
        return f"INVALID: {last.reason}"
    if last.is_missed:
        return (
            f"{last.purpose.missed}, attempts: {len(attempts)}; "
            f"the last one was {last.verdict}: {last.reason}"
        )
    return ""


def _unexplained(run: results.RunResult) -> str:
    if run.by_one_scheduler:
        return f"{run.by_one_scheduler} double allocations of one scheduler by itself"
    return "violations of another kind" if run.is_violated else "a threshold that was not met"


def inconclusive(attempts: Sequence[results.RunResult]) -> str:
    """Return why the run is UNKNOWN or has no result; empty: it is conclusive."""
    last = attempts[-1]
    if last.cut:
        return ""
    if last.missing:
        return f"UNKNOWN: {last.reason}"
    if last.error:
        return f"ERROR: the run could not be executed: {last.error}"
    if not (last.purpose.is_sought or last.is_against_subject):
        return "" if last.verdict is verdicts.Verdict.VALID else f"UNKNOWN: {last.reason}"
    return ""


def _line(run: results.RunResult) -> str:
    """Controls and hazards are marked as found or not."""
    if run.error:
        return f"ERROR {run.error}"
    place = "/".join(pathlib.PurePath(run.directory).parts[-2:])  # in the folder of reports
    mark = f" ({'not ' * (not run.is_found)}{run.purpose.found})" * run.purpose.is_sought
    return f"{run.verdict}{mark} {run.reason} {place}".rstrip()
