"""summary.md: the verdict on a run in Markdown, for a pull request or a job summary."""

from collections.abc import Iterator, Sequence

from harness.checks import threshold_results, verdict_files, verdicts
from harness.report import page_templates, run_facts
from harness.report.escaping import in_markdown

VIOLATIONS_MAX = 10
"""Violations that are listed; the report has more."""
_VERSIONS = ("flake-hunt", "commit")


def render(judgement: verdict_files.Judgement, facts: run_facts.RunFacts) -> str:
    """Return the summary; nothing in it is obeyed as Markdown, and the same run has the same."""
    return "\n".join(_lines(judgement, facts)) + "\n"


def _lines(judgement: verdict_files.Judgement, facts: run_facts.RunFacts) -> Iterator[str]:
    yield (
        f"## {page_templates.SYMBOLS[judgement.verdict]} {judgement.verdict}: "
        f"{in_markdown(judgement.scenario)}, {in_markdown(facts.subject)}"
    )
    yield ""
    yield in_markdown(judgement.reason)
    yield ""
    yield from _violations(judgement)
    yield from _gaps(judgement)
    yield from threshold_lines(judgement.thresholds)
    yield "| | |"
    yield "|---|---|"
    for name, value in _facts(judgement, facts):
        yield f"| {name} | {in_markdown(value)} |"


def _violations(judgement: verdict_files.Judgement) -> Iterator[str]:
    found = [item for check in judgement.checks for item in check.violations]
    for violation in found[:VIOLATIONS_MAX]:
        cause = f" ({violation.attribution})" if violation.attribution else ""
        yield f"- {in_markdown(f'{violation.guarantee}: {violation.summary}{cause}')}"
    left = judgement.figures.violations - min(len(found), VIOLATIONS_MAX)
    if left > 0:
        yield f"- and {left} more"
    if found:
        yield ""


def threshold_lines(found: Sequence[threshold_results.Result]) -> Iterator[str]:
    """Yield a line for each threshold, and an empty one after them."""
    for item in found:
        yield f"- {page_templates.SYMBOLS[item.verdict]} {in_markdown(item.sentence)}"
    if found:
        yield ""


def _gaps(judgement: verdict_files.Judgement) -> Iterator[str]:
    """Yield what is missing; a violation needs none of it."""
    is_open = judgement.verdict is verdicts.Verdict.UNKNOWN
    gaps = list(run_facts.gaps(judgement)) if is_open else []
    yield from (f"- {in_markdown(gap)}" for gap in gaps)
    if gaps:
        yield ""


def _facts(
    judgement: verdict_files.Judgement, facts: run_facts.RunFacts
) -> Iterator[tuple[str, str]]:
    figures = judgement.figures
    yield "run", judgement.run_id
    yield "seed", str(judgement.seed)
    yield "started", facts.date
    yield "cluster", facts.cluster
    for name in _VERSIONS:
        if facts.versions.get(name):
            yield name, facts.versions[name]
    yield "claims", str(figures.claims)
    yield "allocations", str(figures.allocations)
    if figures.allocations_per_s is not None:
        yield "allocations/s", f"{figures.allocations_per_s:g}"
    for name, latency in (
        ("claim to allocation", figures.claim_to_allocation),
        ("pod to Running", figures.pod_to_running),
    ):
        if latency.count:
            yield f"{name}, p50 and p99", f"{latency.p50_ms:g} ms, {latency.p99_ms:g} ms"
