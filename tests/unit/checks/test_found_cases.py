"""The judges' mistakes that were found in run directories, and the test of each.

The test of a case has to exist, with its parameter if one is named.
"""

import ast
import functools
import pathlib

import pytest

TESTS = pathlib.Path(__file__).parents[1]
CONTRADICTIONS = "checks/evidence/test_found_contradictions.py"
NOTICED = "test_a_contradiction_is_noticed"
DAMAGE, DAMAGED = "checks/test_damage.py", "test_damage_makes_unknown_and_is_named"
ALLOCATIONS = "checks/devices/test_allocation_checks.py"
EDITED, SPOILED = "cli/test_edited_runs.py", "cli/test_spoiled_runs.py"
PUBLISHING = "report/test_publishing.py"
REFUSED = "test_a_verdict_that_is_not_about_this_evidence_is_refused"
CASES = {
    "a MODIFIED loses its allocation": (CONTRADICTIONS, NOTICED, "an allocation is lost"),
    "a MODIFIED has another device": (CONTRADICTIONS, NOTICED, "another device is allocated"),
    "all records of a claim are gone": (CONTRADICTIONS, NOTICED, "all of a claim"),
    "the second claim's records are taken out of a real run": (
        EDITED,
        "test_a_claim_without_its_records_is_noticed",
        "",
    ),
    "pods name a claim that was never observed": (
        CONTRADICTIONS,
        "test_a_claim_that_only_a_pod_names_is_missed",
        "",
    ),
    "results have adminAccess or a share that the claim did not ask for": (
        ALLOCATIONS,
        "test_what_breaks_a_promise_is_named",
        "",
    ),
    "a record has another resourceVersion than its object": (
        CONTRADICTIONS,
        NOTICED,
        "a record unlike its object",
    ),
    "a life goes on after DELETED": (CONTRADICTIONS, NOTICED, "a life after its end"),
    "something unseen is MODIFIED": (CONTRADICTIONS, NOTICED, "a change of something unseen"),
    "something unseen is DELETED": (CONTRADICTIONS, NOTICED, "an end of something unseen"),
    "the first list has another count": (CONTRADICTIONS, NOTICED, "too large a first list"),
    "the final list has another count": (CONTRADICTIONS, NOTICED, "too large a final list"),
    "the final list is older than events before it": (
        CONTRADICTIONS,
        NOTICED,
        "an old final list",
    ),
    "processes.jsonl is cut short": (
        CONTRADICTIONS,
        "test_a_run_whose_record_was_cut_short_did_not_end",
        "",
    ),
    "a broken order makes a violation": (
        "checks/evidence/test_single_edits.py",
        "test_no_edit_makes_a_wrong_verdict",
        "",
    ),
    "a gap makes a violation": (CONTRADICTIONS, "test_a_lost_release_is_no_violation", ""),
    "report believes a verdict of another run": (
        EDITED,
        "test_a_verdict_that_was_copied_here_is_refused",
        "",
    ),
    "report believes schema 99": (PUBLISHING, REFUSED, "of a schema to come"),
    "report fails when all clocks go back": (
        "checks/test_doctor.py",
        "test_clocks_that_go_back_in_every_file_break_nothing",
        "",
    ),
    "check fails over bytes that are not UTF-8": (DAMAGE, DAMAGED, "a byte 0xff in an object"),
    "check fails over deep nesting": (DAMAGE, DAMAGED, "an object nested 100,000 deep"),
    "check fails over a folder in place of a journal": (DAMAGE, DAMAGED, "a folder, "),
    "check reads a line without an end": (
        DAMAGE,
        "test_a_line_without_an_end_is_not_read_whole",
        "",
    ),
    "any file is spoiled": (SPOILED, "test_a_file_that_was_spoiled_by_hand_is_named", ""),
    "escapes in names reach the terminal": (
        "cli/test_checking.py",
        "test_hostile_names_are_shown_and_not_obeyed",
        "",
    ),
    "violation_count stops": (
        "checks/test_device_exclusivity.py",
        "test_counts_are_exact_and_lists_are_limited",
        "",
    ),
    "an empty shareID is a share": (
        "checks/holds/test_sharing.py",
        "test_all_of_them_agree",
        "an empty share",
    ),
}
"""Case -> file, test and parameter."""


@functools.cache
def _source(file: str) -> tuple[frozenset[str], str]:
    """The names of the tests in a file, and its text."""
    text = (TESTS / file).read_text()
    names = {node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
    return frozenset(names), text


@pytest.mark.parametrize(("file", "test", "parameter"), CASES.values(), ids=CASES)
def test_the_case_has_a_test(file: str, test: str, parameter: str) -> None:
    names, text = _source(file)
    assert test in names
    assert parameter in text
