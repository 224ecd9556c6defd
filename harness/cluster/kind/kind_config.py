"""The kind configuration file (kind.x-k8s.io/v1alpha4) and the audit policy.

The kubeadm patches deliberately name no apiVersion. kind writes kubeadm v1beta3 before Kubernetes
1.36 and v1beta4 since, converts unversioned patches to the version it writes, and silently drops a
patch that names another version.
"""

import dataclasses
import pathlib
from typing import Any

import yaml

from harness.cluster import control_plane_settings, interfaces
from harness.scenario import profiles

Document = dict[str, Any]
API_VERSION = "kind.x-k8s.io/v1alpha4"
POLICY_FOLDER = "/etc/kubernetes/policies"
POLICY_FILE = f"{POLICY_FOLDER}/audit.yaml"
AUDIT_FOLDER = "/var/log/kubernetes/audit"
AUDIT_FILE = f"{AUDIT_FOLDER}/audit.log"
WITHOUT_CLAIM_CONTROLLER = (
    "*,bootstrap-signer-controller,token-cleaner-controller,-resourceclaim-controller,"
    "-device-taint-eviction-controller"
)
"""Value of `--controllers`. It replaces kubeadm's own value, so the two controllers that kubeadm
adds are repeated. Ours also evicts pods by taints of their devices."""
KUBELET_CONFIG_FILE = "/var/lib/kubelet/config.yaml"
"""Where kubeadm writes the kubelet's configuration in the node."""
REFUSES_CGROUP_V1_SINCE = (1, 35)
"""Kubernetes version since which the kubelet does not start on cgroup v1 by default. `failCgroupV1`
came with 1.31; it is true by default since 1.35."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """Settings of one cluster that its profile does not determine."""

    image: str
    """The node image, as the engine knows it."""
    audit_policy: pathlib.Path | None
    """Path of the audit policy on this host; None: no audit log."""
    cgroup_version: str = "2"
    """The version of cgroups that the engine reports."""


def text(profile: profiles.KindProfile, choices: Choices) -> str:
    return str(yaml.dump(document(profile, choices), Dumper=_Dumper, sort_keys=False))


def document(profile: profiles.KindProfile, choices: Choices) -> Document:
    """Return the configuration: one control-plane container.

    Workload nodes are Node objects, created later.
    """
    node: Document = {"role": "control-plane", "image": choices.image}
    if choices.audit_policy is not None:
        mount = {"hostPath": str(choices.audit_policy), "containerPath": POLICY_FILE}
        node["extraMounts"] = [{**mount, "readOnly": True}]
    patches = [_cluster_configuration(profile, choices)]
    if settings := kubelet_settings(profile, choices):
        patches.append({"kind": "KubeletConfiguration", **settings})
    node["kubeadmConfigPatches"] = [yaml.safe_dump(patch, sort_keys=False) for patch in patches]
    cluster: Document = {"kind": "Cluster", "apiVersion": API_VERSION}
    if profile.feature_gates:
        cluster["featureGates"] = dict(profile.feature_gates)
    if profile.runtime_config:
        cluster["runtimeConfig"] = dict(profile.runtime_config)
    return {**cluster, "nodes": [node]}


def server_flags(profile: profiles.KindProfile, choices: Choices) -> dict[str, str]:
    limits = profile.requests_in_flight_max, profile.mutating_requests_in_flight_max
    return control_plane_settings.server_flags(
        profile.watch_cache,
        in_flight=None if profile.priority_and_fairness else limits,
        audit=None if choices.audit_policy is None else (POLICY_FILE, AUDIT_FILE),
    )


def controller_manager_flags(profile: profiles.KindProfile) -> dict[str, str]:
    flags = {"node-monitor-grace-period": profile.node_monitor_grace}
    if profile.claim_controller:
        return flags | control_plane_settings.CONTROLLER_REQUESTS
    return flags | {"controllers": WITHOUT_CLAIM_CONTROLLER}


def kubelet_settings(profile: profiles.KindProfile, choices: Choices) -> Document:
    major, minor, _ = profile.kubernetes.removeprefix("v").split(".")
    refuses = (int(major), int(minor)) >= REFUSES_CGROUP_V1_SINCE
    return {"failCgroupV1": False} if choices.cgroup_version == "1" and refuses else {}


def _cluster_configuration(profile: profiles.KindProfile, choices: Choices) -> Document:
    server: Document = {"extraArgs": server_flags(profile, choices)}
    if choices.audit_policy is not None:
        server["extraVolumes"] = [
            _volume("flake-hunt-audit-policy", POLICY_FOLDER, read_only=True),
            _volume("flake-hunt-audit-log", AUDIT_FOLDER, read_only=False),
        ]
    manager = {"extraArgs": controller_manager_flags(profile)}
    return {
        "kind": "ClusterConfiguration",
        "apiServer": server,
        "controllerManager": manager,
    }


def _volume(name: str, folder: str, *, read_only: bool) -> Document:
    """Return a hostPath mount of a node's folder at the same path in the API server's pod."""
    return {
        "name": name,
        "hostPath": folder,
        "mountPath": folder,
        "readOnly": read_only,
        "pathType": "DirectoryOrCreate",
    }


class _Dumper(yaml.SafeDumper):
    """Writes patches as YAML block scalars, so that the file is readable."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def of_profile(profile: profiles.KindProfile) -> interfaces.Capabilities:
    return interfaces.Capabilities(
        scheduler=True,
        claim_controller=profile.claim_controller,
        service_accounts=True,
        restarts_api_server=True,
    )
