"""Cluster profiles: where to do it, as data. One file in clusters/ for each; the provider is its `provider` key."""

import pathlib
from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeAlias

import pydantic

from harness.scenario import documents, specs

SHELF = documents.Shelf(
    noun="cluster profile",
    folder_name="clusters",
    option="--cluster-set key=value, as in --cluster-set storage=disk",
    union="",
)


class ProfileSpec(specs.Spec):
    """What every cluster profile says."""

    schema_version: Literal[1]
    """Of this format."""
    name: specs.Name
    """The file's name without .toml."""
    title: str
    """One line for tables: what it is good for."""


class EmbeddedProfile(ProfileSpec):
    """Flake Hunt's own API server as a process on loopback; needs nothing but pip."""

    provider: Literal["embedded"]


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
    feature_gates: dict[str, bool] = pydantic.Field(default_factory=dict)
    """--feature-gates of every Kubernetes binary."""


class KubeconfigProfile(ProfileSpec):
    """A cluster that exists; never touches what the run did not create."""

    provider: Literal["kubeconfig"]
    kubeconfig: str = ""
    """Its path; empty: KUBECONFIG, then ~/.kube/config."""
    context: str = ""
    """The context of the kubeconfig; empty: the current one."""
    i_know_this_cluster: bool = False
    """Do not ask for the mark of a test cluster."""
    claim_controller: bool = True
    """Whether the cluster runs a ResourceClaim controller of its own (kube-controller-manager does); ours is then not started."""


Profile: TypeAlias = EmbeddedProfile | LocalProfile | KubeconfigProfile
_adapter: pydantic.TypeAdapter[Profile] = pydantic.TypeAdapter(
    Annotated[Profile, pydantic.Field(discriminator="provider")]
)


def shipped_names() -> list[str]:
    """The names of the profiles that come with Flake Hunt."""
    return SHELF.names()


def load(name: str, *, overrides: Sequence[str] = ()) -> Profile:
    """The profile of this path or name, with `key=value` overrides."""
    path = SHELF.find(name)
    document, _ = SHELF.read(path, overrides)
    return _validate(document, path)


def restore(document: dict[str, Any]) -> Profile:
    """The profile that a plan holds as a plain document."""
    return _validate(document, "the plan's cluster")


def _validate(document: dict[str, Any], where: pathlib.Path | str) -> Profile:
    return SHELF.validate(_adapter.validate_python, document, where)
