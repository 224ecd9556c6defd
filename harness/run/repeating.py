"""The command line that makes a run again, with everything that was chosen for it."""

import json
from collections.abc import Sequence
from typing import Any

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
    """What follows `flake-hunt`. A profile that is a file of the user's is named only: its path is not known here."""
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
    changes: list[str] = []
    if profile.name in profiles.shipped_names():
        shipped = profiles.load(profile.name).model_dump(mode="json")
        for key, value in profile.model_dump(mode="json").items():
            if value != shipped.get(key):
                changes += ["--cluster-set", f"{key}={_toml(value)}"]
    if profile.name == "embedded" and not changes:
        return []
    return ["--cluster", profile.name, *changes]


def _toml(value: Any) -> str:
    """A value of a profile: a table in one line, or what JSON and TOML write alike."""
    if isinstance(value, dict):
        return (
            f"{{{', '.join(f'{json.dumps(key)} = {_toml(item)}' for key, item in value.items())}}}"
        )
    return json.dumps(value)
