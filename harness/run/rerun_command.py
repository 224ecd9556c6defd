"""The command line that repeats a run with the same options."""

from collections.abc import Sequence

from harness.scenario import loading, profiles


def words(
    loaded: loading.Loaded,
    *,
    seed: int,
    defects: Sequence[str],
    remedies: Sequence[str],
    release: str = "",
    until_found: bool,
    chosen_subjects: Sequence[str],
    cluster: profiles.Profile,
    binaries: str,
    fault_carrier: str = "auto",
) -> list[str]:
    """Return the arguments of `flake-hunt`; paths are relative to the folder of the first run."""
    options = [
        ("--set", loaded.overrides),
        ("--defect", defects),
        ("--remedy", remedies),
        ("--as", [release] if release else []),
        ("--subject", chosen_subjects),
        ("--fault-carrier", [fault_carrier] if fault_carrier != "auto" else []),
        ("--binaries", [binaries] if binaries and cluster.provider != "local" else []),
    ]
    chosen = [word for option, values in options for value in values for word in (option, value)]
    flags = ["--until-found"] if until_found else []
    return ["run", loaded.given, "--seed", str(seed), *chosen, *flags, *_cluster(cluster)]


def _cluster(profile: profiles.Profile) -> list[str]:
    """Return the options that choose the cluster; none for an unchanged embedded cluster."""
    name, overrides = profile.chosen.name or profile.name, profile.chosen.overrides
    if name == "embedded" and not overrides:
        return []
    changes = [word for override in overrides for word in ("--cluster-set", override)]
    return ["--cluster", name, *changes]
