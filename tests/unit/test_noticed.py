"""Whatever code notices reaches a verdict: each such field has its test, or a reason why not.

Fields are found by their names. A new one fails this test until it stands in `NOTICED`, with a
test in which it turns VALID into UNKNOWN or an error, or with the reason why it must not.
"""

import ast
import pathlib
import re
from collections.abc import Iterator

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PACKAGES = (
    "campaign",
    "checks",
    "comparison",
    "history",
    "log_analysis",
    "tables",
)
NAMES = re.compile(
    r"(^|_)(problems?|notes?|differences?|missing|errors?|torn|damaged?|left_out|unread\w*|warnings?|"
    r"contradictions?|gaps?|doubts?|unknown|failed|failures?|skipped|lost|incomplete|truncated|"
    r"not_[a-z]+|cut|removed)$"
)
CERTIFICATE = "checks/certificate/test_certificate.py"
WITNESS = "checks/witness"
MERGING = "campaign/sharding/test_merging.py"
FORGED = "campaign/sharding/test_forged_shards.py::test_no_forged_shard_is_valid"
COMPARING = "comparison/test_comparing.py"
GAP = f"{CERTIFICATE}::test_a_gap_makes_unknown"
DAMAGE = f"{CERTIFICATE}::test_each_damage_fails_its_own_items"
DOUBT = "checks/test_doubtful_violations.py::test_a_violation_is_not_certain_if_the_observations_are_in_doubt"

