"""The ResourceClaim controllers that a run can test: parsed, resolved, and started.

Ours is started like our schedulers. A kube-controller-manager runs nothing but its
resourceclaim-controller, and the one that evicts pods where devices get NoExecute taints.
"""

import pathlib
from typing import Literal

from harness import errors, suggestions
from harness.cluster import interfaces
from harness.run.programs import scheduler_commands
from harness.scenario import specs, subject_specs

PROGRAM: Literal["kube-controller-manager"] = "kube-controller-manager"
NAME = "resourceclaim-controller"
"""Name of the ResourceClaim controller in --controllers, in every supported version."""
EVICTOR = "device-taint-eviction-controller"
"""Name of the controller that evicts pods by taints of their devices."""
_Other = Literal["python", "cluster", "external"]
OTHERS: tuple[_Other, ...] = ("python", "cluster", "external")
FORMS = f"python, {PROGRAM}[=PATH|VERSION], cluster, external"
EXTERNAL = "external claim controller"
"""Stands for the version of a controller that was started outside the harness."""


def chosen(scenario: specs.Scenario, text: str) -> specs.Scenario:
    """Return the scenario with the controller of `--claim-controller`; empty: its own."""
    if not text:
        return scenario
    subject = scenario.subject.model_copy(update={"claim_controller": parse(text)})
    return scenario.model_copy(update={"subject": subject})


def parse(text: str) -> subject_specs.AnyClaimController:
    kind, equals, value = text.partition("=")
    if kind == PROGRAM and bool(equals) == bool(value):
        return subject_specs.KubeControllerManager(kind=PROGRAM, binary=value)
    for word in OTHERS:
        if text == word:
            return word
    near = suggestions.did_you_mean(kind, [PROGRAM, *OTHERS])
    raise errors.UsageError(f"expected a claim controller ({FORMS}), got {text!r}.{near}")


def resolve(
    setting: subject_specs.AnyClaimController, on: interfaces.Capabilities, folder: str
) -> subject_specs.AnyClaimController:
    """Return the controller that is used: never `auto`, and a binary with its path.

    Binaries are searched in `folder` (empty: where envtest installs them). Raises UsageError if
    the setting does not suit the cluster.
    """
    suitable: subject_specs.AnyClaimController = "cluster" if on.claim_controller else "python"
    if setting in ("auto", suitable):
        return suitable
    if setting == "cluster":
        raise errors.UsageError(
            "expected a cluster that runs a ResourceClaim controller for subject.claim_controller = "
            "'cluster', but this one does not: leave the setting out to start the Python controller"
        )
    if on.claim_controller:
        kind = setting if isinstance(setting, str) else setting.kind
        raise errors.UsageError(
            "expected a cluster without a ResourceClaim controller for subject.claim_controller = "
            f"{kind!r}, but this one runs its own, and two controllers would create every "
            "claim twice: leave the setting out, or disable the cluster's controller in the profile"
        )
    if not isinstance(setting, subject_specs.KubeControllerManager):
        return setting
    if not on.exclusive:
        raise errors.UsageError(
            f"expected a cluster of the run's own for a {PROGRAM}, because its controller acts in all "
            "namespaces, got one that others use: choose --cluster embedded, local or kind, or the "
            "claim controller python"
        )
    path = scheduler_commands.binary(PROGRAM, setting.binary, folder)
    return setting.model_copy(update={"binary": str(path)})


def command(
    manager: subject_specs.KubeControllerManager,
    *,
    kubeconfig: pathlib.Path,
    protobuf: bool,
    evicts: bool = False,
) -> list[str]:
    """Return the command line of a kube-controller-manager with its ResourceClaim controller only.

    It works at once, without leader election, with the rights of its kubeconfig. No setting
    changes the back-offs of its retries. `protobuf`: that of its requests, instead of JSON.
    `evicts`: with the controller that evicts pods, too.
    """
    flags: dict[str, object] = {
        "kubeconfig": kubeconfig,
        "controllers": f"{NAME},{EVICTOR}" if evicts else NAME,
        "leader-elect": "false",
        "use-service-account-credentials": "false",
        "secure-port": 0,
        "kube-api-content-type": scheduler_commands.content_type(protobuf=protobuf),
        "kube-api-qps": scheduler_commands.REQUESTS,
        "kube-api-burst": scheduler_commands.REQUESTS,
        "v": manager.verbosity,
    }
    if manager.feature_gates:
        flags["feature-gates"] = scheduler_commands.gates(manager.feature_gates)
    return [manager.binary, *(f"--{name}={value}" for name, value in flags.items())]
