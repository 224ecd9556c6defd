"""The command line that makes a run again, with everything that was chosen for it."""

from collections.abc import Sequence

from harness.scenario import loading, profiles


def words(
    loaded: loading.Loaded,
    *,
    seed: int,
    defects: Sequence[str],
    until_found: bool,
    chosen_subjects: Sequence[str],
    cluster: profiles.Profile,
    binaries: str,
) -> list[str]:
    """Return what follows `flake-hunt`. Paths are as they were given: run it again in the same folder."""
    options = [
        ("--set", loaded.overrides),
        ("--defect", defects),
        ("--subject", chosen_subjects),
        ("--binaries", [binaries] if binaries and cluster.provider != "local" else []),
    ]
    chosen = [word for option, values in options for value in values for word in (option, value)]
    flags = ["--until-found"] if until_found else []
    return ["run", loaded.given, "--seed", str(seed), *chosen, *flags, *_cluster(cluster)]


def _cluster(profile: profiles.Profile) -> list[str]:
    """Return the options that choose the cluster; none for an embedded one as it is shipped."""
    name, overrides = profile.chosen.name or profile.name, profile.chosen.overrides
    if name == "embedded" and not overrides:
        return []
    changes = [word for override in overrides for word in ("--cluster-set", override)]
    return ["--cluster", name, *changes]