NOTICED = {
    "checks/claims/claim_lives.py ClaimLives.removed": "why not: they are violations, of the API server",
    "history/campaign_folders.py Result.cut": f"{COMPARING}::test_a_result_that_was_cut_is_named",
    "campaign/results.py RunResult.is_usage_error": "campaign/test_results.py::test_a_missing_run_is_an_error",
    "checks/claims/claim_lives.py ClaimLives._has_gap": "checks/claims/test_claims_in_use.py::test_a_gap_in_the_pods_is_doubt",
    "checks/claims/template_copies.py TemplateCopies.has_gap": "checks/claims/test_template_copies.py::test_a_gap_in_the_templates_may_hide_the_version_that_explains_it",
    "checks/pods/unbound_pods.py _Refusal.error": "why not: it explains a verdict that is UNKNOWN already",
    "history/campaign_folders.py CampaignFolder.is_cut": f"{COMPARING}::test_a_result_that_was_cut_is_named",
    "history/campaign_folders.py CampaignFolder.problem": "history/test_report_folders.py::test_a_damaged_campaign",
    "history/campaign_folders.py Result.error": f"{COMPARING}::test_an_error_of_a_run_is_told_in_one_line",
    "history/run_folders.py RunFolder.problem": "history/test_run_folders.py::test_a_damaged_run_is_never_taken_for_a_judged_one",
    "campaign/campaign_documents.py CampaignDocument.notes": FORGED,
    "campaign/campaign_documents.py CampaignDocument.problems": FORGED,
    "campaign/campaign_plan.py CampaignPlan.left_out": "campaign/test_campaign_plan.py::test_what_a_cluster_cannot_run_is_left_out_of_all_and_refused_by_name",
    "campaign/hunting.py _Collector.failure": "why not: an exception, raised again by the caller",
    "campaign/programs/fitting.py Chosen.left_out": "why not: scenarios that do not fit a program, or that a choice has not; the sentence counts them",
    "campaign/programs/fitting.py Chosen.not_tried": "why not: scenarios that do not fit a program, or that a choice has not; the sentence counts them",
    "campaign/programs/tested_programs.py TestedProgram.left_out": "why not: scenarios that do not fit a program, or that a choice has not; the sentence counts them",
    "campaign/programs/tested_programs.py TestedProgram.not_tried": "why not: scenarios that do not fit a program, or that a choice has not; the sentence counts them",
    "campaign/results.py RunResult.cut": "campaign/test_results.py::test_a_planned_run_without_a_result_makes_the_campaign_unknown",
    "campaign/results.py RunResult.error": "campaign/test_results.py::test_a_missing_run_is_an_error",
    "campaign/results.py RunResult.missing": "campaign/test_results.py::test_a_missing_run_is_an_error",
    "campaign/sharding/run_durations.py _Result.cut": "why not: it only says how long a run took",
    "campaign/sharding/run_durations.py _Result.error": "why not: it only says how long a run took",
    "campaign/sharding/merging.py MergeDocument.missing": f"{MERGING}::test_a_missing_shard_is_unknown_by_name",
    "campaign/sharding/merging.py MergedFolder.problems": FORGED,
    "campaign/sharding/merging.py Merged.missing": f"{MERGING}::test_a_missing_shard_is_unknown_by_name",
    "campaign/sharding/shard_reading.py ShardResults.problems": FORGED,
    "checks/claims/generated_claims.py _Excuses._unknown": "checks/claims/test_pod_lives.py::test_a_gap_hides_the_record_of_a_claim",
    "checks/claims/group_lives.py GroupLives._has_gap": "checks/claims/test_pod_groups.py::test_a_gap_in_the_groups_is_doubt",
    "checks/claims/pod_lives.py PodLives._has_gap": "checks/claims/test_claims_in_use.py::test_a_gap_in_the_pods_is_doubt",
    "checks/devices/device_catalogue.py DeviceCatalogue.gaps": DOUBT,
    "checks/devices/pool_timelines.py PoolTimelines.has_gap": DOUBT,
    "checks/doubtful_violations.py Reviewer._doubt": DOUBT,
    "checks/evidence/acknowledged_writes.py SubjectWrites.problems": f"{CERTIFICATE}::test_the_journal_of_the_subjects_writes_has_to_be_complete",
    "checks/evidence/api_call_totals.py Operations.errors": "why not: faults and contention cause errors; their effects are judged",
    "checks/evidence/api_call_totals.py Operations.problems": DAMAGE,
    "checks/evidence/api_call_totals.py Operations.unknown": "why not: what became of a call is observed",
    "checks/evidence/api_call_totals.py _Tally.errors": "why not: they become Operations.errors",
    "checks/evidence/api_call_totals.py _Tally.problems": DAMAGE,
    "checks/evidence/api_call_totals.py _Tally.unknown": "why not: it becomes Operations.unknown",
    "checks/evidence/contradictions.py Contradictions.doubts": DOUBT,
    "checks/evidence/pool_changes.py Reading.problems": "checks/evidence/test_pool_changes.py::test_what_is_missing_makes_the_run_unknown",
    "checks/run_figures.py Figures.api_errors": "why not: a figure of Operations.errors",
    "checks/holds/hold_history.py ObservedStream.gaps": GAP,
    "checks/nodes/device_readiness.py _Early.missing": "why not: it is a violation",
    "checks/nodes/extended_claims.py ExtendedClaims.has_gap": "checks/nodes/test_extended_claims.py::test_a_gap_of_the_observations_is_no_violation",
    "checks/nodes/preparations.py Preparations.failed": "why not: drivers may refuse; what follows is judged",
    "checks/nodes/preparations.py Reading.problems": DAMAGE,
    "checks/nodes/preparations.py _Tally._failed": "why not: it becomes Preparations.failed",
    "checks/pods/bound_pods.py _Wrong.problems": "why not: they are violations",
    "checks/pods/pod_bindings.py PodBindings.gaps": "checks/pods/test_bound_pods.py::test_a_gap_may_hide_a_reservation",
    "checks/progress/stuck_objects.py Findings.doubts": "checks/progress/test_claim_progress.py::test_what_an_observer_cannot_know_is_unknown",
    "checks/progress/stuck_objects.py _Search._doubts": "checks/progress/test_claim_progress.py::test_what_an_observer_cannot_know_is_unknown",
    "checks/verdict_files.py Judgement.not_examined": "checks/test_conclusions.py::test_a_demanded_check_that_never_ran_is_unknown",
    "checks/witness/audit_files.py AuditReader.notes": f"{WITNESS}/test_audit_comparison.py::test_what_is_wrong_with_the_log_is_said",
    "checks/witness/audit_files.py AuditReader.damaged": f"{WITNESS}/test_audit_comparison.py::test_what_is_wrong_with_the_log_is_said",
    "checks/witness/audit_history.py AuditHistory.contradictions": f"{WITNESS}/test_comparing.py::test_what_changes_nothing_is_answered_twice_and_contradictions_are_named",
    "checks/witness/comparing.py Comparison.differences": f"{WITNESS}/test_audit_comparison.py::test_differences_are_counted",
    "checks/witness/comparing.py Comparison.lost": f"{WITNESS}/test_audit_comparison.py::test_a_line_that_is_missing_is_named",
    "checks/witness/hidden_writes.py Explanations._skipped": f"{WITNESS}/test_audit_comparison.py::test_a_line_that_is_missing_is_named",
    "checks/witness/audit_comparison.py AuditComparison.notes": f"{WITNESS}/test_audit_comparison.py::test_what_is_wrong_with_the_log_is_said",
    "checks/witness/audit_comparison.py AuditComparison.damaged": f"{WITNESS}/test_audit_comparison.py::test_what_is_wrong_with_the_log_is_said",
    "checks/witness/watched_writes.py Stream.gaps": f"{WITNESS}/test_comparing.py::test_the_last_revision_before_a_gap_must_have_been_seen",
    "campaign/sharding/merged_campaigns.py GivenShards.damaged": FORGED,
    "comparison/comparison_texts.py Table.notes": "why not: the words of a table; the answers are decided before",
    "comparison/documents.py Comparison.doubts": "comparison/test_comments.py::test_a_low_rate_counts_only_where_the_controls_were_caught",
    "comparison/documents.py Comparison.not_compared": f"{COMPARING}::test_another_load_is_not_compared",
    "comparison/documents.py Outcomes.unknown": f"{COMPARING}::test_unknown_runs_are_not_valid_ones",
    "comparison/documents.py Side.left_out": f"{COMPARING}::test_runs_without_a_verdict_are_left_out_and_said",
    "comparison/documents.py Side.unknown": f"{COMPARING}::test_unknown_runs_are_not_valid_ones",
    "comparison/run_groups.py Matching.not_compared": f"{COMPARING}::test_another_load_is_not_compared",
    "history/clock_domains.py RemoteWorkers.problems": "history/test_clock_domains.py::test_a_worker_that_is_missing_or_lost_is_named",
    "history/histories.py EvidenceReader.damage": DAMAGE,
    "history/journal_reader.py Journal.torn": DAMAGE,
    "history/journal_reader.py Reader.torn": DAMAGE,
    "history/journal_tails.py Tail.damage": "why not: a live view is no verdict; the judge reads the journal again",
    "history/manifests.py Comparison.problem": "history/test_manifests.py::test_a_manifest_that_cannot_be_used_rules_out_valid",
    "history/records.py FaultWindow.error": "checks/faults/test_fault_records.py::test_a_fault_that_failed",
    "history/records.py ProcessEnded.lease_lost": "why not: a scheduler that loses its lease must end; its successor is judged",
    "history/records.py WorkerLeft.lost": "history/test_clock_domains.py::test_a_worker_that_is_missing_or_lost_is_named",
    "log_analysis/analysis_results.py Analysis.failures": "why not: failed writes are told beside the answer",
    "log_analysis/analysis_results.py Analysis.gaps": "log_analysis/test_forms.py::test_the_number_of_plans_that_could_not_be_read_is_said",
    "log_analysis/analysis_results.py Finding.missing": "why not: it is a violation, whose cause is not certain",
    "log_analysis/double_allocations.py ClaimLines.removed": "why not: the time of a step",
    "log_analysis/log_states.py LogState.failures": "why not: they become Analysis.failures",
    "log_analysis/log_states.py LogState.gaps": "log_analysis/test_forms.py::test_the_number_of_plans_that_could_not_be_read_is_said",
    "log_analysis/text_blocks.py LogText.damage": "log_analysis/test_recorded_logs.py::test_compressed_data_that_ends_early_is_said",
    "log_analysis/text_blocks.py LogText.gaps": "log_analysis/test_forms.py::test_lines_that_journald_did_not_keep_make_it_unknown",
    "tables/second_judge.py Comparison.problem": "tables/test_query_command.py::test_judges_that_do_not_agree",
}


