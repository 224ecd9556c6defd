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
OF_ALLOCATION = spoiled_plays.allocate
OF_TEMPLATE = ("generated_claims", spoiled_plays.generate)
DEFECTS: dict[str, tuple[str, spoiled_plays.Play]] = {
    "tolerations-lost": ("copied_results", OF_ALLOCATION),
    "tolerations-invented": ("copied_results", OF_ALLOCATION),
    "conditions-lost": ("copied_results", OF_ALLOCATION),
    "failure-conditions-changed": ("copied_results", OF_ALLOCATION),
    "config-of-class-lost": ("copied_results", OF_ALLOCATION),
    "config-of-claim-lost": ("copied_results", OF_ALLOCATION),
    "config-source-changed": ("copied_results", OF_ALLOCATION),
    "config-reversed": ("copied_results", OF_ALLOCATION),
    "config-for-all": ("copied_results", OF_ALLOCATION),
    "selector-narrowed": ("reachable_devices", OF_ALLOCATION),
    "selector-lost": ("reachable_devices", OF_ALLOCATION),
    "amounts-omitted": ("granted_shares", OF_ALLOCATION),
    "amounts-too-low": ("granted_shares", OF_ALLOCATION),
    "amounts-too-high": ("granted_shares", OF_ALLOCATION),
    "amounts-below-zero": ("granted_shares", OF_ALLOCATION),
    "amounts-of-other-names": ("granted_shares", OF_ALLOCATION),
    "share-id-lost": ("granted_shares", OF_ALLOCATION),
    "share-id-invented": ("granted_shares", OF_ALLOCATION),
    "admin-access-lost": ("granted_access", OF_ALLOCATION),
    "request-of-alternative-shortened": ("requested_results", OF_ALLOCATION),
    "reservation-of-another-uid": ("claim_reservations", spoiled_plays.bind),
    "reservation-of-another-kind": ("claim_reservations", spoiled_plays.bind),
    "template-spec-changed": OF_TEMPLATE,
    "template-config-lost": OF_TEMPLATE,
    "template-labels-lost": OF_TEMPLATE,
    "template-labels-invented": OF_TEMPLATE,
    "template-annotations-lost": OF_TEMPLATE,
    "entry-changed": OF_TEMPLATE,
    "status-names-shared": OF_TEMPLATE,
    "status-names-strange": OF_TEMPLATE,
    "mappings-lost": ("extended_claims", spoiled_plays.extend),
    "mappings-to-none": ("extended_claims", spoiled_plays.extend),
    "mappings-to-one": ("extended_claims", spoiled_plays.extend),
}
"""Defect -> the check that it breaks, and what the subject does."""


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
