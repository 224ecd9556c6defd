"""The provider for each kind of cluster profile."""

from typing import Any

from harness import errors
from harness.cluster import embedded_cluster, existing_cluster, interfaces
from harness.cluster.kind import kind_config
from harness.cluster.local import binaries
from harness.scenario import cluster_features, profiles, specs

Cluster = interfaces.Cluster
Provider = interfaces.Provider[Any]


def of(profile: profiles.Profile) -> Provider:
    match profile:
        case profiles.EmbeddedProfile():
            return embedded_cluster.Provider(profile)
        case profiles.KindProfile():
            from harness.cluster.kind import kind_cluster  # imports the docker SDK (0.3 s)

            return kind_cluster.Provider(profile)
        case profiles.KubeconfigProfile():
            return existing_cluster.Provider(profile)
        case profiles.LocalProfile():
            from harness.cluster.local import local_cluster  # imports cryptography

            return local_cluster.Provider(profile)


def capabilities(profile: profiles.Profile) -> interfaces.Capabilities:
    """Return what the clusters of a profile can do, without the library that starts them."""
    if isinstance(profile, profiles.KindProfile):
        return kind_config.of_profile(profile)
    return of(profile).capabilities


def suited(profile: profiles.Profile, scenario: specs.Scenario) -> profiles.Profile:
    """Return the profile with what it leaves open chosen for the scenario.

    The feature gates and API versions that the scenario needs are switched on, if it is a cluster
    that the run starts. Raises UsageError if its version of Kubernetes lacks one, and
    UnusableClusterError if the version cannot be found out.
    """
    needs = bool(cluster_features.needed(scenario))
    version = _version(profile) if needs else None
    return profiles.suited(profile, scenario, version)


def _version(profile: profiles.Profile) -> cluster_features.Version | None:
    """Return the version of Kubernetes of a cluster that a run starts; None: it starts none."""
    match profile:
        case profiles.KindProfile():
            return cluster_features.version_of(profile.kubernetes)
        case profiles.LocalProfile():
            usable(profile)
            found = binaries.version(binaries.find("kube-apiserver", profile.binaries))
            return cluster_features.version_of(found)
    return None


def usable(profile: profiles.Profile) -> Provider:
    """Return the provider if it has everything it needs.

    Raises UnusableClusterError, naming what is missing, before anything is started.
    """
    provider = of(profile)
    try:
        provider.check()
    except errors.ClusterError as error:
        raise errors.UnusableClusterError(str(error)) from error
    return provider


def up(profile: profiles.Profile, request: interfaces.ClusterRequest) -> Cluster:
    """Create the request's folder and start a cluster in it."""
    provider = usable(profile)
    request.directory.mkdir(parents=True, exist_ok=True)
    return provider.up(request)
