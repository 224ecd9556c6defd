"""Each field that the API calls a copy or computed: a defect that spoils it is always caught.

`tests/README.md` has the table of fields, rules and defects.
"""

import itertools
import pathlib
import re
import tomllib

import pytest

from harness.checks import check_registry, verdicts
from tests.detection import spoiled_plays

pytestmark = [pytest.mark.detection, pytest.mark.slow]
TESTS = pathlib.Path(__file__).parents[1]
FOLDER = TESTS / "support" / "spoiled"
HISTORIES = 20
SPOILED: dict[tuple[str, spoiled_plays.Play], str] = {
    ("copied_results", spoiled_plays.allocate): """
        tolerations-lost tolerations-invented conditions-lost failure-conditions-changed
        config-of-class-lost config-of-claim-lost config-source-changed config-reversed
        config-for-all
    """,
    ("reachable_devices", spoiled_plays.allocate): "selector-narrowed selector-lost",
    ("granted_shares", spoiled_plays.allocate): """
        amounts-omitted amounts-too-low amounts-too-high amounts-below-zero amounts-of-other-names
        share-id-lost share-id-invented
    """,
    ("granted_access", spoiled_plays.allocate): "admin-access-lost",
    ("requested_results", spoiled_plays.allocate): "request-of-alternative-shortened",
    ("claim_reservations", spoiled_plays.bind): """
        reservation-of-another-uid reservation-of-another-kind
    """,
    ("generated_claims", spoiled_plays.generate): """
        template-spec-changed template-config-lost template-labels-lost template-labels-invented
        template-annotations-lost entry-changed status-names-shared status-names-strange
    """,
    ("extended_claims", spoiled_plays.extend): "mappings-lost mappings-to-none mappings-to-one",
}
"""The check that defects break and what the subject does -> these defects."""
DEFECTS = {defect: broken for broken, names in SPOILED.items() for defect in names.split()}


@pytest.fixture(autouse=True)
def _plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAKE_HUNT_PLUGINS", str(FOLDER))


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_spoiled_field_is_caught_in_each_history(defect: str) -> None:
    check, perform = DEFECTS[defect]
    for seed in range(HISTORIES):
        assert perform(seed, [defect])[check] is verdicts.Verdict.INVALID, seed


@pytest.mark.parametrize(
    "perform",
    [spoiled_plays.allocate, spoiled_plays.bind, spoiled_plays.generate, spoiled_plays.extend],
)
def test_correct_code_breaks_no_rule(perform: spoiled_plays.Play) -> None:
    checks = {check for check, play in DEFECTS.values() if play is perform}
    for seed in range(HISTORIES):
        found = perform(seed, [])
        assert checks <= found.keys(), seed
        assert set(found.values()) == {verdicts.Verdict.VALID}, (seed, found)


def test_the_table_names_each_defect_with_its_rule() -> None:
    rows = re.findall(
        r"^\| `[^|]*\| `(\w+)` \| `([\w-]+)` \|", (TESTS / "README.md").read_text(), re.M
    )
    assert {(defect, check) for check, defect in rows} == {
        (defect, check) for defect, (check, _) in DEFECTS.items()
    }
    project = tomllib.loads((FOLDER / "pyproject.toml").read_text())["project"]
    assert set(project["entry-points"]["flake_hunt.defects"]) == set(DEFECTS)
    assert {check for check, _ in rows} <= {check.name for check in check_registry.CHECKS}


def test_each_history_is_another_one() -> None:
    drawn = [spoiled_plays.Drawn(seed).claims for seed in range(HISTORIES)]
    assert all(one != other for one, other in itertools.pairwise(drawn))
