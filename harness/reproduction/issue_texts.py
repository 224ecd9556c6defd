"""The text to paste into a Kubernetes issue, about one failed run, and perhaps its reproduction."""

import dataclasses
import shlex
from collections.abc import Iterator, Mapping, Sequence

from harness import errors, rates
from harness.checks import judging, verdicts
from harness.history import plans, run_folders, subject_names
from harness.model import naming
from harness.report import evidence
from harness.report.redaction import texts
from harness.reproduction import markdown, scenario_files, smaller_scenarios, specimens
from harness.scenario import hazards, specs, subject_specs, traffic_specs


def sizes(scenario: specs.Scenario) -> str:
    """Return `2 claims, 1 device on 1 node, 1 user, 2 faults`."""
    pools, traffic = scenario.pools, scenario.traffic
    devices = verdicts.counted(pools.device_count, "device")
    parts = [
        f"{devices} on {verdicts.counted(pools.nodes, 'node')}",
        verdicts.counted(traffic.users, "user"),
        verdicts.counted(len(scenario.faults), "fault"),
    ]
    if isinstance(traffic, traffic_specs.AllAtOnceTraffic):
        parts.insert(0, verdicts.counted(traffic.pods, "claim"))
    return ", ".join(parts)


def _compared(original: specs.Scenario, smallest: specs.Scenario) -> list[list[str]]:
    """Return name, size in the original and in the smallest, as cells of a Markdown table."""
    before, now = _sizes(original), _sizes(smallest)
    rows = ((name, size, now.get(name, "none")) for name, size in before.items())
    return [[*map(markdown.text, row)] for row in rows]


def _sizes(scenario: specs.Scenario) -> dict[str, str]:
    axes = [*smaller_scenarios.axes(scenario), *smaller_scenarios.part_axes(scenario)]
    sizes = {axis.name: f"{axis.value:g}" for axis in axes if "same load" not in axis.name}
    return sizes | {"faults": ", ".join(name for name, _ in scenario.named_faults) or "none"}


SIZE_MAX = 60_000
"""Characters of the text; GitHub accepts 65,536."""
_STORY_MAX = 60
"""Sentences of the story."""
_API_SERVERS = {
    "embedded": "embedded: Flake Hunt's own",
    "local": "kube-apiserver on etcd, without nodes",
    "kind": "kube-apiserver of kind",
    "kubeconfig": "that of an existing cluster",
}
_BINARIES = (subject_specs.KubeScheduler, subject_specs.KubeControllerManager)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """The result of a reproduction."""

    original: specs.Scenario
    scenario: specs.Scenario
    """The smallest scenario that still fails."""
    rate: rates.Rate
    is_interrupted: bool = False
    """True if the search was interrupted: a smaller scenario may exist."""


def text(examination: judging.Examination) -> str:
    """Return the text, in Markdown without secrets and without paths of the machine.

    It begins at the moment of the violation. Parts that do not fit are left out, the last ones
    first. Raises UsageError for a run without a violation.
    """
    judgement = examination.judgement
    broken = [item for item in judgement.checks if item.violations]
    if not broken:
        raise errors.UsageError(
            f"expected a run with a violation for --issue, got one that is {judgement.verdict}: "
            f"{judgement.reason}"
        )
    return of(specimens.of(evidence.Evidence(examination), broken[0].check))


def of(specimen: specimens.Specimen, found: Findings | None = None) -> str:
    """Return the text about a violation; `found` is its reproduction."""
    parts = list(_parts(specimen, found))
    kept: list[str] = []
    size = 0
    for part in parts:
        size += len(part) + 2
        if size > SIZE_MAX:
            left_out = len(parts) - len(kept)
            kept.append(f"({verdicts.counted(left_out, 'part')} left out, see the run's report.)")
            break
        kept.append(part)
    return "\n\n".join(kept) + "\n"


def _parts(specimen: specimens.Specimen, found: Findings | None) -> Iterator[str]:
    who, source = _scheduler(specimen.plan), specimen.source
    if isinstance(specimen.violation, verdicts.DoubleAllocation):
        yield f"# {who} allocates one device to two ResourceClaims"
    else:
        yield f"# {who} breaks the guarantee “{markdown.text(specimen.check.promise)}”"
    yield from _moment(specimen)
    yield from _objects(specimen)
    yield "Expected, and violated:"
    yield "\n".join(
        f"- {markdown.text(check.promise)} ({verdicts.counted(check.violation_count, 'violation')})"
        for check in source.judgement.checks
        if check.violations
    )
    if found:
        yield from _how_often(found)
    yield from _versions(source)
    yield from _how_to_run(specimen.plan, found) if found else _repeating(specimen.plan)
    yield from _story(specimen)
    yield from _writes(specimen)
    yield from _logs(specimen)


def _scheduler(plan: plans.Plan) -> str:
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


def _moment(specimen: specimens.Specimen) -> Iterator[str]:
    violation = specimen.violation
    yield "## The moment"
    yield markdown.text(violation.text)
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


