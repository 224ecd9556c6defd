"""The text of a comment on a pull request: its first words are the answer, and it is honest."""

import pathlib
import shutil
from collections.abc import Sequence
from typing import Any

import pytest

from harness.comparison import comparing, comparison_texts, documents
from harness.comparison.documents import Answer
from tests.histories import archives
from tests.support import cases

CONTROL = {"scenario": "churn", "subject": "gather-not-atomic", "purpose": "control"}
CAUGHT, MISSED = CONTROL | {"caught": 1}, CONTROL | {"caught": 0}


def campaign(
    reports: pathlib.Path,
    verdicts: str,
    *,
    scenario: str = "churn",
    rows: Sequence[dict[str, Any]] = (CAUGHT,),
    plan: dict[str, Any] | None = None,
) -> pathlib.Path:
    """A campaign with a run for each letter of `verdicts`, as in `VVI`."""
    runs = []
    for letter in sorted(set(verdicts)):
        verdict = {"V": "VALID", "I": "INVALID", "U": "UNKNOWN"}[letter]
        made = archives.run(reports, f"{reports.name}-{letter}", verdict, scenario=scenario)
        runs += archives.repeated(made, verdicts.count(letter), plan=plan or {"boot_id": "one"})
        shutil.rmtree(made.path)
    document = {"verdict": "VALID", "summary": f"{len(runs)} runs", "rows": list(rows)}
    return archives.campaign(reports, "c", runs, document=document)


def compare(base: pathlib.Path, change: pathlib.Path) -> documents.Comparison:
    return comparing.compare([base, change], labels=comparison_texts.LABELS)


def comment(tmp_path: pathlib.Path, base: str, change: str, **options: Any) -> str:
    first, second = campaign(tmp_path / "a", base), campaign(tmp_path / "b", change, **options)
    return comparison_texts.markdown(compare(first, second))


@pytest.mark.parametrize(("base", "change", "begins"), cases.read(__file__, "answers"))
def test_it_begins_with_the_answer(
    tmp_path: pathlib.Path, base: str, change: str, begins: str
) -> None:
    text = comment(tmp_path, base, change)
    assert text.startswith(f"**Flake Hunt: {begins}")
    assert "\n- base: VALID" in text
    assert text.endswith(f"{comparison_texts.MARK}\n")


def test_a_new_failure_is_named_with_its_scenario_and_what_was_found(
    tmp_path: pathlib.Path,
) -> None:
    text = comment(tmp_path, "VVVV", "VVVI")
    assert "\nNew with this change:\n\n- churn: device\\_exclusivity" in text
    assert "(churn/b-I-00000)" in text
    assert "| churn | 0 of 4 (0–61 %) | 1 of 4 (0.63–81 %) | cannot tell |" in text
    assert "New with" not in comment(tmp_path / "2", "VVVI", "VVVI"), "the base has it, too"


@pytest.mark.parametrize(
    ("base", "change", "missed", "answer"),
    [
        ("V" * 9, "I" * 9, "base", Answer.UNDECIDED),
        ("V" * 9, "I" * 9, "change", Answer.WORSE),
        ("I" * 9, "V" * 9, "change", Answer.UNDECIDED),
        ("I" * 9, "V" * 9, "base", Answer.BETTER),
        ("V" * 12, "V" * 12, "base", Answer.UNDECIDED),
        ("V" * 12, "V" * 12, "change", Answer.UNDECIDED),
    ],
)
def test_a_low_rate_counts_only_where_the_controls_were_caught(
    tmp_path: pathlib.Path, base: str, change: str, missed: str, answer: Answer
) -> None:
    sides = [
        campaign(tmp_path / name, found, rows=[MISSED if name == missed else CAUGHT])
        for name, found in (("base", base), ("change", change))
    ]
    found = compare(*sides)
    assert found.answer is answer
    text = comparison_texts.markdown(found)
    begin = text.partition("\n")[0]
    is_doubted = f"{missed} did not catch the control churn" in begin
    assert is_doubted is (answer is Answer.UNDECIDED) is ("cannot tell whether" in begin)


def test_both_sides_need_the_same_controls(tmp_path: pathlib.Path) -> None:
    other = CAUGHT | {"subject": "revision-bumped-late"}
    found = compare(
        campaign(tmp_path / "a", "V" * 12), campaign(tmp_path / "b", "V" * 12, rows=[CAUGHT, other])
    )
    assert (found.answer, found.exit_code) == (Answer.UNDECIDED, 20)
    assert found.doubts == ["only change has the control churn: revision-bumped-late"]
    assert found.summary.endswith(found.doubts[0])
    elsewhere = CAUGHT | {"scenario": "not-compared"}
    pair = [
        campaign(tmp_path / "c", "V" * 12),
        campaign(tmp_path / "d", "V" * 12, rows=[CAUGHT, elsewhere]),
    ]
    assert compare(*pair).doubts == []


def test_what_is_not_the_same_is_said(tmp_path: pathlib.Path) -> None:
    text = comment(tmp_path, "VVVVU", "VVVV", plan={"boot_id": "two", "seed": 9})
    assert "- the machine may differ" in text
    assert "- the seeds differ" in text
    assert "- churn: 1 of 5 runs of base are UNKNOWN" in text
    assert "positive controls" not in text
    for number, (base, change) in enumerate((("VVVV", "VVVV"), ("VVVVV", "VVVV"))):
        assert "To know" not in comment(tmp_path / str(number), base, change)


def test_scenarios_that_cannot_be_compared(tmp_path: pathlib.Path) -> None:
    sides = [
        campaign(tmp_path / "a", "VVVV", rows=[]),
        campaign(tmp_path / "b", "VVVV", scenario="other", rows=[]),
    ]
    text = comparison_texts.markdown(compare(*sides))
    assert "- no side has positive controls" in text
    assert text.startswith(
        "**Flake Hunt: cannot tell whether this change is worse.** cannot tell: no runs can"
    )
    assert "|---" not in text


def test_names_are_not_obeyed_and_a_link_stays_one(tmp_path: pathlib.Path) -> None:
    evil = "@all [x](http://evil) <img src=x> |"
    sides = [
        campaign(tmp_path / name, found, scenario="churn", plan={"scenario": evil})
        for name, found in (("a", "V" * 9), ("b", "I" * 9))
    ]
    text = comparison_texts.markdown(compare(*sides), link="https://host/a b)c")
    assert "@all" not in text
    assert "\\<img src=x\\>" in text
    assert "http://evil" not in text
    assert "[Pictures and reports](https://host/a%20b%29c)\n" in text
