"""Sections of a text for an issue that are about one failed run: versions, moment, writes, logs."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from harness.checks import verdicts
from harness.history import plans, records, subject_names
from harness.model import naming
from harness.report.causes import strips
from harness.reproduction.issue import markdown, specimens

COLUMNS = 64
"""Characters of a bar's full length."""
STEPS_MAX = 120
"""Steps that are listed."""
NAME_MAX = 30
"""Characters of a name on the left."""
_MARGIN = 0.05
"""Share of the time before the first beginning and after the last end."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Bar:
    name: str
    sign: str
    begun_ns: int
    ended_ns: int | None
    """None: to the end of the strip."""


def bars(violation: verdicts.DoubleAllocation, zero_ns: int) -> list[str]:
    """Return a line for each claim and each effect of a fault, and one with the times.

    `zero_ns` is the time that counts as 0 ms.
    """
    drawn = list(_bars(violation))
    begin, end = _span(drawn)
    lines = [f"{bar.name[:NAME_MAX]:<{NAME_MAX}} |{_drawn(bar, begin, end)}|" for bar in drawn]
    first, last = f"{(begin - zero_ns) / 1e6:+.1f} ms", f"{(end - zero_ns) / 1e6:+.1f} ms"
    return [*lines, f"{'':<{NAME_MAX}}  {first:<{COLUMNS // 2}}{last:>{COLUMNS // 2}}"]


def steps(
    violation: verdicts.DoubleAllocation, taken: Sequence[records.Step], zero_ns: int
) -> list[str]:
    """Return the scheduler's steps as lines with aligned columns; empty if there are none.

    Of too many, the last ones.
    """
    rows = strips.rows(violation, taken, zero_ns)[-STEPS_MAX:]
    if not rows:
        return []
    widths = [max(len(str(value)) for value in column) for column in zip(*rows, strict=True)]
    lines = [
        f"{number:>{widths[0]}} {ms:>{widths[1]}} ms  {thread:<{widths[2]}}  {name:<{widths[3]}}  {about}"
        for number, ms, thread, name, about in rows
    ]
    return [line.rstrip() for line in lines]


def _bars(violation: verdicts.DoubleAllocation) -> Iterator[_Bar]:
    for letter, holder in zip("AB", violation.holders, strict=True):
        name = f"{letter} {holder.name} has it"
        yield _Bar(name, "=", holder.allocated_ts_ns, holder.released_ts_ns)
    for effect in violation.faults[: strips.EFFECTS_MAX]:
        yield _Bar(f"fault {effect.fault}", "#", effect.begun_ns, effect.ended_ns)


def _span(drawn: Sequence[_Bar]) -> tuple[int, int]:
    begins = [bar.begun_ns for bar in drawn]
    ends = [bar.ended_ns for bar in drawn if bar.ended_ns is not None]
    begin, end = min(begins), max([*begins, *ends])
    margin = max(int((end - begin) * _MARGIN), 1)
    return begin - margin, end + margin


def _drawn(bar: _Bar, begin: int, end: int) -> str:
    """Return the bar, at least one character long."""
    scale = (COLUMNS - 1) / (end - begin)
    left = round((bar.begun_ns - begin) * scale)
    right = COLUMNS - 1 if bar.ended_ns is None else round((bar.ended_ns - begin) * scale)
    return f"{' ' * left}{bar.sign * (right - left + 1)}".ljust(COLUMNS)


def scheduler(plan: plans.Plan) -> str:
    """Return the scheduler with its version; ours in words that need no knowledge of Flake Hunt."""
    if not subject_names.is_ours(plan):
        return markdown.text(subject_names.of_plan(plan))
    changes = [f"defect {name}" for name in plan.defects]
    changes += [f"remedy {name}" for name in plan.remedies]
    added = f" with {', '.join(changes)}" if changes else ""
    which = f" as {plan.release}" * bool(plan.release) + subject_names.several(plan)
    if controller := plan.versions.get(naming.CLAIM_CONTROLLER):
        added += f" and {controller}"
    return markdown.text(f"Flake Hunt's Python port of kube-scheduler{which}{added}")


_API_SERVERS = {
    "embedded": "embedded: Flake Hunt's own",
    "local": "kube-apiserver on etcd, without nodes",
    "kind": "kube-apiserver of kind",
    "kubeconfig": "that of an existing cluster",
}


def versions(plan: plans.Plan, of_cluster: Mapping[str, str]) -> Iterator[str]:
    """Yield the versions of everything that ran; `of_cluster`: component -> version."""
    yield "## Versions"
    own = ("flake-hunt", "commit", "python", "platform")
    rows = {"scheduler": scheduler(plan)} if subject_names.is_ours(plan) else {}
    rows |= {"API server": markdown.text(_API_SERVERS.get(plan.cluster, plan.cluster))}
    found = dict(of_cluster) | subject_names.versions(plan.versions)
    found |= {name: plan.versions[name] for name in own if name in plan.versions}
    rows |= {markdown.text(name): markdown.text(version) for name, version in found.items()}
    yield markdown.table(("component", "version"), [[*row] for row in rows.items()])


def title(specimen: specimens.Specimen) -> str:
    who = scheduler(specimen.plan)
    if isinstance(specimen.violation, verdicts.DoubleAllocation):
        return f"# {who} allocates one device to two ResourceClaims"
    return f"# {who} breaks the guarantee “{markdown.text(specimen.check.promise)}”"


def moment(specimen: specimens.Specimen, *, picture: str = "") -> Iterator[str]:
    """Yield the moment of the violation: in a sentence, over time, why, and by which faults.

    `picture` is the file of a picture, if there is one.
    """
    violation, strip = specimen.violation, specimen.strip
    yield "## The moment"
    yield markdown.text(violation.text)
    if strip is not None and isinstance(violation, verdicts.DoubleAllocation):
        if picture:
            yield f"![Both claims, the faults and the scheduler's steps over time]({picture})"
        yield markdown.block(bars(violation, specimen.zero_ns), "text")
        yield f"Times are relative to the moment at which {strip.zero_meaning}."
    if specimen.why:
        yield markdown.text(specimen.why)
    if violation.attribution:
        yield f"Faults behind it: {markdown.text(violation.attribution)}."
    if specimen.plan.faults:
        yield "The faults were injected on purpose:"
        yield "\n".join(
            f"- {markdown.code(item.name)}: {markdown.text(item.text)}"
            for item in specimen.plan.faults
        )


def steps_section(specimen: specimens.Specimen) -> Iterator[str]:
    """Yield the scheduler's steps around a double allocation, folded; nothing if there are none."""
    if specimen.strip is None or not isinstance(specimen.violation, verdicts.DoubleAllocation):
        return
    if lines := steps(specimen.violation, specimen.steps, specimen.zero_ns):
        yield markdown.folded("The scheduler's steps", markdown.block(lines, "text"))


def writes(specimen: specimens.Specimen) -> Iterator[str]:
    if not specimen.writes:
        return
    yield "## The writes of the claims"
    yield "As the API server published them, in the order of their commits:"
    rows = [
        [
            f"{version.resource_version}",
            f"{(version.ts_ns - specimen.zero_ns) / 1e6:+.1f}",
            f"{letter} {markdown.code(name)}",
            version.event,
            markdown.text(state),
        ]
        for letter, name, version, state in specimen.writes
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
