"""The state that the observations add up to, and the changes that count as progress."""

from typing import Any

import msgspec
import pytest

from harness.checks.observed import folders, observations
from harness.checks.progress import claim_progress, world_states
from harness.history import records
from tests.histories import judged_runs, language, worlds

PODS, CLAIMS, SLICES = world_states.PODS, world_states.CLAIMS, world_states.SLICES


def convert(resource: str, document: dict[str, Any]) -> world_states.Object:
    return msgspec.convert(document, world_states.TYPES[resource])


META = {"uid": "uid-r", "resourceVersion": "1"}
PENDING = worlds.pod("p", claim="a")
PROGRESS = {
    "a pod is created": (PODS, None, PENDING),
    "it runs": (PODS, PENDING, worlds.pod("p", claim="a", phase="Running")),
    "it ends": (PODS, worlds.pod("p", phase="Running"), worlds.pod("p", phase="Failed")),
    "its deletion is asked for": (PODS, PENDING, worlds.pod("p", claim="a", deleting=True)),
    "a user's claim is created": (CLAIMS, None, worlds.claim("a")),
    "its deletion, too": (CLAIMS, worlds.claim("a"), worlds.claim("a", deleting=True)),
    "a slice changes": (SLICES, worlds.devices_of("n", 1), worlds.devices_of("n", 2)),
}
PROGRESS |= {
    "a pod is gone": (PODS, PENDING, None),
    "a claim is gone": (CLAIMS, worlds.claim("a"), None),
    "a slice is gone": (SLICES, worlds.devices_of("n", 1), None),
}
NO_PROGRESS = {
    "a pod is bound": (PODS, PENDING, worlds.pod("p", claim="a", node="n")),
    "a claim is allocated": (CLAIMS, worlds.claim("a"), worlds.claim("a", worlds.device("n", 0))),
    "a claim is generated": (CLAIMS, None, worlds.claim("c", owner="p")),
    "it is gone": (CLAIMS, worlds.claim("c", owner="p"), None),
    "a slice is written again": (SLICES, worlds.devices_of("n", 1), worlds.devices_of("n", 1)),
}


@pytest.mark.parametrize(
    ("resource", "before", "after", "moved"),
    [(*case, True) for case in PROGRESS.values()] + [(*case, False) for case in NO_PROGRESS.values()],
    ids=[*PROGRESS, *NO_PROGRESS],
)  # fmt: skip
def test_changes_that_count_as_progress(
    resource: str, before: dict[str, Any] | None, after: dict[str, Any] | None, moved: bool
) -> None:
    state = world_states.WorldState()
    if before is not None:
        state.note(convert(resource, before), 1, is_gone=False)
    last: Any = after or before
    state.note(convert(resource, last), 2, is_gone=after is None)
    assert (state.moved_ns == 2) is moved
    assert bool(state.pods or state.claims or state.slices) is (after is not None)
    assert (state.claims_changed_ns == 2) is (resource == CLAIMS)
    assert not state.granted, "no request has a selector"


def test_a_taint_rule_is_known_while_it_exists() -> None:
    state = world_states.WorldState()
    raw = msgspec.Raw(
        msgspec.json.encode(worlds.taint_rule("r") | {"metadata": {**META, "name": "r"}})
    )
    for number, (kind, known) in enumerate([("ADDED", {"uid-r"}), ("DELETED", set())], start=1):
        rule = records.Observation(
            resource=observations.TAINT_RULES,
            type=kind,  # type: ignore[arg-type]
            resource_version=number,
            ts_ns=number,
            object=raw,
        )
        folders.fold([rule], state)
        assert (set(state.taint_rules), state.moved_ns) == (known, number)


def test_what_vanishes_in_a_gap_is_gone_and_the_gap_counts_as_progress() -> None:
    world = worlds.World(
        pods=[PENDING], claims=[worlds.claim("a")], slices=[worlds.devices_of("n", 1)]
    )
    lists = [item for item in world.observations() if isinstance(item, records.Listed)]
    seen = [item for item in world.observations() if isinstance(item, records.Observation)]
    late_ns = 30 * worlds.SECOND_NS
    gap, relist = language.gap(PODS, 3, 1), language.listed(PODS, "relist", 9, ts_ns=late_ns)
    kept = [item for item in seen if not (item.type == "FINAL" and item.resource == PODS)]
    body = [*lists[:3], *kept[:3], gap, relist, *lists[3:], *kept[3:]]
    given = worlds.judged(body, plan=worlds.plan(), phases=worlds.phases(seconds=60))
    assert (given[world_states.WorldState].pods, given[world_states.WorldState].moved_ns) == (
        {},
        late_ns,
    )
    answer = judged_runs.examined(claim_progress.judge(given))
    assert answer.violations == []
