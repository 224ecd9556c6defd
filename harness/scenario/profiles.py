"""Cluster profiles: one file in clusters/ for each; the `provider` key selects its class."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeAlias

import pydantic
from pydantic import json_schema

from harness import errors
from harness.scenario import cluster_features, fields, specs
from harness.scenario.toml_files import documents

WatchCache: TypeAlias = Literal["auto", "on", "off"]


class Chosen(fields.Spec):
    """The command line options that selected a profile."""

    name: str = ""
    """The given path or name; empty if there was none."""
    overrides: fields.Texts = ()
    """The `key=value` overrides."""


class ProfileSpec(fields.Spec):
    """Keys of every cluster profile."""

    schema_version: Literal[1]
    """Version of this format."""
    name: fields.Name
    """The file's name without .toml."""
    title: str
    """One line for tables: its purpose."""
    chosen: Annotated[Chosen, json_schema.SkipJsonSchema()] = Chosen()
    """Set when the profile is loaded, so that a run can be repeated with it."""


class OwnProfile(ProfileSpec):
    """Keys of clusters that the harness starts."""

    feature_gates: dict[str, bool] = pydantic.Field(default_factory=dict)
    """Feature gates of every component, such as DRAListTypeAttributes."""
    audit_log: bool = True
    """Keep the API server's audit log of every write of claims and pods in the run directory, and
    compare it with the observations."""


class EmbeddedProfile(OwnProfile):
    """Flake Hunt's own API server as a process on loopback; needs nothing but pip."""

    provider: Literal["embedded"]
    port: Annotated[int, pydantic.Field(ge=0, le=65535)] = 0
    """Port for plain HTTP on loopback; 0 takes a free one."""
    tls_port: Annotated[int, pydantic.Field(ge=0, le=65535)] = 0
    """Port for TLS on loopback; 0 takes a free one."""
    storage: Literal["auto", "memory", "disk"] = "auto"
    """Place of the data: memory, or the run directory, so that the API server can be restarted;
    auto: disk if a fault of the scenario restarts it, memory otherwise."""
    runtime_config: list[str] = pydantic.Field(default_factory=list)
    """API versions to serve in addition to the default ones, as `resource.k8s.io/v1beta2=true`;
    a scenario with DeviceTaintRules adds theirs."""
    watch_history: Annotated[int, pydantic.Field(ge=1, le=10_000_000)] = 100_000
    """Commits of each resource that watches can resume from; kube-apiserver's watch cache holds
    about as many at most. The server's memory grows by them."""
    roles_late_s: Annotated[float, pydantic.Field(ge=0, le=60)] = 0.0
    """Seconds after each restart in which the API server answers 403 to everyone, as kube-apiserver
    does for some hundred milliseconds, until its authorizer has read the roles
    (kubernetes#121635)."""


class KubernetesProfile(OwnProfile):
    """Keys of clusters of Kubernetes' own programs."""

    runtime_config: dict[str, str] = pydantic.Field(default_factory=dict)
    """API groups and versions to serve in addition to the default ones."""
    watch_cache: WatchCache = "auto"
    """--watch-cache of kube-apiserver; auto: off if a fault of the scenario restarts it. With its
    cache, a restarted kube-apiserver answers resumed watches with 410 (kubernetes#129194), so that
    the recorder would miss versions."""
    priority_and_fairness: bool = False
    """Enable API priority and fairness; off because it queues the load and hides concurrency."""


class LocalProfile(KubernetesProfile):
    """Real etcd and kube-apiserver as processes on loopback, as with envtest; no Docker."""

    provider: Literal["local"]
    binaries: str = ""
    """The folder of the binaries; empty: KUBE_BINARIES, KUBEBUILDER_ASSETS, then PATH."""
    storage: Literal["memory", "disk"] = "memory"
    """Place of etcd's data: tmpfs if available (seconds faster), or the run directory."""
    unsafe_no_fsync: bool = True
    """etcd's --unsafe-no-fsync: writes are much faster, and the data need not survive a power
    failure."""
    controller_manager: bool | Literal["auto"] = "auto"
    """Run kube-controller-manager with all its controllers (its resourceclaim-controller replaces
    ours); auto: where its binary is found, run it to collect garbage and to remove namespaces only.
    Without it, nothing removes claims of pods that are gone."""
    claim_controller: bool = True
    """With controller_manager = true: keep its resourceclaim-controller; false: run all others, as
    for a run that names a claim controller of its own."""


