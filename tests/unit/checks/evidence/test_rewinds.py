"""Revisions that go back: two histories are not put in one order."""

import pathlib

import pytest

from harness.checks import judging, verdicts
from tests.histories import building, language, rewound

VALID, UNKNOWN, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.UNKNOWN, verdicts.Verdict.INVALID


def judge(body: rewound.Body, folder: pathlib.Path) -> verdicts.Verdict:
    directory = building.build(folder / "run", "", observations=rewound.whole(body))
    judgement = judging.judge(directory)
    assert judgement.verdict is not VALID
    [found] = [item for item in judgement.checks if item.check == "device_exclusivity"]
    assert (found.verdict is INVALID) is (judgement.verdict is INVALID)
    return found.verdict


@pytest.mark.parametrize("body", rewound.REWOUND.values(), ids=rewound.REWOUND)
def test_claims_of_two_histories_do_not_overlap(body: rewound.Body, tmp_path: pathlib.Path) -> None:
    assert judge(body, tmp_path) is not INVALID


def test_a_double_allocation_without_rewind_stands_after_a_gap(tmp_path: pathlib.Path) -> None:
    kept = [
        *rewound.FIRST,
        language.gap(rewound.CLAIMS, 112),
        language.listed(rewound.CLAIMS, "relist", 113),
        rewound.claim("ADDED", "d", 114, "D2"),
        rewound.claim("ADDED", "e", 115, "D2"),
    ]
    assert judge(kept, tmp_path) is INVALID
