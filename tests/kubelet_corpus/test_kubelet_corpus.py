"""Our DRA manager reads, calls, checkpoints and fails as a real kubelet did with its drivers."""

import pathlib

import pytest

from harness.cluster.dra import claim_managers
from tests.kubelet_corpus import replaying

DOUBLED = (
    "answer-lacks-claim",
    "answer-unknown-claim",
    "one-of-several-fails",
    "kubelet-restart",
    "reboot",
)
"""Of 1.36.3: devices of an earlier attempt are given again (kubernetes#140274); ours are not."""
CONVERSATIONS = replaying.conversations()


@pytest.mark.parametrize("name", sorted(CONVERSATIONS))
def test_the_same_claims_are_read_and_the_same_bytes_are_sent(
    name: str, tmp_path: pathlib.Path
) -> None:
    replay = replaying.Replay(tmp_path, claim_managers.CORRECT.manager)
    for number, step in enumerate(CONVERSATIONS[name]):
        if replay.is_told(step):
            continue
        if "container" in step:
            ids = replay.cdi(step["pod"])[step["container"]]
            recorded = step["cdi"] if name not in DOUBLED else list(dict.fromkeys(step["cdi"]))
            assert sorted(ids) == sorted(recorded), step
        elif step["do"] == "restart":
            replay.restart()
        else:
            found = replay.attempt(step)
            assert not list(replaying.differences(step, found)), f"step {number}: {step}"
