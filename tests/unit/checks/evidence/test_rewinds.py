"""Revisions that go back: two histories are not put in one order."""

import pathlib

import pytest

from harness.checks import judging, verdicts
from harness.checks.evidence import certain_holds
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


@pytest.mark.parametrize("body", rewound.REWOUND.values(), ids=rewound.REWOUND)
def test_a_double_allocation_in_the_first_history_stands(
    body: rewound.Body, tmp_path: pathlib.Path
) -> None:
    early = [rewound.claim("ADDED", name, rv, "D2") for rv, name in ((80, "d"), (81, "e"))]
    assert judge([*early, *body], tmp_path) is INVALID


def test_a_double_allocation_without_rewind_stands_after_a_gap(tmp_path: pathlib.Path) -> None:
    kept = [
        *rewound.FIRST,
        rewound.gap(112),
        rewound.listed("relist", 113),
        rewound.claim("ADDED", "d", 114, "D2"),
        rewound.claim("ADDED", "e", 115, "D2"),
    ]
    assert judge(kept, tmp_path) is INVALID


def test_all_records_come_before_a_rewind_that_there_is_none_of() -> None:
    body = language.observe("a+D1 b+D2 [ . b-D2 . ] . a^p a~")
    assert list(certain_holds.before(body)) == body


def test_the_list_that_shows_a_rewind_is_left_out() -> None:
    body = rewound.whole(rewound.REWOUND["a list that has come further"])
    assert list(certain_holds.before(body)) == body[: len(rewound.BEGIN) + len(rewound.FIRST) + 1]


def test_a_list_that_breaks_off_is_kept() -> None:
    body = [*rewound.BEGIN, *rewound.FIRST, rewound.gap(112), rewound.listed("relist", 115, 3)]
    assert list(certain_holds.before(body)) == body
