"""Our DRA manager reads, calls, checkpoints and fails as a real kubelet did with its drivers."""

import pathlib

import pytest

from harness.cluster.dra import claim_managers, kubelet_defects
from tests.kubelet_corpus import replaying

DOUBLED = {
    "answer-lacks-claim",
    "answer-unknown-claim",
    "kubelet-restart",
    "one-of-several-fails",
    "reboot",
    "restart-then-share",
    "two-drivers-one-fails",
}
"""1.36.3 gives containers the devices of an earlier answer again (kubernetes#140274)."""
IN_ANY_ORDER = {"answer-unknown-claim", "one-of-several-fails"}
"""Those in which it depends on the order of a Go map which devices are doubled."""
OTHER_BUGS = {
    "refused-pod-ends": "used-claim-unprepared",
    "shared-then-own-1.34": "prepared-claim-ends-loop",
    "template-claim-never-created": "unnamed-claim-stops-unprepare",
}
KNOWN_BUGS = {**dict.fromkeys(DOUBLED - IN_ANY_ORDER, "cdi-ids-doubled"), **OTHER_BUGS}
"""Conversation in which the real one is wrong -> our defect, which does the same."""
CONVERSATIONS = replaying.conversations()


@pytest.mark.parametrize("name", sorted(CONVERSATIONS.keys() - OTHER_BUGS.keys()))
def test_the_same_claims_are_read_and_the_same_bytes_are_sent(
    name: str, tmp_path: pathlib.Path
) -> None:
    assert not replaying.replay(
        CONVERSATIONS[name], tmp_path, claim_managers.CORRECT.manager, once=name in DOUBLED
    )


@pytest.mark.parametrize(("name", "defect"), sorted(KNOWN_BUGS.items()))
def test_a_known_bug_of_the_real_one_is_that_of_our_defect_only(
    name: str, defect: str, tmp_path: pathlib.Path
) -> None:
    correct, wrong = claim_managers.CORRECT.manager, kubelet_defects.parts([defect]).manager
    (tmp_path / "wrong").mkdir()
    assert replaying.replay(CONVERSATIONS[name], tmp_path, correct)
    found = replaying.replay(CONVERSATIONS[name], tmp_path / "wrong", wrong)
    assert not [line for line in found if "checkpoints" not in line and "reads" not in line]


@pytest.mark.parametrize("name", sorted(DOUBLED))
def test_only_the_real_one_gives_a_device_twice(name: str, tmp_path: pathlib.Path) -> None:
    assert replaying.replay(CONVERSATIONS[name], tmp_path, claim_managers.CORRECT.manager)