def _fields() -> Iterator[str]:
    """Yield `path Class.field` for each field whose name says that something was noticed."""
    for package in PACKAGES:
        for path in sorted((ROOT / "harness" / package).rglob("*.py")):
            where = path.relative_to(ROOT / "harness")
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ClassDef):
                    yield from (f"{where} {node.name}.{name}" for name in _noticed(node))


def _noticed(owner: ast.ClassDef) -> Iterator[str]:
    """Yield the fields of a class: annotated in its body, or assigned to self."""
    found: list[ast.expr] = [item.target for item in owner.body if isinstance(item, ast.AnnAssign)]
    for node in ast.walk(owner):
        match node:
            case ast.Assign(targets=targets):
                found += [item for item in targets if isinstance(item, ast.Attribute)]
            case ast.AnnAssign(target=ast.Attribute() as target):
                found.append(target)
    for field in found:
        match field:
            case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="self"), attr=name):
                if NAMES.search(name):
                    yield name


def test_every_field_that_says_what_was_noticed_is_listed() -> None:
    assert {*_fields()} == {*NOTICED}


@pytest.mark.parametrize("proof", sorted({*NOTICED.values()}))
def test_there_is_the_test_that_shows_it(proof: str) -> None:
    if proof.startswith("why not: "):
        return
    path, _, name = proof.partition("::")
    tree = ast.parse((ROOT / "tests/unit" / path).read_text())
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
