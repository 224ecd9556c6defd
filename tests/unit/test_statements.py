"""Statements about the scheduler, the claim controller and the kubelets, and the test of each.

A statement of these tables is a requirement, or a mistake that was made once. Its test has to
exist, and to be the only one that is named for it.
"""

import ast
import functools
import pathlib

import pytest

TESTS = pathlib.Path(__file__).parent
SCHEDULERS = "subject/scheduling/test_schedulers.py"
QUEUE = "subject/queueing/test_scheduling_queue.py"
RESULTS = "subject/allocation/test_results.py"
FEATURES = "subject/claim_control/test_controller_features.py"
CONTROLLER = "subject/claim_control/test_claim_controllers.py"
MANAGERS, DRIVERS = "cluster/dra/test_claim_managers.py", "cluster/driver/test_drivers.py"
PODS = "cluster/fake_nodes/test_prepared_pods.py"
PREPARED = "checks/nodes/test_prepared_devices.py"

WRONG_ONCE = {
    "an allocation of devices of some nodes says which nodes can use it": (
        RESULTS,
        "test_an_allocation_says_where_its_devices_can_be_used",
    ),
    "a request for all devices does not take part of an incomplete or invalid pool": (
        RESULTS,
        "test_all_waits_for_a_pool_that_is_not_complete_or_not_valid",
    ),
    "a request for all devices fails on a tainted one; a taint without effect keeps none out": (
        RESULTS,
        "test_a_tainted_device_fails_all_and_a_taint_of_effect_none_does_not",
    ),
    "a claim that cannot be satisfied does not hold the scheduling thread": (
        "subject/allocation/test_searches.py",
        "test_what_cannot_be_satisfied_is_found_out_within_the_time",
    ),
    "a pod whose lost claim was created again is retried when its status names the new one": (
        QUEUE,
        "test_a_pod_whose_status_names_a_new_claim_is_retried",
    ),
    "an entry that was recorded as needing no claim gets none later": (
        FEATURES,
        "test_an_entry_that_needs_no_claim_gets_none_when_another_entry_needs_one",
    ),
    "deleted pods without claims do not push others out of the memory of deleted pods": (
        FEATURES,
        "test_deleted_pods_without_claims_do_not_push_out_those_with_claims",
    ),
    "the configuration of the class, and only that of the chosen alternative, is in the result": (
        RESULTS,
        "test_configuration_of_class_and_claim",
    ),
    "a pod for which a claim has no place left waits until there is one": (
        "subject/plugin/test_reservation_limit.py",
        "test_the_loser_waits_for_the_claim_and_is_bound_when_a_place_is_free",
    ),
    "a changed slice does not make every node look at all slices again": (
        "subject/allocation/test_inventories.py",
        "test_a_changed_slice_costs_the_work_of_its_own_pool",
    ),
    "a slice that compares a text label with a number stops no pod": (
        SCHEDULERS,
        "test_a_selector_of_a_slice_that_compares_text_with_a_number_selects_no_node",
    ),
    "a thread that fails ends the process with exit code 1 and one line": (
        "subject/process/test_subject_process.py",
        "test_a_thread_that_fails_ends_the_scheduler",
    ),
    "after 5 s of conflicts while gathering devices, a pod backs off instead of waiting": (
        SCHEDULERS,
        "test_a_pod_backs_off_after_a_gather_that_met_only_conflicts",
    ),
    "a pod and a key may fail more than a thousand times": (
        QUEUE,
        "test_a_pod_may_fail_any_number_of_times",
    ),
}
"""Mistakes that the scheduler and the claim controller once made."""

BAD_SEQUENCES = {
    "kubernetes#132334: a claim orphaned while the controller was down is cleaned up": (
        FEATURES,
        "test_132334_a_claim_of_a_pod_that_ended_while_the_controller_was_down_is_cleaned_up",
    ),
    "kubernetes#127661: an updated claim is looked at": (
        FEATURES,
        "test_132334_an_updated_claim_is_looked_at",
    ),
    "kubernetes#141274: a finished pod is not reserved for again": (
        FEATURES,
        "test_141274_a_finished_pod_is_not_reserved_again",
    ),
    "kubernetes#136406: a consumer that is no pod does not stop the cleanup": (
        FEATURES,
        "test_136406_a_consumer_that_is_no_pod_does_not_stop_the_cleanup",
    ),
    "kubernetes#138407: the recorded claims of a pod with two templates do not flap": (
        FEATURES,
        "test_138407_the_statuses_of_two_claims_come_to_rest_when_one_is_lost",
    ),
    "kubernetes#141104: the annotation is not written into the cached template": (
        "subject/claim_control/test_generating.py",
        "test_the_template_is_left_alone",
    ),
    "kubernetes#140217: more creations than a cache holds make no duplicates": (
        FEATURES,
        "test_140217_more_creations_than_the_mutation_cache_holds",
    ),
    "a claim is created, not recorded, and seen late: it is found again": (
        CONTROLLER,
        "test_a_claim_that_could_not_be_recorded_is_found_again_though_the_watch_is_behind",
    ),
    "a deleted claim is created again": (
        FEATURES,
        "test_140217_a_deleted_claim_is_created_again_and_not_recorded_again",
    ),
    "a pod that the informer does not know yet keeps its reservation": (
        CONTROLLER,
        "test_a_pod_that_the_informer_does_not_know_yet_keeps_its_reservation",
    ),
    "a pod that was replaced loses its reservation": (
        CONTROLLER,
        "test_a_pod_that_was_replaced_loses_its_reservation",
    ),
    "a lost answer may leave the finalizer, until the claim is deleted": (
        CONTROLLER,
        "test_a_lost_answer_may_leave_the_finalizer_until_the_claim_is_deleted",
    ),
    "an allocated claim that was never reserved stays allocated": (
        CONTROLLER,
        "test_an_allocated_claim_that_was_never_reserved_stays",
    ),
    "a conflict is retried": (CONTROLLER, "test_a_conflict_is_tried_again"),
}
"""Sequences of events that a claim controller once got wrong."""

