"""Golden run directories for the checks of the end of a run and of the claim controller."""

from collections.abc import Sequence
from typing import Any

from harness.history import records
from tests.histories import building, recording, worlds
from tests.histories.golden_cases.case import Case, cases
from tests.histories.golden_cases.words import (
    NODE,
    SECOND_NS,
    Object,
    claim,
    gone,
    pod,
    prepared,
    unprepared,
)

# --------------------------------------------------------------------------------------- progress


def progress(**fields: Any) -> Object:
    """A plan that asks for progress, without the checks that ask for more."""
    alone = {"expected_steps": [], "expected_preparations": [], "settings": worlds.SETTINGS}
    return {"progress_s": 10.0, **alone, **fields}


RAN = [
    NODE,
    claim("a"),
    pod("p", claim="a"),
    claim("a", "0", users=["p"]),
    pod("p", claim="a", phase="Running", node="n"),
]
"""A pod that got its device and runs."""
FINISHED = [
    pod("p", claim="a", phase="Succeeded", node="n"),
    claim("a"),
    gone(claim("a")),
    gone(pod("p", claim="a", phase="Succeeded", node="n")),
]
"""Its end, and that of its claim."""
RESTED = worlds.phases(seconds=60)
STOPPED_EARLY = (*RESTED, records.Phase(name="found", ts_ns=61 * SECOND_NS, detail="a finding"))

NODES = {"expected_preparations": [building.KUBELET]}
ENDED = [*RAN, *FINISHED]
LEAKED = [*RAN, claim("b", "1")]
PROGRESS = [
    *cases(
        "claim_progress",
        "commits",
        {"VALID": RAN, "INVALID": [*RAN, claim("b"), pod("q", claim="b")]},
        plan=progress(),
        phases=RESTED,
    ),
    *cases(
        "claim_progress", "phases", {"UNKNOWN-no-time": STOPPED_EARLY}, commits=RAN, plan=progress()
    ),
    *cases(
        "resource_leaks",
        "commits",
        {"VALID": ENDED, "INVALID": LEAKED},
        plan=progress(),
        phases=RESTED,
    ),
    *cases(
        "resource_leaks",
        "phases",
        {"UNKNOWN-too-early": worlds.phases(seconds=10)},
        commits=LEAKED,
        plan=progress(),
    ),
    *cases(
        "leftover_preparations",
        "preparations",
        {
            "VALID": [prepared(), unprepared()],
            "INVALID": [prepared()],
            "UNKNOWN-nothing-prepared": (),
        },
        commits=ENDED,
        plan=progress(**NODES),
        phases=RESTED,
    ),
]

# ------------------------------------------------------------------------------- claim controller

CONTROLLED = progress(expected_steps=["claim-controller"])


def generated(name: str, *devices: str, **options: Any) -> recording.Commit:
    """A claim that was generated for the only entry of pod p."""
    commit = claim(name, *devices, owner="p", **options)
    commit.object["metadata"]["annotations"] = {"resource.kubernetes.io/pod-claim-name": "device"}
    return commit


def owner(**options: Any) -> recording.Commit:
    """A version of pod p, whose claim comes from a template."""
    return pod("p", **options)


NAMED = [NODE, owner(), generated("a"), owner(generated="a")]
RUNS = [generated("a", "0", users=["p"]), owner(generated="a", phase="Running", node="n")]
CONTROLLER = cases(
    "claim_controller",
    "commits",
    {
        "VALID": [*NAMED, *RUNS],
        "INVALID": [*NAMED, owner(), *RUNS],
        "UNKNOWN-no-pod": [NODE, claim("a", "0"), claim("a")],
    },
    plan=CONTROLLED,
    phases=RESTED,
)

CASES: Sequence[Case] = (*PROGRESS, *CONTROLLER)
