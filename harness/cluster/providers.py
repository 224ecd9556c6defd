"""The provider of each kind of cluster profile, and the clusters that they start."""

from harness import errors
from harness.cluster import contracts, embedded, existing
from harness.scenario import profiles

Cluster = contracts.Cluster


def of(profile: profiles.Profile) -> contracts.Provider:
    """Who starts clusters of this profile."""
    match profile:
        case profiles.EmbeddedProfile():
            return embedded.Provider(profile)
        case profiles.KindProfile():
            from harness.cluster import kind  # it brings the docker SDK, 0.3 s

            return kind.Provider(profile)
        case profiles.KubeconfigProfile():
            return existing.Provider(profile)
        case profiles.LocalProfile():
            from harness.cluster import local  # it brings cryptography

            return local.Provider(profile)


def usable(profile: profiles.Profile) -> contracts.Provider:
    """Return the provider when it has all that it needs; UnusableClusterError names what is missing, before anything is started."""
    provider = of(profile)
    try:
        provider.check()
    except errors.ClusterError as error:
        raise errors.UnusableClusterError(str(error)) from error
    return provider


def up(profile: profiles.Profile, request: contracts.Request) -> Cluster:
    """Start a cluster whose files are in the request's folder."""
    provider = usable(profile)
    request.directory.mkdir(parents=True, exist_ok=True)
    return provider.up(request)