KUBELET = {
    "each pod's claims are read from the API server, and a claim is prepared once for all its"
    " pods and unprepared with the last": (
        MANAGERS,
        "test_a_claim_is_prepared_once_and_unprepared_after_its_last_pod",
    ),
    "pods of one claim on two nodes have it prepared on both": (
        MANAGERS,
        "test_a_claim_of_pods_on_two_nodes_is_prepared_on_both",
    ),
    "a claim must be allocated, and reserved for the pod": (
        MANAGERS,
        "test_a_claim_that_is_not_ready_is_refused",
    ),
    "a claim must still exist": (MANAGERS, "test_a_claim_that_is_gone_is_refused"),
    "a generated claim must be the pod's own": (
        MANAGERS,
        "test_a_generated_claim_must_be_the_pods_own",
    ),
    "a name that is prepared with another uid is refused": (
        MANAGERS,
        "test_a_name_that_is_still_prepared_with_another_uid_is_refused",
    ),
    "other devices than the prepared ones are refused": (
        MANAGERS,
        "test_other_devices_than_those_that_are_prepared_are_refused",
    ),
    "the checkpoint tells a kubelet that starts again which claims are prepared": (
        MANAGERS,
        "test_a_kubelet_that_is_killed_knows_its_claims_when_it_is_back",
    ),
    "a claim of the checkpoint that was never prepared is known as that": (
        MANAGERS,
        "test_a_claim_of_the_checkpoint_that_the_driver_never_prepared",
    ),
    "a pod that comes while its claim is unprepared waits": (
        MANAGERS,
        "test_a_pod_that_comes_while_its_claim_is_unprepared_waits",
    ),
    "parameters of claim and class become user_* and admin_*": (
        DRIVERS,
        "test_parameters_of_claim_and_class_reach_the_environment",
    ),
    "there is one CDI file for each request, until the claim is unprepared": (
        DRIVERS,
        "test_there_is_one_cdi_file_for_each_request",
    ),
    "containers find the parameters of the requests that they use": (
        MANAGERS,
        "test_containers_find_the_variables_of_the_requests_that_they_use",
    ),
    "calls of the driver can be delayed, blocked, and made to fail for a time": (
        DRIVERS,
        "test_calls_are_delayed_blocked_and_failed_for_a_time",
    ),
    "calls of the driver can be made to fail at random": (
        DRIVERS,
        "test_the_driver_fails_on_demand",
    ),
    "a driver that fails is called again": (PODS, "test_a_driver_that_fails_is_asked_again"),
    "a device that another claim holds is refused": (
        DRIVERS,
        "test_a_device_that_another_claim_holds_is_refused",
    ),
    "a driver without exclusivity prepares it, and the journal shows the double use": (
        PODS,
        "test_a_driver_without_exclusivity_shows_the_double_use",
    ),
    "shared devices and admin access are never refused": (
        DRIVERS,
        "test_devices_that_may_be_shared_are_not_refused",
    ),
    "a pod is prepared before it runs, and unprepared before it is gone": (
        PODS,
        "test_a_claim_is_prepared_before_its_pod_runs_and_unprepared_before_it_is_gone",
    ),
    "the claim of a finished pod is unprepared": (
        PODS,
        "test_the_claim_of_a_finished_pod_is_unprepared",
    ),
    "kubernetes#141471: a forced deletion frees no device while the container runs": (
        PODS,
        "test_a_pod_that_is_deleted_by_force_keeps_its_device_while_its_container_runs",
    ),
    "a kubelet that starts again ends the pods that vanished meanwhile": (
        PODS,
        "test_a_kubelet_that_starts_again_ends_the_pods_that_vanished_meanwhile",
    ),
    "a lost node comes back without its pods": (
        "run/faulting/test_node_losses.py",
        "test_a_node_comes_back_without_its_pods",
    ),
    "the journals of preparations are judged together with the API, never alone": (
        PREPARED,
        "test_verdicts",
    ),
}
"""The work of a kubelet and a DRA driver."""

TABLES = {"wrong once": WRONG_ONCE, "bad sequences": BAD_SEQUENCES, "kubelet": KUBELET}
ROWS = [
    pytest.param(file, name, id=statement)
    for table in TABLES.values()
    for statement, (file, name) in table.items()
]


@functools.cache
def functions(file: str) -> frozenset[str]:
    """The test functions of a file."""
    tree = ast.parse((TESTS / file).read_text())
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize(("file", "name"), ROWS)
def test_the_statement_has_a_test(file: str, name: str) -> None:
    assert name in functions(file)


@pytest.mark.parametrize("table", TABLES)
def test_each_statement_has_a_test_of_its_own(table: str) -> None:
    tests = list(TABLES[table].values())
    assert len(tests) == len(set(tests))


def test_the_features_of_the_claim_controller_are_complete() -> None:
    """Its table is in the module of its tests: F1 to F13, without F12, its former metrics."""
    tree = ast.parse((TESTS / FEATURES).read_text())
    found = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    numbers = [name.partition("_")[0] for name in found if name.startswith("f")]
    assert numbers == [f"f{number}" for number in range(1, 14) if number != 12]
