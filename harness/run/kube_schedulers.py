"""Pure functions for kube-scheduler's KubeSchedulerConfiguration and its command line."""

import math
import pathlib
from collections.abc import Mapping
from typing import Any

from harness.scenario import specs

API_VERSION = "kubescheduler.config.k8s.io/v1"
JSON = "application/json"
PROTOBUF = "application/vnd.kubernetes.protobuf"


def configuration(
    scheduler: specs.KubeScheduler,
    subject: specs.SubjectSpec,
    *,
    kubeconfig: pathlib.Path,
    protobuf: bool,
) -> dict[str, Any]:
    """Return the KubeSchedulerConfiguration.

    Leader election is off, because several schedulers may be tested at once. Backoffs are rounded
    up to whole seconds, and to at least one, as the configuration requires.
    """
    initial = max(1, math.ceil(subject.backoff_initial_s))
    return {
        "apiVersion": API_VERSION,
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {
            "kubeconfig": str(kubeconfig),
            "contentType": PROTOBUF if protobuf else JSON,
            "acceptContentTypes": f"{PROTOBUF},{JSON}" if protobuf else JSON,
            "qps": scheduler.qps,
            "burst": scheduler.burst,
        },
        "podInitialBackoffSeconds": initial,
        "podMaxBackoffSeconds": max(initial, math.ceil(subject.backoff_max_s)),
        "profiles": [{"schedulerName": scheduler.scheduler_name}],
    }


def command(scheduler: specs.KubeScheduler, configuration_file: pathlib.Path) -> list[str]:
    """Return the command line.

    The secure port is off: metrics are not used, and several schedulers would need the same port.
    """
    arguments = [
        scheduler.binary,
        f"--config={configuration_file}",
        "--secure-port=0",
        f"--v={scheduler.verbosity}",
    ]
    if scheduler.feature_gates:
        arguments.append(f"--feature-gates={gates(scheduler.feature_gates)}")
    return arguments


def gates(chosen: Mapping[str, bool]) -> str:
    """Return feature gates as kube-scheduler's option takes them: `A=true,B=false`."""
    return ",".join(f"{name}={str(on).lower()}" for name, on in sorted(chosen.items()))
