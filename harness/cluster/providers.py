"""The provider for each kind of cluster profile."""

from harness import errors
from harness.cluster import embedded_cluster, existing_cluster, interfaces
from harness.scenario import profiles

Cluster = interfaces.Cluster


def of(profile: profiles.Profile) -> interfaces.Provider:
    """Return the provider for a profile."""
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


def usable(profile: profiles.Profile) -> interfaces.Provider:
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
