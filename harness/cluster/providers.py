"""The provider of each kind of cluster profile, and the clusters that they start."""

from harness import errors
from harness.cluster import embedded_cluster, existing_cluster, interfaces
from harness.scenario import profiles

Cluster = interfaces.Cluster


def of(profile: profiles.Profile) -> interfaces.Provider:
    """Who starts clusters of this profile."""
    match profile:
        case profiles.EmbeddedProfile():
            return embedded_cluster.Provider(profile)
        case profiles.KindProfile():
            from harness.cluster.kind import kind_cluster  # it brings the docker SDK, 0.3 s

            return kind_cluster.Provider(profile)
        case profiles.KubeconfigProfile():
            return existing_cluster.Provider(profile)
        case profiles.LocalProfile():
            from harness.cluster.local import local_cluster  # it brings cryptography

            return local_cluster.Provider(profile)


def usable(profile: profiles.Profile) -> interfaces.Provider:
    """Return the provider when it has all that it needs; UnusableClusterError names what is missing, before anything is started."""
    provider = of(profile)
    try:
        provider.check()
    except errors.ClusterError as error:
        raise errors.UnusableClusterError(str(error)) from error
    return provider


def up(profile: profiles.Profile, request: interfaces.ClusterRequest) -> Cluster:
    """Start a cluster whose files are in the request's folder."""
    provider = usable(profile)
    request.directory.mkdir(parents=True, exist_ok=True)
    return provider.up(request)
