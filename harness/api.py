"""Flake Hunt as a library: run a scenario, judge a run directory, hold a cluster.

    from harness import api

    run = api.run("pod-churn", subject=["command=./my-scheduler --kubeconfig {kubeconfig}"])
    assert run.verdict == "VALID", str(run)

The names of this module are public: they change only with the major version. Every function raises
`Error`, whose text says what was expected, what came and what to do.

Plug-ins of other packages use the rest: a `Check` judges the `Evidence` of a run and returns a
`CheckAnswer`, a subject is a `Subject`, a fault gets a `FaultTarget`. docs/how-to/plug-ins.md has
an example of each.
"""

import contextlib
import dataclasses
import pathlib
import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness import errors
from harness.checks import protocol, run_views, verdicts
from harness.extensions import contracts
from harness.tables import columns

if TYPE_CHECKING:
    from harness.checks import verdict_files
    from harness.history import directories

Error = errors.HarnessError
"""Base of all errors; a violation is never one."""
Verdict = verdicts.Verdict
"""`VALID`, `INVALID` or `UNKNOWN`; equal to these strings."""
Check = protocol.Check
Evidence = protocol.Evidence
CheckAnswer = contracts.CheckAnswer
Violation = contracts.Violation
InvolvedObject = contracts.InvolvedObject
RunView = run_views.RunView
Tables = columns.Tables
Hold = run_views.Hold
Subject = contracts.Subject
Fault = contracts.Fault
FaultTarget = contracts.FaultTarget


# Functions import what they need: plug-ins, which use the names above, would wait for a second.


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run that was judged. Printed, it says what was found and where the evidence is."""

    directory: pathlib.Path
    """The run directory; `reports/README.md` documents its files."""
    verdict: Verdict
    reason: str
    """The verdict in one sentence."""
    checks: Mapping[str, Verdict]
    """Name of each check that examined something -> its answer."""
    violations: int
    """Violations of all checks together."""
    seed: int
    thresholds: Mapping[str, Verdict] = dataclasses.field(default_factory=dict)
    """Each threshold of the run, as `--threshold` takes it -> its answer."""

    def __str__(self) -> str:
        return f"{self.verdict}: {self.reason}\n  seed {self.seed}\n  {self.directory}"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A cluster with fake nodes, each with a pool of devices, and a namespace to use."""

    kubeconfig: pathlib.Path
    namespace: str
    nodes: Sequence[str]
    """Names of the fake nodes: `worker-0`, `worker-1`, …; longer on a cluster with other users."""
    device_class: str
    """Name of the DeviceClass of all devices."""


def run(
    scenario: str | pathlib.Path,
    *,
    subject: Sequence[str] = (),
    claim_controller: str = "",
    defects: Sequence[str] = (),
    remedies: Sequence[str] = (),
    overrides: Sequence[str] = (),
    thresholds: Sequence[str] = (),
    cluster: str = "embedded",
    cluster_overrides: Sequence[str] = (),
    binaries: pathlib.Path | None = None,
    until_found: bool = False,
    seed: int | None = None,
    reports: pathlib.Path | str = "reports",
) -> Run:
    """Run a scenario once on its own cluster, judge it and write its report.

    `scenario` is a file or the name of a shipped scenario, `cluster` a profile likewise.
    `subject`, `claim_controller`, `defects`, `remedies`, `overrides` (`key=value`),
    `thresholds`, `cluster_overrides`, `binaries` and `until_found` are the options --subject,
    --claim-controller, --defect, --remedy, --set, --threshold, --cluster KEY=VALUE, the folder of
    programs and --until-found of `flake-hunt run`. `seed` None: a random one. The run directory is
    made in `reports`. Raises Error if the run could not be executed.
    """
    from harness import seeds
    from harness.run import run_plan, runs
    from harness.scenario import loading, profiles

    loaded = loading.load(str(scenario), overrides=overrides, given_thresholds=thresholds)
    plan = run_plan.plan(
        loaded,
        seed=seeds.fresh() if seed is None else seed,
        defects=defects,
        remedies=remedies,
        cluster=profiles.load(cluster, overrides=cluster_overrides),
        until_found=until_found,
        chosen_subjects=subject,
        claim_controller=claim_controller,
        binaries=str(binaries.resolve()) if binaries else "",
    )
    directory = runs.new_directory(plan, pathlib.Path(reports))
    return _judged(directory, runs.run(loaded, plan, directory))


