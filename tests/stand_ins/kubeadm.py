"""How kind and kubeadm apply patches: the configuration's version, how patches are merged, and the
flags in the static pods.

From kind's documentation of kubeadmConfigPatches, pull request 4173 (v0.32: kubeadm v1beta4 from
Kubernetes 1.36 on; unversioned patches are translated; a patch that names another version does not
match; extraArgs are merged by appending), RFC 7386, and kubeadm's default flags
(cmd/kubeadm/app/phases/controlplane).
"""

from typing import Any

import yaml

Document = dict[str, Any]


def config_version(kind: tuple[int, int, int], kubernetes: str) -> str:
    minor = int(kubernetes.split(".")[1])
    return (
        "kubeadm.k8s.io/v1beta4" if kind >= (0, 32, 0) and minor >= 36 else "kubeadm.k8s.io/v1beta3"
    )


def patched(config: Document, patches: list[str]) -> Document:
    """A document of the configuration after the patches that match it."""
    for text in patches:
        for patch in yaml.safe_load_all(text):
            version = patch.pop("apiVersion", None)
            if patch.get("kind") == config["kind"] and version in (None, config["apiVersion"]):
                if version is None and config["apiVersion"].endswith("v1beta4"):
                    patch = _listed(patch)
                config = _merged(config, patch)
    return config


def _listed(patch: Document) -> Document:
    """extraArgs as v1beta4 has them: a list of names and values."""
    made = dict(patch)
    for part in ("apiServer", "controllerManager", "scheduler"):
        arguments = (patch.get(part) or {}).get("extraArgs")
        if isinstance(arguments, dict):
            items = [{"name": name, "value": value} for name, value in arguments.items()]
            made[part] = {**patch[part], "extraArgs": items}
    return made


def _merged(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    made = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            made.pop(key, None)
        elif key == "extraArgs" and isinstance(value, list) and isinstance(made.get(key), list):
            made[key] = [*made[key], *value]
        else:
            made[key] = _merged(made.get(key), value)
    return made


def cluster_configuration(version: str, runtime_config: str, gates: str) -> Document:
    """The configuration that kind writes before any patch."""
    gate = {"feature-gates": gates} if gates else {}
    own = {"enable-hostpath-provisioner": "true"}
    made = {
        "apiVersion": version,
        "kind": "ClusterConfiguration",
        "apiServer": {"extraArgs": {"runtime-config": runtime_config, **gate}},
        "controllerManager": {"extraArgs": {**own, **gate}},
        "scheduler": {"extraArgs": gate},
    }
    return _listed(made) if version.endswith("v1beta4") else made


def kubelet_configuration(cgroup_version: str) -> Document:
    """The kubelet configuration that kind writes before any patch."""
    driver = "systemd" if cgroup_version == "2" else "cgroupfs"
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "cgroupDriver": driver,
        "failSwapOn": False,
    }


def kubelet_refusal(config: Document, kubernetes: str, cgroup_version: str) -> str | None:
    """The kubelet's log message when it does not start (pkg/kubelet/apis/config/validation; the
    default is true from 1.35 on).
    """
    minor = int(kubernetes.split(".")[1])
    if cgroup_version != "1" or not config.get("failCgroupV1", minor >= 35):
        return None
    return (
        'kubelet[713]: E1122 05:00:00.706440     713 run.go:72] "command failed" err="failed to validate kubelet configuration, '
        "error: kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported and will be removed "
        'in a future release, path: &TypeMeta{Kind:,APIVersion:,}"'
    )


def arguments(config: Document, part: str) -> dict[str, str]:
    """The extraArgs of a part: a list in v1beta4, a map before, and kubeadm takes no other."""
    given = config[part]["extraArgs"]
    if config["apiVersion"].endswith("v1beta4"):
        return {item["name"]: item["value"] for item in given}
    return dict(given.items())


OWN = {
    "apiServer": "advertise-address=172.18.0.2 allow-privileged=true authorization-mode=Node,RBAC "
    "enable-admission-plugins=NodeRestriction",
    "controllerManager": "allocate-node-cidrs=true controllers=*,bootstrapsigner,tokencleaner "
    "leader-elect=true",
}
"""kubeadm's own flags."""


def manifest(component: str, config: Document) -> Document:
    """The static pod: kubeadm's own flags, replaced by extraArgs of the same name."""
    part = "apiServer" if component == "kube-apiserver" else "controllerManager"
    own = dict(flag.split("=", 1) for flag in OWN[part].split())
    flags = sorted((own | arguments(config, part)).items())
    command = [component, *(f"--{name}={value}" for name, value in flags)]
    volumes = [
        {"name": item["name"], "hostPath": {"path": item["hostPath"], "type": item["pathType"]}}
        for item in config[part].get("extraVolumes") or []
    ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": component, "namespace": "kube-system"},
        "spec": {"containers": [{"name": component, "command": command}], "volumes": volumes},
    }
