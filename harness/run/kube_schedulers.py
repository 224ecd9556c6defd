"""How kube-scheduler is configured and started: its KubeSchedulerConfiguration and its command line. Pure functions."""

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
    """The KubeSchedulerConfiguration.

    Leader election is off: several schedulers at once are what is tested. Back-offs are whole seconds there, and at least one.
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
    """The command line. No port is opened: nobody asks for metrics, and several schedulers would want the same one."""
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
    """`A=true,B=false`"""
    return ",".join(f"{name}={str(on).lower()}" for name, on in sorted(chosen.items()))
