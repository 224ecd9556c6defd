"""The runs of a campaign, decided before the first of them: campaign.json."""

import functools
import pathlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from harness import clocks, errors, seeds, writing
from harness.campaign.programs import fitting, tested_programs
from harness.cluster import interfaces, providers
from harness.history import files, plans, results, subject_names
from harness.history.purposes import Purpose
from harness.model import naming
from harness.run import run_plan, thread_plans
from harness.run.defects import defect_records, known_defects
from harness.scenario import hazards, loading, profiles, specs, threshold_specs

SCHEMA_VERSION = 2
PYTHON = subject_names.PYTHON
"""The subject of controls and remedies, as `--subject` takes it."""
AROUND_S = 6.0
"""Seconds of a run on the embedded cluster beside its load: its processes start, pods end, files
are judged."""
HOLD_EVERY, HOLD_SHARE = 3, 0.05
"""Every third run of a program in Go holds threads, at this share of the visits of places."""
PODS_PER_S = 100
"""Pods of a load without a duration that run in a second."""


class PlannedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run to be executed."""

    number: int = 0
    """Its number in the plan, from 1; 0 in plans of older versions."""
    scenario: str
    title: str
    """The scenario's name, for tables."""
    purpose: Purpose = Purpose.SUBJECT
    defects: list[str] = []
    remedies: list[str] = []
    release: str = ""
    """The release that the Python subject is like; empty: the default."""
    hypothesis: str = ""
    """Name of the hazard, such as `H1`; empty unless the purpose is HAZARD or REMEDY."""
    subjects: list[str] = []
    """Schedulers that replace the scenario's; empty: the scenario's own.

    Controls and remedies always use the Python subject, because only that has them.
    """
    claim_controller: str = ""
    """Claim controller that replaces the scenario's; empty: the scenario's own."""
    tested: str = ""
    """Name of the schedulers for tables, with their versions; empty: the Python subject."""
    thresholds: list[str] = []
    """Thresholds as options take them, in place of the scenario's own, with those per campaign."""
    may_hold_threads: bool = False
    """Threads of its schedulers are held at random if its seed says so."""
    repetition: int
    seed: int
    shard: int = 0
    """Number of its shard in a plan for many machines, from 1; 0: it is in none."""
    estimate_s: float = 1.0
    """Seconds that it takes on a machine with nothing else to do, as far as that is known."""

    @property
    def kind(self) -> results.Kind:
        return self.purpose, self.title, self.subject, self.hypothesis

    @property
    def subject(self) -> str:
        if self.tested:
            return self.tested
        base = PYTHON if self.remedies else subject_names.CORRECT
        if self.release:
            base = f"{PYTHON} as {self.release}"
        return " + ".join([", ".join(self.defects) or base, *self.remedies])

    @property
    def holds_threads(self) -> bool:
        """True if threads of its schedulers are held at random, as in a third of such runs."""
        return self.may_hold_threads and self.seed % HOLD_EVERY == 0

    @property
    def shows_otherwise(self) -> bool:
        """True if its defects, or its hazard, show in other ways than by double allocations."""
        page = hazards.find(self.hypothesis)
        if page is not None and hazards.DOUBLE_ALLOCATION not in page.hazard.kinds:
            return True
        return known_defects.show_otherwise(self.defects)

    @property
    def id(self) -> str:
        """Identifies the run within the campaign, in pytest's form: `name[parameters]`."""
        return f"{self.title}[{self.subject}-{self.repetition}]"

    def result(self, **said: Any) -> results.RunResult:
        return results.RunResult(
            number=self.number,
            scenario=self.title,
            subject=self.subject,
            purpose=self.purpose,
            hypothesis=self.hypothesis,
            shows_otherwise=self.shows_otherwise,
            held_threads=self.holds_threads,
            **said,
        )


class CampaignPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is decided before the first run."""

    schema: int = SCHEMA_VERSION
    seed: int
    reports: str
    cluster: dict[str, Any]
    """The cluster profile after overrides, as a plain document; each worker has its own cluster."""
    jobs: int = 0
    """Number of runs that are made at once; 0: one, without a worker process for it."""
    pid: int = 0
    """The process that makes the campaign; 0 in plans of older versions."""
    boot_id: str = ""
    started: str = ""
    """Time in UTC, `2026-01-31T23:59:59Z`; empty in plans of older versions."""
    minutes: float = 0.0
    """Time budget; 0: there is none, and every run is made."""
    deadline_ns: int | None = None
    """Monotonic time of this boot at which no run goes on; None: there is none."""
    exit_first: bool = False
    selection: list[str] = []
    """Sentences that say which runs were left out of the plan on purpose."""
    left_out: dict[str, str] = {}
    """Scenarios that the cluster cannot run, with the reason."""
    failed_in: str = ""
    """Name of the campaign whose failed runs these are; empty: they are no such choice."""
    plan_digest: str = ""
    """Digest of the plan over machines that it is of; empty: of none."""
    shard: int = 0
    """Number of its shard in that plan, from 1; 0: it has all."""
    shards: int = 0
    done: list[int] = []
    """Numbers of runs that are not executed, because the campaign's folder has their results."""
    again: list[str] = []
    """Arguments of `flake-hunt` that repeat the campaign; empty if no command does."""
    versions: dict[str, str] = {}
    program: tested_programs.TestedProgram | None = None
    """The program of a test; None: a hunt."""
    runs: list[PlannedRun]

    @property
    def is_part(self) -> bool:
        """True for a shard: the merge of all judges the thresholds per campaign."""
        return self.shard > 0

    @property
    def kinds(self) -> dict[results.Kind, PlannedRun]:
        first: dict[results.Kind, PlannedRun] = {}
        for run in self.runs:
            first.setdefault(run.kind, run)
        return first


def plan(
    scenarios: Sequence[str],
    *,
    seed: int,
    repeat: int,
    repeat_controls: int,
    reports: pathlib.Path,
    cluster: profiles.Profile | None = None,
    defects: Sequence[str] | None = None,
    subjects: Sequence[str] = (),
    claim_controller: str = "",
    remedies: Sequence[str] = (),
    release: str = "",
    again: Sequence[str] = (),
    program: tested_programs.TestedProgram | None = None,
    thresholds: Sequence[str] = (),
    leaves_out: bool = False,
    load: Callable[[str], loading.Loaded] | None = None,
) -> CampaignPlan:
    """Return the plan of a campaign.

    `defects` None: the controls that the scenarios name. `cluster` None: embedded clusters.
    `subjects` and `claim_controller` replace those of the scenarios in all runs except controls;
    `remedies` change the Python scheduler in these runs, and `release` makes it like that one.
    `again` are the arguments of `flake-hunt` that repeat the campaign. `program` takes the place of
    `subjects`. `thresholds` are options, in place of the scenarios' own. With `leaves_out`,
    scenarios that cannot work are left out, if others can. `load` loads a scenario.

    Raises ScenarioError or UsageError for runs that cannot work.
    """
    known_defects.require_known(defects or ())
    profile = cluster or profiles.load("embedded")
    random = seeds.Seeds(seed)
    runs: list[PlannedRun] = []
    versions: dict[str, str] = {}
    left_out: dict[str, str] = {}
    first: errors.HarnessError | None = None
    load = load or functools.partial(loading.load, given_thresholds=thresholds)
    for name in scenarios:
        loaded = load(name)
        if program is not None:
            subjects = subjects_of(program, loaded.scenario)
        try:
            resolved = run_plan.plan(
                loaded,
                seed=seed,
                remedies=remedies,
                release=release,
                cluster=profile,
                chosen_subjects=subjects,
                claim_controller=claim_controller,
            )
        except (errors.UsageError, errors.ScenarioError) as error:
            first = first or error
            left_out[loaded.scenario.name] = str(error)
            if not leaves_out or len(left_out) == len(scenarios):
                raise first from None
            continue
        versions |= resolved.versions
        may_hold = program is not None and thread_plans.can_be_held(run_plan.scenario_of(resolved))
        asked = PlannedRun(
            scenario=name,
            title=loaded.scenario.name,
            remedies=list(remedies),
            release=release,
            hypothesis=resolved.known_to_fail,
            subjects=list(subjects),
            claim_controller=claim_controller,
            tested=subject_names.of_plan(resolved),
            thresholds=_thresholds(resolved, thresholds),
            repetition=0,
            seed=0,
            estimate_s=_estimate_s(loaded.scenario),
        )
        kinds = _kinds(
            asked,
            loaded.scenario,
            defects=fitting.controls(program, loaded.scenario) if program else defects,
            program=program,
            on=providers.of(profile).capabilities,
        )
        for kind in kinds:
            times = repeat_controls if kind.purpose is Purpose.CONTROL else repeat
            holds = may_hold and kind.purpose is Purpose.SUBJECT
            for number in range(times):
                drawn = random.derive(kind.title, *kind.defects, *kind.remedies, number)
                runs.append(
                    msgspec.structs.replace(
                        kind, may_hold_threads=holds, repetition=number, seed=drawn
                    )
                )
    if not runs:
        raise errors.UsageError("expected at least one run: raise --repeat or --repeat-controls")
    longest_first = sorted(runs, key=lambda run: (run.purpose.must_fail, run.repetition))
    return CampaignPlan(
        seed=seed,
        reports=str(reports.resolve()),
        cluster=profile.model_dump(mode="json"),
        started=clocks.wall_text(),
        again=list(again),
        left_out=left_out,
        selection=[f"{name} left out: {why}" for name, why in left_out.items()],
        versions=versions,
        program=program,
        runs=[
            msgspec.structs.replace(run, number=number)
            for number, run in enumerate(longest_first, start=1)
        ],
    )