def _objects(specimen: specimens.Specimen) -> Iterator[str]:
    found = specimens.yaml_of(specimen.violation, specimen.stored)
    if not found:
        return
    is_double = isinstance(specimen.violation, verdicts.DoubleAllocation)
    version = specimens.moment(specimen.violation)
    then = f"at resourceVersion {version}" if version is not None else "at the end"
    yield "## The two claims" if is_double else "## The objects"
    yield f"As they were stored {then}, shortened:"
    yield markdown.block("\n---\n".join("\n".join(lines) for lines in found).splitlines(), "yaml")


def _how_often(found: Findings) -> Iterator[str]:
    yield "## How often"
    yield (
        f"It failed in **{found.rate.failed} of {found.rate.runs} runs** of the scenario below, each with "
        f"another seed. The exact (Clopper-Pearson) {rates.CONFIDENCE:.0%} confidence interval of the "
        f"rate is {rates.span(*found.rate.interval, '% to ')}%."
    )
    if found.is_interrupted:
        yield "The search for a smaller scenario was interrupted; there may be one."
    rows = _compared(found.original, found.scenario)
    yield markdown.table(("", "original scenario", "this scenario"), rows)


def _versions(source: evidence.Evidence) -> Iterator[str]:
    plan = source.history.plan
    yield "## Versions"
    rows = {"scheduler": _scheduler(plan)} if subject_names.is_ours(plan) else {}
    rows |= {"API server": markdown.text(_API_SERVERS.get(plan.cluster, plan.cluster))}
    found = run_folders.cluster_versions(source.history.directory.path)
    found |= subject_names.versions(plan.versions)
    own = ("flake-hunt", "commit", "python", "platform")
    found |= {name: plan.versions[name] for name in own if name in plan.versions}
    rows |= {markdown.text(name): markdown.text(version) for name, version in found.items()}
    yield markdown.table(("component", "version"), rows.items())


def _how_to_run(plan: plans.Plan, found: Findings) -> Iterator[str]:
    yield "## How to run it"
    yield (
        f"Install Flake Hunt and save this as `{scenario_files.FILE}`. "
        "Exit code 10 means that the violation was found."
    )
    lines = scenario_files.text(found.scenario).splitlines()
    yield markdown.folded(scenario_files.FILE, markdown.block(lines, "toml"))
    words = ["run", scenario_files.FILE, *["--until-found"] * plan.until_found]
    words += [word for name in plan.defects for word in ("--defect", name)]
    words += [word for name in plan.remedies for word in ("--remedy", name)]
    if plan.cluster != "embedded":
        words += ["--cluster", str(plan.cluster_profile.get("name", plan.cluster))]
    yield markdown.block([_command(words)], "sh")
    subject = found.scenario.subject
    parts = (*subject.schedulers, subject.claim_controller)
    needed = dict.fromkeys(item.kind for item in parts if isinstance(item, _BINARIES))
    if needed:
        yield f'It needs {" and ".join(needed)} in `"$KUBEBUILDER_ASSETS"`.'


def _repeating(plan: plans.Plan) -> Iterator[str]:
    token = str(plan.settings.get("token") or "")
    words = ["replay", token] if token else plan.again
    if not words:
        return
    yield "## Repeat it"
    version, commit = plan.versions.get("flake-hunt", ""), plan.versions.get("commit", "")
    lines = [f"pip install flake-hunt=={version}" + f"  # or its commit {commit}" * bool(commit)]
    yield markdown.block([*lines, _command(words)], "sh")
    yield (
        f"Scenario {markdown.code(plan.scenario)}, seed {plan.seed}; exit code 10 means that it was "
        "found. A race may need several tries."
    )
    traffic = plan.settings.get("traffic")
    is_script = isinstance(traffic, Mapping) and traffic.get("profile") == "script"
    page = hazards.find(plan.known_to_fail)
    if page is not None and hazards.scripts(page.hazard) and not is_script:
        yield (
            f"Without luck, `flake-hunt confirm {page.hazard.id}`, with the same options of the "
            "subject: it commands the order of the events."
        )


def _command(words: Sequence[str]) -> str:
    return shlex.join(["flake-hunt", *(texts.program(word) for word in words)])


def _story(specimen: specimens.Specimen) -> Iterator[str]:
    if specimen.strip is None or not specimen.strip.story:
        return
    sentences = specimen.strip.story[-_STORY_MAX:]
    lines = [
        f"{number}. {markdown.text(text)}" for number, (_, text) in enumerate(sentences, start=1)
    ]
    title = f"The scheduler's steps in sentences; at 0 ms {specimen.strip.zero_meaning}"
    yield markdown.folded(title, "\n".join(lines))


def _writes(specimen: specimens.Specimen) -> Iterator[str]:
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


def _logs(specimen: specimens.Specimen) -> Iterator[str]:
    if not specimen.logs:
        return
    yield "## The scheduler's log"
    yield "Lines that name one of the claims, their pods or the device:"
    for excerpt in specimen.logs:
        more = f", {excerpt.left_out} lines left out" if excerpt.left_out else ""
        yield markdown.folded(f"{excerpt.name}{more}", markdown.block(excerpt.lines, "text"))
