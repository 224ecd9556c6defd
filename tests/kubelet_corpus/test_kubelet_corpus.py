"""Our DRA manager reads, calls, checkpoints and fails as a real kubelet did with its drivers."""

import pathlib
import tempfile

from harness.cluster.dra import kubelet_defects
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


def differences(name: str, folder: pathlib.Path, *defects: str, once: bool = False) -> list[str]:
    made = tempfile.mkdtemp(dir=folder)
    manager = kubelet_defects.parts(defects).manager
    return replaying.replay(CONVERSATIONS[name], pathlib.Path(made), manager, once=once)


def test_the_same_claims_are_read_and_the_same_bytes_are_sent(tmp_path: pathlib.Path) -> None:
    names = CONVERSATIONS.keys() - OTHER_BUGS.keys()
    found = {name: differences(name, tmp_path, once=name in DOUBLED) for name in names}
    assert {name: told for name, told in found.items() if told} == {}


def test_a_known_bug_of_the_real_one_is_that_of_our_defect_only(tmp_path: pathlib.Path) -> None:
    for name, defect in KNOWN_BUGS.items():
        assert differences(name, tmp_path), name
        told = differences(name, tmp_path, defect)
        assert not [it for it in told if "checkpoints" not in it and "reads" not in it], name


def test_only_the_real_one_gives_a_device_twice(tmp_path: pathlib.Path) -> None:
    assert all(differences(name, tmp_path) for name in DOUBLED)
