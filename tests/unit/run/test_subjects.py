"""Subjects: parsed, resolved for a cluster, and rejected if they cannot work."""

import dataclasses
import pathlib
from typing import Any

import pydantic
import pytest

from harness import errors
from harness.cluster import interfaces
from harness.run import subjects
from harness.scenario import fault_kinds, loading, specs, subject_specs
from tests.stand_ins import commands
from tests.support import cases

BARE, WHOLE = (
    interfaces.Capabilities(),
    interfaces.Capabilities(scheduler=True, claim_controller=True),
)


def resolve(
    *chosen: str, on: interfaces.Capabilities = BARE, **changes: Any
) -> subject_specs.SubjectSpec:
    subject = changes.pop("subject", subject_specs.SubjectSpec())
    return subjects.resolve(of(subject), chosen=chosen, on=on, **changes)


def of(subject: subject_specs.SubjectSpec) -> specs.Scenario:
    return loading.load("pod-churn").scenario.model_copy(update={"subject": subject})


# --------------------------------------------------------------------------------- naming


@pytest.mark.parametrize(("text", "expected"), cases.read(__file__, "forms"))
def test_forms(text: str, expected: dict[str, Any]) -> None:
    parsed = subjects.parse(text)
    assert {key: getattr(parsed, key) for key in expected} == expected


# ------------------------------------------------------------------------------ resolving


def test_several_schedulers_have_names_of_their_own() -> None:
    subject = resolve("python", "external=volcano", "python")
    names = [item.scheduler_name for item in subject.schedulers]
    assert names == ["flake-hunt", "volcano", "flake-hunt-3"]
    assert [*dict(subjects.schedulers(subject))] == ["scheduler", "scheduler-2", "scheduler-3"]
    assert subjects.python_parts(subject) == ["scheduler", "scheduler-3", "claim-controller"]
    assert subjects.title(subject) == "python + external + python"


def test_a_program_that_is_not_told_its_name_gets_the_pods_of_kubernetes() -> None:
    told, untold = (
        resolve(f"command=true {{kubeconfig}}{name}") for name in (" {scheduler_name}", "")
    )
    assert told.schedulers[0].scheduler_name == "flake-hunt"
    assert untold.schedulers[0].scheduler_name == "default-scheduler"
    own = dataclasses.replace(BARE, scheduler=True)
    with pytest.raises(errors.UsageError, match=r"expected \{scheduler_name\} in the command"):
        resolve("command=true {kubeconfig}", on=own)
    resolve("command=true {scheduler_name}", on=own)


def test_schedulers_with_leader_election_share_a_name() -> None:
    subject = subject_specs.SubjectSpec(leader_election=True)  # type: ignore[arg-type]
    found = resolve("python", "python", subject=subject)
    assert [item.scheduler_name for item in found.schedulers] == ["flake-hunt"] * 2


@pytest.mark.parametrize(
    "times",
    [
        {"lease_duration_s": 10},
        {"renew_deadline_s": 2.3},
        {"lease_duration_s": 0, "renew_deadline_s": 0.1, "retry_period_s": 0.01},
    ],
)
def test_durations_that_client_go_rejects(times: dict[str, float]) -> None:
    with pytest.raises(pydantic.ValidationError, match="lease_duration_s"):
        subject_specs.LeaderElectionSpec(**times)  # type: ignore[arg-type]


def test_the_clusters_own_claim_controller_is_taken_where_there_is_one() -> None:
    assert resolve(on=WHOLE).claim_controller == "cluster"
    assert subjects.python_parts(resolve(on=WHOLE)) == ["scheduler"]
    wanted = subject_specs.SubjectSpec(claim_controller="python")
    assert resolve(subject=wanted).claim_controller == "python"


def test_the_version_and_path_of_kube_scheduler_are_found(tmp_path: pathlib.Path) -> None:
    path = commands.install(tmp_path, "kube-scheduler")
    subject = resolve("kube-scheduler", folder=str(tmp_path))
    (scheduler,) = subject.schedulers
    assert isinstance(scheduler, subject_specs.KubeScheduler)
    assert scheduler.binary == str(path)
    assert subjects.versions(of(subject)) == {"scheduler": "kube-scheduler v1.36.4"}


