"""Write the gallery of races: docs/gallery/, a page for each finding in which something happens.

    .venv/bin/python -m tools.gallery                 heads of the pages, and the index
    .venv/bin/python -m tools.gallery RUN_DIR…        the run of a page, too
    .venv/bin/python -m tools.gallery H24=RUN_DIR     if the scenario does not name its finding

A page has the picture of the finding, one real run of it, and the moments of that run, as its
report replays them. The head follows from docs/findings, and a test compares. The rest is written
from the run directory, whose evidence is too large to be kept here.
"""

import argparse
import dataclasses
import pathlib
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from harness import errors
from harness.checks import judging, verdicts
from harness.checks.certificate import script_items
from harness.history import directories, records
from harness.report import cards, escaping, evidence, page_templates, rendering, run_facts
from harness.report.causes import deciding_writes
from harness.report.replay import race_states, replays
from harness.scenario import hazards
from tools import findings_index

FOLDER = pathlib.Path(__file__).parents[1] / "docs" / "gallery"
PICTURES = FOLDER / "pictures"
RUN = "## A run of it\n\n<!-- it stays as it is until tools/gallery.py gets another run -->\n"
"""Above the part of a page that stays as it is until the page gets another run."""
_NONE = "No run is shown"
"""How a page says so, and why."""
MOMENTS_MAX = 30
WIDTH = 1000
"""Pixels of a picture."""
_NOTE = "<!-- written by tools/gallery.py: change the finding, or show another run -->\n"
_NAMESPACE = re.compile(r"flake-hunt-[0-9a-f]{8}/")


def shown() -> Sequence[hazards.Page]:
    """Return the findings that have a page: something happens in them."""
    return [page for page in hazards.pages().values() if page.hazard.steps]


def pages() -> Mapping[pathlib.Path, str]:
    """Return the files of the gallery with their texts for today."""
    texts = {FOLDER / page.path.name: _page(page, _run_of(page)) for page in shown()}
    return {**texts, FOLDER / "README.md": _index()}


def _run_of(page: hazards.Page) -> str:
    """Return the run that a page shows; empty: none so far."""
    path = FOLDER / page.path.name
    _, _, run = path.read_text("utf-8").partition(RUN) if path.is_file() else ("", "", "")
    return "" if run.strip().startswith(_NONE) else run


# --------------------------------------------------------------------------------- the head


def _page(page: hazards.Page, run: str) -> str:
    hazard, name = page.hazard, page.path.name
    picture = f"../findings/pictures/{page.path.stem}.svg"
    return (
        f"{_NOTE}\n# {_title(hazard)}\n\n{_effect(hazard)}\n\n"
        f"[Why it happens, what real programs did, and what would fix it](../findings/{name}) · "
        f"[all races](README.md)\n\n![What happens, step by step]({picture})\n\n{RUN}{run or _no_run(hazard)}"
    )


def _no_run(hazard: hazards.Hazard) -> str:
    return f"\n{_NONE}: {hazard.status}.\n"


def _title(hazard: hazards.Hazard) -> str:
    return hazard.title if "#" in hazard.id else f"{hazard.id}: {hazard.title}"


def _effect(hazard: hazards.Hazard) -> str:
    """Return how it ends, as a sentence."""
    text = list(hazards.parsed(hazard.steps))[-1].text
    return f"{text[:1].upper()}{text[1:]}."


def _index() -> str:
    left_out = [page for page in hazards.pages().values() if not page.hazard.steps]
    names = " and ".join(f"[{page.hazard.id}](../findings/{page.path.name})" for page in left_out)
    rows = "".join(map(_row, shown()))
    return (
        f"{_NOTE}\n# The gallery of races\n\n"
        "Each race and hazard that was found: what happens in which order, one real run of it, and "
        "that run moment by moment.\nThe [findings](../findings/README.md) say why it happens, and "
        f"what would fix it. Nothing happens in {names}: they are refuted.\n\n"
        f"| what happens | how it ends |\n|---|---|\n{rows}"
    )


