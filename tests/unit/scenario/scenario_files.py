"""Scenario files of tests: some to change, each as `mine.toml`."""

import pathlib
from typing import Any

from harness.scenario import loading

CHURN = """
schema_version = 1
name = "mine"
title = "a title"
description = "a description"
controls = []

[traffic]
profile = "churn"
users = 4

[load]
allocations_min = 1
pods_running_min = 0
"""
AT_ONCE = (
    CHURN.replace('profile = "churn"', 'profile = "all-at-once"\npods = 8')
    + "[pools]\nnodes = 2\ndevices_per_node = 5\n"
)
POOLS = f"""{CHURN}
[pools]
nodes = 2
devices_per_node = 0

[[pools.more]]
name = "gpu"
devices = 4

[[claim.requests]]
name = "one"
pool = "gpu"
"""
BASES = {"churn": CHURN, "at-once": AT_ONCE, "pools": POOLS}


def changed(base: str, change: str) -> str:
    """A scenario with `old => new`, or with another table before that of the load."""
    text, (old, arrow, new) = BASES[base], change.partition(" => ")
    old, new = (old, new) if arrow else ("[load]", f"{change}\n[load]")
    assert old in text, change
    return text.replace(old, new)


def load(folder: pathlib.Path, text: str, *overrides: str, **options: Any) -> loading.Loaded:
    path = folder / "mine.toml"
    path.write_text(text)
    return loading.load(str(path), overrides=overrides, **options)