@pytest.mark.parametrize(("text", "version"), cases.read(__file__, "versions"))
def test_a_kube_scheduler_is_chosen_by_its_version(
    tmp_path: pathlib.Path, text: str, version: str
) -> None:
    for there in ("1.34.2", "1.36.9", "1.36.10"):
        kube_scheduler(tmp_path, f"v{there}", name=f"kube-scheduler-{there}")
    subject = resolve(text, folder=str(tmp_path))
    (scheduler,) = subject.schedulers
    assert isinstance(scheduler, subject_specs.KubeScheduler)
    assert scheduler.binary == str(tmp_path / f"kube-scheduler-{version}")
    assert subjects.versions(of(subject)) == {"scheduler": f"kube-scheduler v{version}"}


def test_an_old_kube_scheduler_is_known_by_what_it_prints(tmp_path: pathlib.Path) -> None:
    kube_scheduler(tmp_path, "v1.33.13", name="my-scheduler")
    subject = resolve(f"kube-scheduler={tmp_path}/my-scheduler")
    with pytest.raises(errors.UsageError, match=r"kube-scheduler v1\.34\.0 or newer, got v1\.33"):
        subjects.versions(of(subject))
    (tmp_path / "my-scheduler").write_text("#!/bin/sh\necho my scheduler v0.3.1\n")
    assert subjects.versions(of(subject)) == {"scheduler": "kube-scheduler v0.3.1"}


def kube_scheduler(
    tmp_path: pathlib.Path, version: str, *, name: str = "kube-scheduler", **more: Any
) -> subject_specs.KubeScheduler:
    path = tmp_path / name
    path.write_text(f"#!/bin/sh\necho Kubernetes {version}\n")
    path.chmod(0o755)
    return subject_specs.KubeScheduler(kind="kube-scheduler", binary=str(path), **more)


def test_a_fault_of_lists_alone_asks_for_lists() -> None:
    on = {"role": "scheduler", "verbs": ["list"]}
    fault = fault_kinds.one({"kind": "reject", "code": 503, "on": on})
    loaded = loading.load("pod-churn").scenario
    assert not subjects.needs_lists(loaded)
    assert subjects.needs_lists(loaded.model_copy(update={"faults": [fault]}))


@pytest.mark.parametrize("case", cases.read(__file__, "gates"), ids=str)
def test_programs_get_the_feature_gates_that_the_scenario_needs(
    tmp_path: pathlib.Path, case: dict[str, Any]
) -> None:
    """Whatever the file of the program is called."""
    loaded = loading.load(case["scenario"], overrides=case.get("set", ())).scenario
    program = kube_scheduler(tmp_path, case["version"], feature_gates=case.get("given", {}))
    changed: dict[str, Any] = {"schedulers": [program, subject_specs.PythonScheduler()]}
    if is_controller := case.get("part") == "claim-controller":
        manager = subject_specs.KubeControllerManager(
            kind="kube-controller-manager",
            binary=program.binary,
            feature_gates=program.feature_gates,
        )
        changed = {"claim_controller": manager}
    subject = loaded.subject.model_copy(update=changed)
    if "says" in case:
        with pytest.raises(errors.UsageError, match=case["says"]):
            subjects.with_gates(subject, loaded)
        return
    found = subjects.with_gates(subject, loaded)
    made: Any = found.claim_controller if is_controller else found.schedulers[0]
    assert made.feature_gates == case["gates"]
    variables = {"KUBE_FEATURE_WatchListClient": "false"} if loaded.name == "stale-list" else {}
    assert subjects.environment(loaded) == variables


def test_a_commands_version(tmp_path: pathlib.Path) -> None:
    scheduler = subject_specs.CommandScheduler(
        kind="command", command=["sh"], version_command=["sh", "-c", "echo volcano 1.9.3"]
    )
    subject = resolve(subject=subject_specs.SubjectSpec(schedulers=[scheduler]))
    assert subjects.versions(of(subject)) == {"scheduler": "v1.9.3"}
