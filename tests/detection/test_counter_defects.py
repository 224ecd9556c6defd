"""Claims that are allocated one after the other, and how a recorder writes them down.

The allocator is the scheduler's own, so that a known defect of it can be put in. A pool has fewer
counters than its devices would consume together.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest

from harness.checks import verdicts
from harness.checks.devices import device_consumption
from harness.cluster.fake_nodes import fake_objects, pool_slices
from harness.history import records
from harness.model import naming
from harness.scenario import claim_specs, pool_specs
from harness.subject import assembling
from harness.subject.allocation import allocated_states, inventories
from harness.traffic import objects
from tests.histories import claim_judging, judged_runs, language

pytestmark = pytest.mark.detection
Object = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Play:
    """Pools, and claims that come in turn, each on the next node."""

    pools: pool_specs.PoolsSpec
    claims: tuple[claim_specs.ClaimSpec, ...]
    exposes: str


def _pools(nodes: int, **kind: Any) -> pool_specs.PoolsSpec:
    more = [{"name": "gpu", **kind}]
    document = {"nodes": nodes, "devices_per_node": 0, "more": more}
    return pool_specs.PoolsSpec.model_validate(document)


def _claim(*, parts: int) -> claim_specs.ClaimSpec:
    selector = f'device.attributes["{pool_specs.PoolsSpec().driver}"].parts == {parts}'
    request = {"name": "r", "pool": "gpu", "selectors": [selector]}
    return claim_specs.ClaimSpec.model_validate({"requests": [request]})


PLAYS = (
    Play(
        pools=_pools(1, devices=1, partitions=[1, 2], shared=True, capacity={"memory": "4"}),
        claims=(_claim(parts=1), _claim(parts=2)),
        exposes="shares-not-gathered",
    ),
    Play(
        pools=_pools(3, place="device", devices=6, limit=2, partitions=[1]),
        claims=(_claim(parts=1),),
        exposes="counters-of-one-node",
    ),
)
EXPOSED = frozenset(play.exposes for play in PLAYS)


def perform(play: Play, *defects: str, claims: int = 6) -> verdicts.CheckResult:
    """Allocate claims with these defects of the allocator, and judge the history of it."""
    slices = [*_slices(play.pools)]
    body = [*map(_listed, slices)]
    snapshot = inventories.snapshot_of(slices)
    state = allocated_states.AllocatedState()
    classes = fake_objects.device_classes(play.pools, labels={})
    by_name = {item["metadata"]["name"]: item for item in classes}
    for number in range(claims):
        made = _made(play, number)
        allocator = assembling.parts(defects).new_allocator(snapshot, state, by_name, [made])
        node = {"metadata": {"name": naming.node(number % play.pools.nodes), "labels": {}}}
        found = allocator.allocate(node)
        if found is not None:
            state.add(found[0])
            body.append(_allocated(made, found[0], rv=number + 10))
    check = device_consumption.CHECK
    return judged_runs.examined(check.judge(claim_judging.evidence(body, [check])))


def _slices(pools: pool_specs.PoolsSpec) -> Iterator[Object]:
    for index in range(pools.nodes):
        yield from pool_slices.of_node(pools, naming.node(index), labels={})
    yield from pool_slices.of_cluster(pools, labels={})


def _made(play: Play, number: int) -> Object:
    claim = play.claims[number % len(play.claims)]
    meta = {"name": f"c{number}", "namespace": "n", "uid": f"u{number}", "resourceVersion": "1"}
    return {"metadata": meta, "spec": objects.claim_spec(claim, play.pools)}


def _listed(piece: Object) -> records.Body:
    known = {**piece["metadata"], "uid": "s", "resourceVersion": "1"}
    return language.observation("resourceslices", 1, {**piece, "metadata": known}, "LISTED")


def _allocated(claim: Object, allocation: Object, *, rv: int) -> records.Body:
    value = {**claim, "status": {"allocation": allocation}}
    return language.observation("resourceclaims", rv, value)


plays = pytest.mark.parametrize("play", PLAYS, ids=lambda play: str(play.exposes))


@plays
@pytest.mark.parametrize("defect", sorted(EXPOSED))
def test_a_defect_is_caught_where_it_shows(play: Play, defect: str) -> None:
    result = perform(play, defect)
    expected = verdicts.Verdict.INVALID if defect == play.exposes else verdicts.Verdict.VALID
    assert result.verdict is expected
    for violation in result.violations:
        kinds = {item.kind for item in violation.objects}
        assert kinds == {"ResourceClaim", "ResourceSlice"}
        assert "counter " in violation.text


@plays
def test_the_correct_allocator_uses_all_and_no_more(play: Play) -> None:
    result = perform(play)
    assert result.verdict is verdicts.Verdict.VALID
    assert result.examined_count >= 2
