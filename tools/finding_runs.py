"""Write a run of a finding into its page, moment by moment.

    .venv/bin/python -m tools.finding_runs RUN_DIR…        the scenario names the finding
    .venv/bin/python -m tools.finding_runs H24=RUN_DIR     or the command does

The part is folded up at the end of "What real programs did". It is written from the run directory,
whose evidence is too large to be kept here, and stays as it is until the page gets another run.
"""

import argparse
import dataclasses
import html
import pathlib
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from harness import errors
from harness.checks import judging, run_course, verdicts
from harness.history import directories, records
from harness.report import cards, escaping, evidence, page_templates, run_facts
from harness.report.causes import deciding_writes
from harness.report.replay import race_events, replays
from harness.scenario import hazards

PICTURES = pathlib.Path(__file__).parents[1] / "docs" / "findings" / "runs"
MARK, END = "<!-- written by tools/finding_runs.py -->\n", "<!-- end -->\n"
"""Around the part that this program writes."""
SECTION = "\n## Show it\n"
"""The part is above this heading."""
MOMENTS_MAX = 12
WIDTH = 1000
"""Pixels of a picture."""
_WRITTEN = re.compile(f"{MARK}.*?{END}\n?", re.DOTALL)
_SHORTER = (
    (re.compile(r"flake-hunt-[0-9a-f]{8}/"), ""),
    (re.compile(r", written by ([a-z-]+?)(-\d[\d.]*)?(/v[\w.]+)?(?=[,)| ])"), r", by \1"),
    (re.compile(", as stored: version "), ": version "),
    (re.compile(r"the API server stores (version \d+: )"), r"\1"),
)
"""Words that the reader of a page does not need, and what stands for them."""


# ---------------------------------------------------------------------------------- the run


