"""What the kind command is told: its configuration file (kind.x-k8s.io/v1alpha4) and the audit policy.

The kubeadm patches name no apiVersion on purpose. kind writes kubeadm v1beta3 before Kubernetes 1.36 and v1beta4 from there on, translates
unversioned patches to what it writes, and silently drops a patch that names another version.
"""

import dataclasses
import pathlib
from typing import Any

import yaml

from harness.cluster import control_plane_settings
from harness.scenario import profiles

Document = dict[str, Any]
API_VERSION = "kind.x-k8s.io/v1alpha4"
POLICY_FOLDER = "/etc/kubernetes/policies"
POLICY_FILE = f"{POLICY_FOLDER}/audit.yaml"
AUDIT_FOLDER = "/var/log/kubernetes/audit"
AUDIT_FILE = f"{AUDIT_FOLDER}/audit.log"
AUDIT_FILE_MIB_MAX = 4096
"""One file for a run: rotation would tear the history into several."""
WITHOUT_CLAIM_CONTROLLER = (
    "*,bootstrap-signer-controller,token-cleaner-controller,-resourceclaim-controller"
)
"""The flag replaces kubeadm's own value, so the two that kubeadm adds are repeated."""
KUBELET_CONFIG_FILE = "/var/lib/kubelet/config.yaml"
"""Where kubeadm writes the kubelet's configuration in the node."""
REFUSES_CGROUP_V1_SINCE = (1, 35)
"""`failCgroupV1` came with Kubernetes 1.31; since 1.35 it is true by default, and the kubelet does not start on such a host."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What is decided for one cluster, besides its profile."""

    image: str
    """The node image as the engine knows it."""
    audit_policy: pathlib.Path | None
    """On this host; None: no audit log."""
    cgroup_version: str = "2"
    """As the engine reports it."""


def text(profile: profiles.KindProfile, choices: Choices) -> str:
    """The configuration file."""
    return str(yaml.dump(document(profile, choices), Dumper=_Dumper, sort_keys=False))


def document(profile: profiles.KindProfile, choices: Choices) -> Document:
    """One control-plane container; the nodes that matter are Node objects."""
    node: Document = {"role": "control-plane", "image": choices.image}
    if choices.audit_policy is not None:
        node["extraMounts"] = [
            {
                "hostPath": str(choices.audit_policy),
                "containerPath": POLICY_FILE,
                "readOnly": True,
            }
        ]
    patches = [_cluster_configuration(profile, choices)]
    if settings := kubelet_settings(profile, choices):
        patches.append({"kind": "KubeletConfiguration", **settings})
    node["kubeadmConfigPatches"] = [yaml.safe_dump(patch, sort_keys=False) for patch in patches]
    made: Document = {"kind": "Cluster", "apiVersion": API_VERSION}
    if profile.feature_gates:
        made["featureGates"] = dict(profile.feature_gates)
    if profile.runtime_config:
        made["runtimeConfig"] = dict(profile.runtime_config)
    return {**made, "nodes": [node]}


def server_flags(profile: profiles.KindProfile, choices: Choices) -> dict[str, str]:
    """What kube-apiserver is to be started with, besides what kubeadm gives it."""
    flags: dict[str, str] = {}
    if choices.audit_policy is not None:
        flags |= {
            "audit-policy-file": POLICY_FILE,
            "audit-log-path": AUDIT_FILE,
            "audit-log-maxsize": str(AUDIT_FILE_MIB_MAX),
        }
    if not profile.priority_and_fairness:
        flags |= {
            "enable-priority-and-fairness": "false",
            "max-requests-inflight": str(profile.requests_in_flight_max),
            "max-mutating-requests-inflight": str(profile.mutating_requests_in_flight_max),
        }
    return flags


def controller_manager_flags(profile: profiles.KindProfile) -> dict[str, str]:
    """What kube-controller-manager is to be started with, besides what kubeadm gives it."""
    flags = {"node-monitor-grace-period": profile.node_monitor_grace}
    if profile.claim_controller:
        return flags | control_plane_settings.CONTROLLER_REQUESTS
    return flags | {"controllers": WITHOUT_CLAIM_CONTROLLER}


def kubelet_settings(profile: profiles.KindProfile, choices: Choices) -> Document:
    """What the kubelet is to be configured with, besides what kubeadm gives it."""
    if choices.cgroup_version == "1" and refuses_cgroup_v1(profile):
        return {"failCgroupV1": False}
    return {}


def refuses_cgroup_v1(profile: profiles.KindProfile) -> bool:
    """Return whether the kubelet of this version does not start on a host with cgroup v1 unless it is told to."""
    major, minor, _ = profile.kubernetes.removeprefix("v").split(".")
    return (int(major), int(minor)) >= REFUSES_CGROUP_V1_SINCE


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
    """A folder of the node that the API server's pod sees at the same place."""
    return {
        "name": name,
        "hostPath": folder,
        "mountPath": folder,
        "readOnly": read_only,
        "pathType": "DirectoryOrCreate",
    }


class _Dumper(yaml.SafeDumper):
    """Writes a patch as the block that it is, so that people can read the file."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)
