"""Sections of a text for an issue that are about one failed run: versions, moment, writes, logs."""

from collections.abc import Iterator

from harness.checks import verdicts
from harness.history import subject_names
from harness.reproduction.issue import markdown, specimens, text_strips


def scheduler(specimen: specimens.Specimen) -> str:
    """Return the scheduler with its version; ours in words that need no knowledge of Flake Hunt."""
    plan = specimen.plan
    if not subject_names.is_ours(plan):
        return markdown.text(subject_names.of_plan(plan))
    changes = [f"defect {name}" for name in plan.defects]
    changes += [f"remedy {name}" for name in plan.remedies]
    added = f" with {', '.join(changes)}" if changes else ""
    which = f" as {plan.release}" * bool(plan.release) + subject_names.several(plan)
    return markdown.text(f"Flake Hunt's Python port of kube-scheduler{which}{added}")


def versions(specimen: specimens.Specimen) -> Iterator[str]:
    """Yield the versions of everything that ran."""
    yield "## Versions"
    plan = specimen.plan
    own = ("flake-hunt", "commit", "python", "platform")
    rows = {"cluster": plan.cluster, **specimen.cluster_versions}
    rows |= {name: text for name, text in plan.versions.items() if name.startswith("scheduler")}
    rows |= {name: plan.versions[name] for name in own if name in plan.versions}
    yield markdown.table(
        ("component", "version"),
        [[markdown.text(name), markdown.text(version)] for name, version in rows.items()],
    )


def strip(specimen: specimens.Specimen, *, picture: str = "") -> Iterator[str]:
    """Yield a double allocation over time; `picture` is the file of a picture, if there is one."""
    if specimen.strip is None or not isinstance(specimen.violation, verdicts.DoubleAllocation):
        return
    yield "## The moment"
    if picture:
        yield f"![Both claims, the faults and the scheduler's steps over time]({picture})"
    yield f"Times are relative to the moment at which {specimen.strip.zero_meaning}."
    yield markdown.block(text_strips.bars(specimen.violation, specimen.zero_ns), "text")
    if lines := text_strips.steps(specimen.violation, specimen.steps, specimen.zero_ns):
        yield markdown.folded("The scheduler's steps", markdown.block(lines, "text"))


def writes(specimen: specimens.Specimen) -> Iterator[str]:
    """Yield the writes of the claims as a table."""
    if not specimen.writes:
        return
    yield "## The writes of the claims"
    yield "As the API server published them, in the order of their commits:"
    rows = [
        [
            f"{write.resource_version}",
            f"{(write.ts_ns - specimen.zero_ns) / 1e6:+.1f}",
            f"{write.claim.letter} {markdown.code(write.claim.name)}",
            write.event,
            markdown.text(write.state),
        ]
        for write in specimen.writes
    ]
    yield markdown.table(("resourceVersion", "ms", "claim", "event", "state after it"), rows)


def logs(specimen: specimens.Specimen) -> Iterator[str]:
    """Yield the lines of the schedulers' logs that are about the violation."""
    if not specimen.logs:
        return
    yield "## The scheduler's log"
    yield "Lines that name one of the claims, their pods or the device:"
    for excerpt in specimen.logs:
        more = f", {excerpt.left_out} lines left out" if excerpt.left_out else ""
        yield markdown.folded(f"{excerpt.name}{more}", markdown.block(excerpt.lines, "text"))