@dataclasses.dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened in a run, in Markdown."""

    ms: str
    text: str
    state: str = ""


def show(run: pathlib.Path, wanted: str = "") -> None:
    """Write a run into the page of its finding; `wanted` is its id, empty: the plan names it.

    Raises HarnessError if the run is none, or of no finding, or not INVALID.
    """
    source = evidence.Evidence(judging.examine(directories.existing(run)))
    page = hazards.find(wanted or source.history.plan.known_to_fail)
    if page is None or not page.hazard.steps:
        raise errors.HarnessError(f"{run}: expected a run of a finding: name it as in H1={run}")
    if source.judgement.verdict is not verdicts.Verdict.INVALID:
        raise errors.HarnessError(f"{run}: expected a run that is INVALID")
    (PICTURES / f"{page.path.stem}.svg").unlink(missing_ok=True)
    text = "".join(_run(source, page))
    for long, short in _SHORTER:
        text = long.sub(short, text)
    page.path.write_text(written(page.path.read_text("utf-8"), text), "utf-8")


def written(page: str, run: str) -> str:
    """Return the text of a page with this run instead of the one that it has."""
    part = f"\n{MARK}\n<details markdown>\n{run}</details>\n\n{END}"
    return _WRITTEN.sub("", page).replace(SECTION, f"{part}{SECTION}", 1)


def _run(source: evidence.Evidence, page: hazards.Page) -> Iterator[str]:
    facts, judgement = run_facts.collect(source.history), source.judgement
    subject = _subject(facts.subject, source.history.plan.defects)
    day = facts.date.partition("T")[0]
    yield f"<summary>A run of it, moment by moment: {html.escape(subject)}, {day}</summary>\n\n"
    yield f"**{judgement.verdict}**: {escaping.in_markdown(judgement.reason)}\n\n"
    shown = [card for section in cards.sections_of(source) for card in section.cards]
    first = next((item for item in shown if item.replay), shown[0])
    if first.strip and first.replay:
        PICTURES.mkdir(parents=True, exist_ok=True)
        (PICTURES / f"{page.path.stem}.svg").write_text(_picture(first.strip.picture), "utf-8")
        yield f"![Both claims hold the device, over time](runs/{page.path.stem}.svg)\n\n"
    if first.replay and isinstance(first.violation, verdicts.DoubleAllocation):
        one, two = (escaping.in_markdown(item.name) for item in first.violation.holders)
        yield f"Claim A is {one}, claim B is {two}.\n\n"
        yield from _table(_replayed(first.replay))
    else:
        yield from _table(_told(source, first.violation))


def _subject(name: str, defects: Sequence[str]) -> str:
    """Return the programs under test, as people say it who do not know the names of ours."""
    if defects:
        return f"ours, with the defect {name}"
    return re.sub("^(correct|python)(?= |$)", "our scheduler", name)


def _table(moments: Sequence[Moment]) -> Iterator[str]:
    has_state = any(moment.state for moment in moments)
    shown = [moment for moment in moments if moment.state or not has_state]
    yield "| ms | what happens |" + " what is so from then on |" * has_state
    yield f"\n|---:|---|{'---|' * has_state}\n"
    for moment in shown[:MOMENTS_MAX]:
        yield f"| {moment.ms} | {moment.text} |{f' {moment.state} |' * has_state}\n"
    if len(shown) > MOMENTS_MAX:
        yield f"| … | {len(shown) - MOMENTS_MAX:,} more |{' |' * has_state}\n"
    yield "\n"


def _replayed(replay: replays.Replay) -> list[Moment]:
    """Return the moments of a double allocation, as the report has them."""
    return [
        Moment(item.ms, escaping.in_markdown(item.text), "<br>".join(map(_part, item.parts)))
        for item in replay.moments
    ]


def _part(part: replays.Part) -> str:
    text = escaping.in_markdown(part.text)
    return f"{escaping.in_markdown(part.title)}: {f'**{text}**' if part.kind else text}"


def _told(source: evidence.Evidence, violation: verdicts.Violation) -> list[Moment]:
    """Return the steps of the script, and the versions of the objects of a violation between."""
    events = [*_script(source), *_versions(source, violation), *_prepared(source, violation)]
    events.sort(key=lambda event: event[0])
    begin = events[0][0] if events else 0
    return [
        Moment(f"{(ts_ns - begin) / 1e6:+,.3f}", escaping.in_markdown(text))
        for ts_ns, text in events
    ]


def _script(source: evidence.Evidence) -> Iterator[tuple[int, str]]:
    for step in run_course.script_steps(source.history):
        yield step.ended_ns, f"step {step.step} of the script: {step.text}"


def _prepared(
    source: evidence.Evidence, violation: verdicts.Violation
) -> Iterator[tuple[int, str]]:
    """Yield when the claims of a violation were prepared on nodes, and unprepared."""
    claims = {item.uid for item in violation.objects if item.kind == "ResourceClaim"}
    history = source.history
    for process in history.expected_preparations():
        for item in history.preparations(process) or ():
            if isinstance(item, records.Prepared) and item.claim_uid in claims:
                yield item.ts_ns, f"the driver of {item.node} has prepared {item.claim}"
            if isinstance(item, records.Unprepared) and item.claim_uid in claims:
                yield item.ts_ns, f"the driver of {item.node} has unprepared {item.claim}"


def _versions(
    source: evidence.Evidence, violation: verdicts.Violation
) -> Iterator[tuple[int, str]]:
    """Yield the versions of the claims and pods of a violation; of a script, all of them."""
    is_script = bool(run_course.script_steps(source.history))
    names = {(item.namespace, item.name) for item in violation.objects}
    before: dict[str, Mapping[str, Any]] = {}
    for item in source.history.observations() or ():
        if not isinstance(item, records.Observation) or item.type == "FINAL":
            continue
        if item.resource not in ("resourceclaims", "pods"):
            continue
        content = msgspec.json.decode(item.object)
        meta = content["metadata"]
        if not is_script and (meta["namespace"], meta["name"]) not in names:
            continue
        said = _said(item, before.get(meta["uid"]), content)
        before[meta["uid"]] = content
        author = source.authors.get(item.resource_version)
        by = f", written by {author.agent.partition(' ')[0]}" if author else ""
        if said:
            yield item.ts_ns, f"{meta['name']} {said} (version {item.resource_version}{by})"


def _said(
    item: records.Observation, before: Mapping[str, Any] | None, content: Mapping[str, Any]
) -> str:
    if item.resource == "resourceclaims":
        now, old = _stored(item, content), _stored(item, before) if before else None
        known = (*now.devices, *(old.devices if old else ()), "")
        return " and ".join(race_events.differing(old, now, known[0]))
    return " and ".join(_of_pod(item, before, content))


def _stored(item: records.Observation, content: Mapping[str, Any]) -> race_events.Stored:
    version = deciding_writes.Version(item.resource_version, item.ts_ns, dict(content), item.type)
    return race_events.stored(version)


def _of_pod(
    item: records.Observation, before: Mapping[str, Any] | None, content: Mapping[str, Any]
) -> Iterator[str]:
    """Yield what a version of a pod says that the one before did not."""
    if item.type == "DELETED":
        yield "is deleted"
        return
    if before is None:
        yield "is created"
    old_spec, old_status = ((before or {}).get(key, {}) for key in ("spec", "status"))
    node, status = content["spec"].get("nodeName"), content.get("status", {})
    if node and node != old_spec.get("nodeName"):
        yield f"is bound to {node}"
    for key, verb in (("resourceClaimStatuses", "names"), ("extendedResourceClaimStatus", "names")):
        if status.get(key) != old_status.get(key):
            yield f"{verb} other claims in its status"
    phase = status.get("phase")
    if phase in ("Running", "Succeeded", "Failed") and phase != old_status.get("phase"):
        yield f"is {phase}"


# ------------------------------------------------------------------------------ the pictures

_RULES: tuple[str, ...] = (
    ":root",
    "@media screen and (prefers-color-scheme",
    "svg ",
    ".axis",
    ".hold0",
    ".window",
)
_RULES += (".step", ".fault-shade")


def _picture(drawn: str) -> str:
    """Return the picture of a report as a file of its own, with the colours of the report."""
    loader = page_templates.templates()
    lines = loader.get_template("style.css.j2").render().splitlines()
    style = "".join(line for line in lines if line.startswith(_RULES))
    found = re.search(r'height="([\d.]+)"', drawn)
    height = float(found[1]) + 16 if found else 300.0
    hatch = '<pattern id="hatch" width="8" height="8" patternUnits="userSpaceOnUse" '
    hatch += 'patternTransform="rotate(45)"><rect width="3" height="8" fill="#b3261e" '
    hatch += 'fill-opacity=".55"/></pattern>'
    inner = f'<svg x="12" y="8" width="{WIDTH - 24}" height="{height - 16:g}">{drawn}</svg>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" '
        f'width="{WIDTH}" height="{height:g}" role="img">\n<style>{style}</style>\n'
        f'<defs>{hatch}</defs>\n<rect width="100%" height="100%" fill="var(--bg)"/>\n{inner}\n</svg>\n'
    )


def main() -> None:
    """Write the parts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", nargs="+", help="run directory, or HAZARD=run directory")
    for given in parser.parse_args().run:
        wanted, _, path = given.rpartition("=")
        try:
            show(pathlib.Path(path), wanted)
        except errors.HarnessError as error:
            sys.exit(str(error))


if __name__ == "__main__":
    main()
