"""The claim controller does what the one of kube-controller-manager 1.36.2 was recorded to do.

As 1.36.2 it agrees in every case. The default controller differs where that release is known to be
wrong; each such case is in DIFFERENCES, which has to be complete and exact.
"""

import collections

import pytest

from tests.controller_corpus import replaying

GROUPS = collections.defaultdict(list)
for _case in replaying.cases():
    GROUPS[_case["group"]].append(_case)
FINISHED = "a pod that has ended gets no claim and no reservation (kubernetes#141274)"
FLAPPING = "an apply repeats the claims recorded before (kubernetes#138407)"
MADE_AGAIN = "a claim that was deleted is created again at once (kubernetes#140217)"
DIFFERENCES = {
    "terminal-pod-waits-for-template": FINISHED,
    "finished-pod-after-a-restart": FINISHED,
    "terminal-bound-pod-claim-allocated-later": FINISHED,
    "pod-finished-while-down-generated": FINISHED,
    "pod-finished-while-down-template-there": FINISHED,
    "terminal-pod-created-while-down": FINISHED,
    "one-of-two-claims-deleted": FLAPPING,
    "one-of-two-claims-deleted-while-down": FLAPPING,
    "generated-claim-deleted": MADE_AGAIN,
    "generated-claim-deleted-template-gone": MADE_AGAIN,
    "generated-claim-held-by-another-finalizer": MADE_AGAIN,
}
"""Why the default controller differs, by the name of the case."""


def differing(group: str, release: str | None) -> dict[str, list[str]]:
    found = {case["name"]: replaying.replay(case, release) for case in GROUPS[group]}
    return {name: differences for name, differences in found.items() if differences}


@pytest.mark.parametrize("group", sorted(GROUPS))
def test_as_1_36_2_it_agrees_with_the_recording(group: str) -> None:
    assert differing(group, "1.36.2") == {}


@pytest.mark.parametrize("group", sorted(GROUPS))
def test_the_default_differs_only_where_the_release_is_wrong(group: str) -> None:
    expected = {case["name"] for case in GROUPS[group]} & DIFFERENCES.keys()
    assert differing(group, None).keys() == expected


def test_the_differences_are_those_of_the_corpus() -> None:
    names = {case["name"] for cases in GROUPS.values() for case in cases}
    assert names >= DIFFERENCES.keys()
    assert len(names) == 181
    assert len(GROUPS) == 16


def test_a_controller_that_does_otherwise_is_noticed() -> None:
    """1.34.2 blocks the deletion of owners, so that every generated claim differs."""
    assert "one-template-claim" in differing("generate", "1.34.2")
    assert "wrong-uid" not in differing("cleanup", "1.34.2")