def _kinds(
    asked: PlannedRun,
    scenario: specs.Scenario,
    *,
    defects: Sequence[str] | None,
    program: tested_programs.TestedProgram | None,
    on: interfaces.Capabilities,
) -> Iterator[PlannedRun]:
    """Yield one run of each kind that a scenario needs; they still lack repetition and seed.

    `asked` is the run of the tested subject. A scenario with remedies but without a hypothesis
    fails now and then without them: only chosen subjects and releases run it so.
    """
    hypothesis, remedies = asked.hypothesis, set(scenario.remedies)
    own = _controller_of_controls(scenario, asked.claim_controller)
    is_mended = bool(remedies) and remedies <= set(asked.remedies)
    is_hazard = hazards.fails_correct_subject(hypothesis) or hypothesis != scenario.known_to_fail
    is_theirs = program is not None and program.kind != PYTHON
    purpose = _of_hazard(scenario, program) if is_hazard else Purpose.SUBJECT
    is_other = bool(asked.subjects or asked.claim_controller or asked.release)
    if scenario.known_to_fail or is_other or is_mended or not remedies:
        yield msgspec.structs.replace(asked, purpose=Purpose.REMEDY if is_mended else purpose)
    ours = msgspec.structs.replace(
        asked, remedies=[], release="", subjects=[PYTHON], claim_controller=own, tested=""
    )
    if remedies and not is_mended and not is_theirs:
        yield msgspec.structs.replace(ours, purpose=Purpose.REMEDY, remedies=scenario.remedies)
    chosen = controls(scenario, on, own) if defects is None else defects
    known_defects.require_known(chosen)
    for defect in chosen:
        yield msgspec.structs.replace(
            ours,
            purpose=Purpose.CONTROL,
            hypothesis="",
            defects=[defect],
            estimate_s=defect_records.seconds(defect, scenario.name) or ours.estimate_s,
        )


def _estimate_s(scenario: specs.Scenario) -> float:
    traffic = scenario.traffic
    pods_s = getattr(traffic, "pods", 0) / PODS_PER_S
    load_s = getattr(traffic, "duration_s", None)
    return AROUND_S + pods_s + (traffic.longest_s if load_s is None else load_s)


