"""Revisions that go back: two histories are not put in one order."""

import pathlib

import pytest

from harness.checks import judging, verdicts
from tests.histories import building, rewound

VALID, UNKNOWN, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.UNKNOWN, verdicts.Verdict.INVALID


def judge(text: str, folder: pathlib.Path) -> verdicts.Verdict:
    directory = building.build(folder / "run", "", observations=rewound.whole(text))
    judgement = judging.judge(directory)
    assert judgement.verdict is not VALID
    [found] = [item for item in judgement.checks if item.check == "device_exclusivity"]
    assert (found.verdict is INVALID) is (judgement.verdict is INVALID)
    return found.verdict


@pytest.mark.parametrize("text", rewound.REWOUND.values(), ids=rewound.REWOUND)
def test_claims_of_two_histories_do_not_overlap(text: str, tmp_path: pathlib.Path) -> None:
    assert judge(text, tmp_path) is not INVALID


def test_a_double_allocation_without_rewind_stands_after_a_gap(tmp_path: pathlib.Path) -> None:
    kept = f"{rewound.FIRST} gap112 relist113 d:A114=D2 e:A115=D2"
    assert judge(kept, tmp_path) is INVALID
