"""The commands that run a reproduction's scenario on each kind of cluster that can show it."""

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from harness import errors
from harness.cluster import interfaces, providers
from harness.cluster.local import binaries
from harness.history import plans
from harness.run import fault_planning
from harness.scenario import profiles, specs, subject_specs

FILE = "scenario.toml"
"""Name of the scenario's file in the folder."""
_FOLDER = '"$KUBEBUILDER_ASSETS"'
_MINOR = re.compile(r"v?(1\.\d+)\.\d+")


class Instruction(NamedTuple):
    """How to run the scenario on one kind of cluster."""

    title: str
    needs: str
    """Requirements of the machine, in a sentence."""
    command: str


def instructions(
    scenario: specs.Scenario, plan: plans.Plan, versions: Mapping[str, str]
) -> Iterator[Instruction]:
    """Yield an instruction for each kind of cluster on which the scenario can run.

    `plan` and `versions` are those of a run of it.
    """
    base = shlex.join(["flake-hunt", "run", FILE, *_options(plan)])
    programs = _programs(scenario.subject)
    scheduler = f"{' and '.join(programs)} in {_FOLDER}, " if programs else ""
    clusters = {
        "embedded": ("Embedded API server", "no cluster: the API server is Flake Hunt's own"),
        "local": (
            "etcd and kube-apiserver of envtest",
            f"etcd and kube-apiserver: {binaries.REMEDY}",
        ),
        _kind_profile(versions): ("kind", "Docker and kind; `flake-hunt doctor kind` checks them"),
    }
    for name, (title, needs) in clusters.items():
        if _is_possible(scenario, profiles.load(name)):
            option = "" if name == "embedded" else f" --cluster {name}"
            yield Instruction(title, f"Needs {scheduler}{needs}.", base + option)
    if any(item.kind == "external" for item in scenario.subject.schedulers):
        yield Instruction(
            "Your own cluster",
            "Needs a cluster for tests that runs the scheduler.",
            f"{base} --cluster kubeconfig --cluster context=CONTEXT",
        )


def _programs(subject: subject_specs.SubjectSpec) -> list[str]:
    parts = [*subject.schedulers, subject.claim_controller]
    kinds = (subject_specs.KubeScheduler, subject_specs.KubeControllerManager)
    return list(dict.fromkeys(item.kind for item in parts if isinstance(item, kinds)))


def _is_possible(scenario: specs.Scenario, profile: profiles.Profile) -> bool:
    """Return whether clusters of this profile have what the subject and the faults need."""
    on = providers.capabilities(profile)
    kinds = {item.kind for item in scenario.subject.schedulers}
    if "external" in kinds or ("cluster" in kinds and not on.scheduler):
        return False
    resolved = _resolved(scenario, on)
    if resolved is None:
        return False
    try:
        fault_planning.plan(resolved, seed=0, on=on, provider=profile.provider)
    except errors.UsageError:
        return False
    return True


def _resolved(scenario: specs.Scenario, on: interfaces.Capabilities) -> specs.Scenario | None:
    """Return the scenario with the claim controller of a run on such a cluster; None: none is."""
    controller = scenario.subject.claim_controller
    if controller == "auto":
        controller = "cluster" if on.claim_controller else "python"
    elif on.claim_controller or controller == "external":
        return None
    subject = scenario.subject.model_copy(update={"claim_controller": controller})
    return scenario.model_copy(update={"subject": subject})


def _options(plan: plans.Plan) -> Iterator[str]:
    if plan.until_found:
        yield "--until-found"
    for name in plan.defects:
        yield from ("--defect", name)
    for name in plan.remedies:
        yield from ("--remedy", name)


def _kind_profile(versions: Mapping[str, str]) -> str:
    """Return the shipped kind profile of the first Kubernetes version named; or the newest one."""
    for version in versions.values():
        found = _MINOR.search(version)
        if found and f"kind-{found[1]}" in profiles.SHELF.names():
            return f"kind-{found[1]}"
    return "kind"