def replay(token: str, *, defects: Sequence[str] | None = None) -> str:
    """Return what an explored run finds, in one sentence; empty: nothing.

    `token` is what `flake-hunt explore` prints; `defects` None: those of the token. Raises Error if
    it is no token.
    """
    from harness.explore.search import search_campaign, tokens

    parsed = tokens.parse(token)
    chosen = parsed.defects if defects is None else tuple(defects)
    return search_campaign.replay(dataclasses.replace(parsed, defects=chosen)).finding or ""


def judge(directory: pathlib.Path | str) -> Run:
    """Judge a run directory from its content alone; nothing in it is changed.

    Raises Error if it is none.
    """
    from harness.checks import judging
    from harness.history import directories

    existing = directories.existing(pathlib.Path(directory))
    return _judged(existing, judging.judge(existing))


def records(directory: pathlib.Path | str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each record of a run's journals with the name of its process, journal by journal.

    `reports/README.md` documents the records; the first of a journal is its header. Raises Error if
    the directory is no run, or if a journal is damaged.
    """
    import msgspec

    from harness.history import directories, journal_reader

    for path in directories.existing(pathlib.Path(directory)).journals():
        reader, header = journal_reader.Reader(path), None
        for record in reader:
            if header is None and reader.header is not None:
                header = reader.header
                yield header.process, msgspec.to_builtins(header)
            if header is not None:
                yield header.process, msgspec.json.decode(msgspec.json.encode(record))


def tables(run: Run | pathlib.Path | str) -> Tables:
    """Return the record of a run as tables of pandas: `api.tables(run).holds`.

    `run` is a run, or its directory; docs/reference/tables.md has the names and columns. Each table
    is read when it is asked for, which raises Error if its journal is damaged. Raises Error if the
    directory is no run.
    """
    return Tables(run.directory if isinstance(run, Run) else pathlib.Path(run))


@contextlib.contextmanager
def cluster(
    directory: pathlib.Path,
    *,
    profile: str = "embedded",
    overrides: Sequence[str] = (),
    nodes: int = 8,
    devices_per_node: int = 2,
) -> Iterator[Cluster]:
    """Start a cluster with device pools and fake kubelets for the `with` block.

    No scheduler and no claim controller run on it. `directory` is an existing folder for its
    kubeconfigs and logs; `profile` and `overrides` are those of --cluster.
    """
    import pydantic

    from harness.cluster import interfaces
    from harness.cluster.lifecycle import held_clusters
    from harness.scenario import pool_specs, possibility, profiles
    from harness.scenario.toml_files import documents

    try:
        spec = pool_specs.PoolsSpec(nodes=nodes, devices_per_node=devices_per_node)
    except pydantic.ValidationError as error:
        details = error.errors(include_url=False)[0]
        raise errors.UsageError(f"{details['loc'][0]}: {documents.expectation(details)}") from None
    for objection in possibility.of_pools(spec):
        raise errors.UsageError(objection)
    name = f"flake-hunt-{secrets.token_hex(4)}"
    request = interfaces.ClusterRequest(name=name, directory=directory)
    chosen = profiles.load(profile, overrides=overrides)
    with held_clusters.held_with_pools(chosen, request, spec) as (running, world):
        yield Cluster(
            kubeconfig=running.user_kubeconfig,
            namespace=world.namespace,
            nodes=tuple(world.nodes),
            device_class=world.device_class,
        )


def _judged(directory: "directories.RunDirectory", judgement: "verdict_files.Judgement") -> Run:
    return Run(
        directory=directory.path,
        verdict=judgement.verdict,
        reason=judgement.reason,
        checks={item.check: item.verdict for item in judgement.checks},
        violations=judgement.figures.violations,
        seed=judgement.seed,
        thresholds={item.text: item.verdict for item in judgement.thresholds},
    )
