"""Command lines and configuration files of schedulers other than the Python one."""

import math
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from harness import errors, placeholders
from harness.cluster.local import binaries
from harness.scenario import subject_specs

API_VERSION = "kubescheduler.config.k8s.io/v1"
JSON = "application/json"
PROTOBUF = "application/vnd.kubernetes.protobuf"
REQUESTS = 5000
"""Requests a second, and the burst above; as in upstream's tests, so that clients wait for none."""
STREAMED_LISTS = "WatchListClient"
"""Feature gate with which client-go begins by a watch that has what is there, instead of a list."""
PLACEHOLDERS = ("kubeconfig", "scheduler_name", "namespace", "log_dir", "run_id", "seed")


def binary(name: str, chosen: str, folder: str) -> pathlib.Path:
    """Return a program by path or version, or the newest one; `folder` has the programs."""
    if not chosen or binaries.is_version(chosen):
        return binaries.find(name, folder, version=chosen)
    return binaries.program(chosen)


def filled(command: Sequence[str], values: Mapping[str, str]) -> list[str]:
    program, *rest = command
    return [str(binaries.program(program)), *(word.format_map(values) for word in rest)]


def content_type(*, protobuf: bool) -> str:
    return PROTOBUF if protobuf else JSON


def check_placeholders(word: str) -> None:
    placeholders.require_known(word, PLACEHOLDERS, of="the subject's")


def configuration(
    scheduler: subject_specs.KubeScheduler,
    subject: subject_specs.SubjectSpec,
    *,
    kubeconfig: pathlib.Path,
    namespace: str,
    protobuf: bool,
) -> dict[str, Any]:
    """Return kube-scheduler's KubeSchedulerConfiguration.

    Leader election is off unless the scenario asks for it, because several schedulers may be tested
    at once; its Lease is in `namespace`. Backoffs are rounded up to whole seconds, and to at least
    one, as the configuration requires.
    """
    initial = max(1, math.ceil(subject.backoff_initial_s))
    profile: dict[str, Any] = {"schedulerName": scheduler.scheduler_name}
    if arguments := _dynamic_resources(subject):
        profile["pluginConfig"] = [{"name": "DynamicResources", "args": arguments}]
    return {
        "apiVersion": API_VERSION,
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": _leader_election(scheduler, subject.leader_election, namespace),
        "clientConnection": {
            "kubeconfig": str(kubeconfig),
            "contentType": content_type(protobuf=protobuf),
            "acceptContentTypes": f"{PROTOBUF},{JSON}" if protobuf else JSON,
            "qps": REQUESTS,
            "burst": REQUESTS,
        },
        "podInitialBackoffSeconds": initial,
        "podMaxBackoffSeconds": max(initial, math.ceil(subject.backoff_max_s)),
        "profiles": [profile],
    }


def _dynamic_resources(subject: subject_specs.SubjectSpec) -> dict[str, Any]:
    """Return the DynamicResourcesArgs that differ from the defaults; empty: none.

    kube-scheduler 1.34 has no `bindingTimeout`, later ones none below a second, and those in which
    binding conditions are off refuse it (kubernetes#134905).
    """
    defaults, changed = subject_specs.SubjectSpec(), dict[str, str]()
    if subject.filter_timeout_s != defaults.filter_timeout_s:
        changed["filterTimeout"] = _duration(subject.filter_timeout_s)
    if subject.binding_timeout_s != defaults.binding_timeout_s:
        changed["bindingTimeout"] = _duration(max(1.0, subject.binding_timeout_s))
    named = {"apiVersion": API_VERSION, "kind": "DynamicResourcesArgs"}
    return {**named, **changed} if changed else {}


def _duration(seconds: float) -> str:
    return f"{round(seconds * 1000)}ms"


def _leader_election(
    scheduler: subject_specs.KubeScheduler,
    chosen: subject_specs.LeaderElectionSpec | None,
    namespace: str,
) -> dict[str, Any]:
    if chosen is None:
        return {"leaderElect": False}
    return {
        "leaderElect": True,
        "leaseDuration": f"{chosen.lease_duration_s}s",
        "renewDeadline": f"{chosen.renew_deadline_s:g}s",
        "retryPeriod": f"{chosen.retry_period_s:g}s",
        "resourceLock": "leases",
        "resourceName": scheduler.scheduler_name,
        "resourceNamespace": namespace,
    }


def gates(chosen: Mapping[str, bool]) -> str:
    """Return feature gates as --feature-gates takes them: `A=true,B=false`."""
    return ",".join(f"{name}={str(on).lower()}" for name, on in sorted(chosen.items()))


def kube_scheduler_command(
    scheduler: subject_specs.KubeScheduler, file: pathlib.Path, verbosity: int | None
) -> list[str]:
    level = scheduler.verbosity if verbosity is None else verbosity
    arguments = [scheduler.binary, f"--config={file}", "--secure-port=0", f"--v={level}"]
    if scheduler.feature_gates:
        arguments.append(f"--feature-gates={gates(scheduler.feature_gates)}")
    return [*arguments, *scheduler.flags]


def kube_scheduler(text: str) -> subject_specs.KubeScheduler:
    """Return the kube-scheduler of a path or version, which flags may follow as in a shell."""
    words = [text] if not text or pathlib.Path(text).exists() else placeholders.words(text)
    binary, flags = ("", words) if words[:1] and words[0].startswith("-") else (words[0], words[1:])
    chosen, others = _feature_gates(flags)
    return subject_specs.KubeScheduler(
        kind="kube-scheduler", binary=binary, feature_gates=chosen, flags=others
    )


_GATES = "--feature-gates"
_SWITCHES = {"true": True, "false": False}


def _feature_gates(flags: Sequence[str]) -> tuple[dict[str, bool], list[str]]:
    chosen: dict[str, bool] = {}
    others: list[str] = []
    left = iter(flags)
    for flag in left:
        name, equals, value = flag.partition("=")
        if name != _GATES:
            others.append(flag)
            continue
        for item in (value if equals else next(left, "")).split(","):
            gate, _, switch = item.partition("=")
            if switch.lower() not in _SWITCHES:
                raise errors.UsageError(
                    f"expected {_GATES}=NAME=true or NAME=false, got {item!r}: correct it"
                )
            chosen[gate] = _SWITCHES[switch.lower()]
    return chosen, others
