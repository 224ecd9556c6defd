"""Cluster profiles: where to do it, as data. One file in clusters/ for each; the provider is its `provider` key."""

import pathlib
from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeAlias

import pydantic
from pydantic import json_schema

from harness import errors
from harness.scenario import documents, specs


class Chosen(specs.Spec):
    """How a profile was asked for."""

    name: str = ""
    """The path or the name that was given; empty: nobody asked by one."""
    overrides: tuple[str, ...] = ()
    """The `key=value` that changed it."""


class ProfileSpec(specs.Spec):
    """What every cluster profile says."""

    schema_version: Literal[1]
    """Of this format."""
    name: specs.Name
    """The file's name without .toml."""
    title: str
    """One line for tables: what it is good for."""
    chosen: Annotated[Chosen, json_schema.SkipJsonSchema()] = Chosen()
    """Set when the profile is loaded, so that a run can be repeated with it."""


class EmbeddedProfile(ProfileSpec):
    """Flake Hunt's own API server as a process on loopback; needs nothing but pip."""

    provider: Literal["embedded"]
    port: Annotated[int, pydantic.Field(ge=0, le=65535)] = 0
    """For plain HTTP on loopback; 0 takes a free one."""
    tls_port: Annotated[int, pydantic.Field(ge=0, le=65535)] = 0
    """For TLS on loopback; 0 takes a free one."""


class LocalProfile(ProfileSpec):
    """Real etcd and kube-apiserver binaries as processes on loopback, as envtest does; no Docker."""

    provider: Literal["local"]
    binaries: str = ""
    """The folder of the binaries; empty: KUBEBUILDER_ASSETS, then PATH."""
    auth: Literal["client-certificate", "token"] = "client-certificate"
    """How our processes say who they are; both are system:masters, and so exempt from priority and fairness."""
    storage: Literal["memory", "disk"] = "memory"
    """etcd's data: on tmpfs where there is one (seconds faster, gone with the cluster), or in the run directory."""
    unsafe_no_fsync: bool = True
    """etcd's --unsafe-no-fsync: nobody needs this data after a power cut, and fsync is most of a write's time."""
    audit_log: bool = True
    """The API server's own record of every write, in the run directory."""
    controller_manager: bool = False
    """Run kube-controller-manager too; its resourceclaim-controller then is the claim controller, ours is not started."""
    priority_and_fairness: bool = False
    """Whether the API server queues by flow; that would queue the load behind itself and hide concurrency."""
    feature_gates: dict[str, bool] = pydantic.Field(default_factory=dict)
    """--feature-gates of every Kubernetes binary."""
    runtime_config: dict[str, str] = pydantic.Field(default_factory=dict)
    """API groups and versions to serve besides the default ones."""


class KindProfile(ProfileSpec):
    """A version of Kubernetes in one container of Docker, made by the kind command."""

    provider: Literal["kind"]
    name: Annotated[str, pydantic.Field(pattern=r"^[a-z0-9]([-a-z0-9.]{0,48}[a-z0-9])?$")]
    """The file's name without .toml."""
    kubernetes: Annotated[str, pydantic.Field(pattern=r"^v\d+\.\d+\.\d+$")]
    """What the API server must say of itself once it runs."""
    image: Annotated[str, pydantic.Field(pattern=r"^[^@\s]+@sha256:[0-9a-f]{64}$")]
    """The node image by digest: tags are pushed again with every kind release."""
    image_archive: str = ""
    """The node image as `docker save` wrote it, for machines without a network; empty: by digest, pulled when it is not there."""
    kind_min: Annotated[str, pydantic.Field(pattern=r"^\d+\.\d+\.\d+$")] = "0.33.0"
    """The oldest kind for this image; 0.32 was the first to write kubeadm v1beta4, which Kubernetes 1.37 wants."""
    claim_controller: bool = False
    """Leave kube-controller-manager its resourceclaim-controller; ours is then not started."""
    feature_gates: dict[str, bool] = pydantic.Field(default_factory=dict)
    """For every component, as kind passes them on."""
    runtime_config: dict[str, str] = pydantic.Field(default_factory=dict)
    """API groups and versions to serve besides the default ones."""
    node_monitor_grace: Annotated[str, pydantic.Field(pattern=r"^\d+(h|m|s)$")] = "240h"
    """How long a node may be silent and stay Ready: fake nodes renew no leases."""
    priority_and_fairness: bool = False
    """Whether the API server queues by flow; that would queue the load behind itself and hide concurrency."""
    requests_in_flight_max: specs.PositiveCount = 3000
    """Reads at once without priority and fairness; more are answered 429."""
    mutating_requests_in_flight_max: specs.PositiveCount = 1000
    """Writes at once without priority and fairness; more are answered 429."""
    audit_log: bool = True
    """The API server's own record of every write, fetched into the run directory."""
    memory_mib_min: specs.PositiveCount = 2048
    """Of the container engine for one cluster; an estimate, not a measurement."""
    disk_gib_min: specs.PositiveCount = 8
    """Free where the engine keeps its data, for the image and one cluster; an estimate, not a measurement."""
    wait_s: Annotated[int, pydantic.Field(ge=1, le=3600)] = 180
    """How long kind waits for the control plane to be ready."""


class KubeconfigProfile(ProfileSpec):
    """A cluster that exists; never touches what the run did not create."""

    provider: Literal["kubeconfig"]
    kubeconfig: str = ""
    """Its path; empty: KUBECONFIG, then ~/.kube/config."""
    context: str = ""
    """The context of the kubeconfig; empty: the current one."""
    i_know_this_cluster: bool = False
    """Do not ask for the mark of a test cluster."""
    controller_manager: bool = True
    """Whether kube-controller-manager runs there: claims from templates, service accounts and the end of namespaces are then
    its work, and our claim controller is not started."""


Profile: TypeAlias = EmbeddedProfile | LocalProfile | KindProfile | KubeconfigProfile
SHELF = documents.Shelf(
    noun="cluster profile",
    folder_name="clusters",
    option="--cluster-set key=value, as in --cluster-set storage=disk",
    kind=Annotated[Profile, pydantic.Field(discriminator="provider")],
)


def shipped_names() -> list[str]:
    """The names of the profiles that come with Flake Hunt."""
    return SHELF.names()


def load(name: str, *, overrides: Sequence[str] = ()) -> Profile:
    """The profile of this path or name, with `key=value` overrides."""
    path = SHELF.find(name)
    document, _ = SHELF.read(path, overrides)
    if "chosen" in document:
        raise errors.ScenarioError(
            f"{path}: expected no key `chosen`, which is set here: remove it"
        )
    chosen = Chosen(name=name, overrides=tuple(overrides))
    return _validate(document, path).model_copy(update={"chosen": chosen})


def restore(document: dict[str, Any]) -> Profile:
    """The profile that a plan holds as a plain document."""
    return _validate(document, "the plan's cluster")


def _validate(document: dict[str, Any], where: pathlib.Path | str) -> Profile:
    profile: Profile = SHELF.validate(document, where)
    return profile