def _row(page: hazards.Page) -> str:
    hazard, name = page.hazard, page.path.name
    picture = f"![{_title(hazard)}](../findings/pictures/{page.path.stem}.svg)"
    command = findings_index.command(page)
    lines = (
        f"**[{_title(hazard)}]({name})**",
        _effect(hazard),
        _run_of(page).strip().partition("\n")[0] or f"{_NONE}: {hazard.status}.",
        *([f"`{command}`"] if command else []),
    )
    return f"| [{picture}]({name}) | {'<br>'.join(lines)} |\n"


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
    examination = judging.examine(directories.existing(run))
    source = evidence.Evidence(examination)
    page = hazards.find(wanted or source.history.plan.known_to_fail)
    if page is None or page not in shown():
        raise errors.HarnessError(f"{run}: expected a run of a finding: name it as in H1={run}")
    if source.judgement.verdict is not verdicts.Verdict.INVALID:
        raise errors.HarnessError(f"{run}: expected a run that is INVALID")
    FOLDER.mkdir(exist_ok=True)
    (PICTURES / f"{page.path.stem}.svg").unlink(missing_ok=True)
    text = "".join(_run(source, page))
    (FOLDER / page.path.name).write_text(_page(page, _NAMESPACE.sub("", text)), "utf-8")


def _run(source: evidence.Evidence, page: hazards.Page) -> Iterator[str]:
    facts, judgement = run_facts.collect(source.history), source.judgement
    day = facts.date.partition("T")[0]
    subject = escaping.in_markdown(_subject(facts.subject, source.history.plan.defects))
    reason = escaping.in_markdown(judgement.reason)
    yield f"\n**{judgement.verdict}**: {subject}, {facts.cluster}, {day}: {reason}\n\n"
    shown = [card for section in cards.sections_of(source) for card in section.cards]
    first = next((item for item in shown if item.replay), shown[0])
    yield f"{escaping.in_markdown(first.violation.text)}\n\n"
    commands = "\n".join(
        [findings_index.command(page, whole=True), *rendering.commands(source)[:-1]]
    )
    yield f"```\n{commands}\n```\n\n"
    if first.strip and first.replay:
        PICTURES.mkdir(parents=True, exist_ok=True)
        (PICTURES / f"{page.path.stem}.svg").write_text(_picture(first.strip.picture), "utf-8")
        yield f"![Both claims hold the device, over time](pictures/{page.path.stem}.svg)\n\n"
    if first.replay and isinstance(first.violation, verdicts.DoubleAllocation):
        one, two = (escaping.in_markdown(item.name) for item in first.violation.holders)
        yield from _table(_replayed(first.replay), f"Claim A is {one}, claim B is {two}. {_TIMES}")
    else:
        yield from _table(_told(source, first.violation), _TIMES)


def _subject(name: str, defects: Sequence[str]) -> str:
    """Return the programs under test, as people say it who do not know the names of ours."""
    if defects:
        return f"ours, with the defect {name}"
    return re.sub("^(correct|python)(?= |$)", "our scheduler", name)


_TIMES = "A commit has the time at which it was seen."


def _table(moments: Sequence[Moment], about: str) -> Iterator[str]:
    if not moments:
        return
    has_state = any(moment.state for moment in moments)
    yield f"## Moment by moment\n\n{about}\n\n| ms | what happens |"
    yield " what is so from then on |\n|---:|---|---|\n" if has_state else "\n|---:|---|\n"
    for moment in moments[:MOMENTS_MAX]:
        yield f"| {moment.ms} | {moment.text} |{f' {moment.state} |' * has_state}\n"
    if len(moments) > MOMENTS_MAX:
        yield f"| … | {len(moments) - MOMENTS_MAX:,} more |{' |' * has_state}\n"


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
    for step in script_items.steps(source.history):
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
    is_script = bool(script_items.steps(source.history))
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
        return " and ".join(race_states.differing(old, now, known[0]))
    return " and ".join(_of_pod(item, before, content))


def _stored(item: records.Observation, content: Mapping[str, Any]) -> race_states.Stored:
    version = deciding_writes.Version(item.resource_version, item.ts_ns, dict(content), item.type)
    return race_states.stored(version)


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
    """Write the pages."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", nargs="*", help="run directory, or HAZARD=run directory")
    for given in parser.parse_args().run:
        wanted, _, path = given.rpartition("=")
        try:
            show(pathlib.Path(path), wanted)
        except errors.HarnessError as error:
            sys.exit(str(error))
    FOLDER.mkdir(exist_ok=True)
    for path, text in pages().items():
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