class KindProfile(KubernetesProfile):
    """A version of Kubernetes in one Docker container, created by the kind command."""

    provider: Literal["kind"]
    name: Annotated[str, pydantic.Field(pattern=r"^[a-z0-9]([-a-z0-9.]{0,48}[a-z0-9])?$")]
    """The file's name without .toml."""
    kubernetes: Annotated[str, pydantic.Field(pattern=r"^v\d+\.\d+\.\d+$")]
    """Version that the running API server must report."""
    image: Annotated[str, pydantic.Field(pattern=r"^[^@\s]+@sha256:[0-9a-f]{64}$")]
    """Node image by digest, because kind releases push tags again."""
    image_archive: str = ""
    """File of the node image from `docker save`, for machines without network; empty: pull by
    digest."""
    kind_min: Annotated[str, pydantic.Field(pattern=r"^\d+\.\d+\.\d+$")] = "0.33.0"
    """Oldest kind for this image; kubeadm v1beta4, which Kubernetes 1.37 requires, came with
    0.32."""
    claim_controller: bool = False
    """Keep the resourceclaim-controller of kube-controller-manager; ours is then not started."""
    node_monitor_grace: Annotated[str, pydantic.Field(pattern=r"^\d+(h|m|s)$")] = "240h"
    """--node-monitor-grace-period; long, because fake nodes do not renew leases."""
    requests_in_flight_max: fields.PositiveCount = 3000
    """Concurrent reads without priority and fairness; further ones get 429."""
    mutating_requests_in_flight_max: fields.PositiveCount = 1000
    """Concurrent writes without priority and fairness; further ones get 429."""
    wait_s: Annotated[int, pydantic.Field(ge=1, le=3600)] = 180
    """Time limit of kind for the control plane to become ready, in seconds."""


class KubeconfigProfile(ProfileSpec):
    """An existing cluster; a run changes only objects that it created."""

    provider: Literal["kubeconfig"]
    kubeconfig: str = ""
    """Path of the kubeconfig; empty: KUBECONFIG, then ~/.kube/config."""
    context: str = ""
    """Context in the kubeconfig; empty: the current one."""
    i_know_this_cluster: bool = False
    """Use the cluster even if it is not marked as a test cluster."""
    controller_manager: bool = True
    """True if the cluster runs kube-controller-manager, which then creates claims from templates
    and service accounts and deletes namespaces; our claim controller is not started."""


EMBEDDED_VERSION = (1, 36)
"""Version of Kubernetes that the embedded API server is like; it has all gates of DRA on, apart
from those that are alpha there."""
Profile: TypeAlias = EmbeddedProfile | LocalProfile | KindProfile | KubeconfigProfile
SHELF = documents.Shelf(
    noun="cluster profile",
    folder_name="clusters",
    option="--cluster key=value, as in --cluster storage=disk",
    kind=Annotated[Profile, pydantic.Field(discriminator="provider")],
    plugins="clusters",
)


def load(name: str, *, overrides: Sequence[str] = ()) -> Profile:
    """Load the profile of this path or name, with `key=value` overrides.

    Raises ScenarioError if it is missing or invalid.
    """
    path = SHELF.find(name)
    document, _ = SHELF.read(path, overrides)
    if "chosen" in document:
        raise errors.ScenarioError(
            f"{path}: expected no key `chosen`, which is reserved: remove it"
        )
    chosen = Chosen(name=name, overrides=tuple(overrides))
    profile: Profile = SHELF.validate(document, path)
    return profile.model_copy(update={"chosen": chosen})


def restore(document: dict[str, Any]) -> Profile:
    profile: Profile = SHELF.validate(documents.without(document), "the plan's cluster")
    return profile


def suited(
    profile: Profile, scenario: specs.Scenario, version: cluster_features.Version | None = None
) -> Profile:
    """Return the profile with what it leaves open (`auto`) chosen for the scenario.

    `version`: that of the Kubernetes to start, to switch on the features that the scenario needs;
    None: none is switched on. Raises UsageError if the version lacks one.
    """
    restarts = any(fault.may_restart_api_server for fault in scenario.faults)
    changed: dict[str, Any] = {}
    match profile:
        case EmbeddedProfile():
            if profile.storage == "auto":
                changed["storage"] = "disk" if restarts else "memory"
            version = EMBEDDED_VERSION
        case LocalProfile() | KindProfile():
            if profile.watch_cache == "auto":
                changed["watch_cache"] = "off" if restarts else "on"
            is_whole = isinstance(profile, LocalProfile) and profile.controller_manager is True
            if is_whole and scenario.subject.claim_controller not in ("auto", "cluster"):
                changed["claim_controller"] = False
        case KubeconfigProfile():
            return profile
    if version is not None:
        changed |= _switched_on(profile, scenario, version)
    return profile.model_copy(update=changed)


def _switched_on(
    profile: EmbeddedProfile | LocalProfile | KindProfile,
    scenario: specs.Scenario,
    version: cluster_features.Version,
) -> dict[str, Any]:
    own, served = profile.feature_gates, profile.runtime_config
    gates, apis = cluster_features.switches(
        scenario, version, own, where=profile.name, program="a Kubernetes"
    )
    if isinstance(served, dict):
        more: Any = {**dict.fromkeys(apis, "true"), **served}
    else:
        more = list(dict.fromkeys([*served, *(f"{api}=true" for api in apis)]))
        gates = {gate: True for gate in gates if gate in cluster_features.EMBEDDED_GATES}
    return {"feature_gates": {**gates, **own}, "runtime_config": more}