def subjects_of(program: tested_programs.TestedProgram, scenario: specs.Scenario) -> list[str]:
    """Return the schedulers of a test: the program, as often as the scenario has schedulers."""
    if program.kind == PYTHON:
        return []
    return [program.subject] * len(scenario.subject.schedulers)


def _of_hazard(scenario: specs.Scenario, program: tested_programs.TestedProgram | None) -> Purpose:
    if program is None:
        return Purpose.HAZARD
    must_survive = {"all", scenario.known_to_fail} & {*program.must_survive}
    if must_survive:
        return Purpose.SUBJECT
    return Purpose.HAZARD if program.kind == PYTHON else Purpose.ASKED


def _thresholds(resolved: plans.Plan, given: Sequence[str]) -> list[str]:
    options = {(spec.metric, spec.per) for spec in threshold_specs.with_options((), given)}
    return [
        threshold.text
        for threshold in resolved.thresholds
        if threshold.per == "campaign" or (threshold.metric, threshold.per) in options
    ]


def _controller_of_controls(scenario: specs.Scenario, chosen: str) -> str:
    """Return the claim controller of controls and remedies: ours, unless one works already."""
    setting = scenario.subject.claim_controller
    if "external" in (chosen, setting):
        return "external"
    return "" if isinstance(setting, str) else PYTHON


def controls(
    scenario: specs.Scenario, on: interfaces.Capabilities, claim_controller: str = ""
) -> list[str]:
    """Return the defects that a scenario names as controls and that can be enabled on a cluster.

    Only our claim controller has known defects; it does not run where another one works already.
    """
    named, is_theirs = scenario.controls, on.claim_controller or claim_controller == "external"
    impossible = known_defects.of_part(named, naming.CLAIM_CONTROLLER) if is_theirs else []
    return [name for name in named if name not in impossible]


def resolve(
    plan: CampaignPlan, run: PlannedRun, *, attempt: int = 0
) -> tuple[loading.Loaded, plans.Plan]:
    """Return the scenario of a run, and the plan of an attempt; each has a seed of its own."""
    overrides = [f"subject.hold_threads={HOLD_SHARE}"] if run.holds_threads else []
    loaded = loading.load(run.scenario, overrides=overrides, given_thresholds=run.thresholds)
    resolved = run_plan.plan(
        loaded,
        seed=seeds.Seeds(run.seed).derive(attempt) if attempt else run.seed,
        defects=run.defects,
        remedies=run.remedies,
        release=run.release,
        cluster=profiles.restore(plan.cluster),
        until_found=run.purpose.must_fail,
        chosen_subjects=run.subjects,
        claim_controller=run.claim_controller,
    )
    return loaded, resolved


def as_they_are_now(
    plan: CampaignPlan, runs: Sequence[PlannedRun]
) -> tuple[list[PlannedRun], dict[str, str]]:
    """Return the runs with the names that their schedulers have now, and all versions."""
    found: dict[bytes, plans.Plan] = {}
    named = []
    for run in runs:
        settings = (run.scenario, run.subjects, run.claim_controller, run.remedies, run.release)
        key = msgspec.json.encode(settings)
        if run.tested and key not in found:
            found[key] = resolve(plan, run)[1]
        tested = subject_names.of_plan(found[key]) if run.tested else ""
        named.append(msgspec.structs.replace(run, tested=tested))
    versions = {name: text for one in found.values() for name, text in one.versions.items()}
    return named, plan.versions | versions


def write(path: pathlib.Path, plan: CampaignPlan) -> None:
    writing.replace(path, msgspec.json.format(msgspec.json.encode(plan), indent=2) + b"\n")


def read(path: pathlib.Path) -> CampaignPlan:
    """Read campaign.json; raise HistoryError if it is damaged."""
    try:
        return files.decoded(files.read_small(path), CampaignPlan)
    except errors.HistoryError as error:
        raise errors.HistoryError(f"{path}: expected the plan of a campaign ({error})") from error
