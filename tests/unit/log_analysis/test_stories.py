"""When a log shows a double allocation, when it shows none, and when it cannot tell."""

import random

import pytest

from harness.log_analysis.messages import Message
from harness.model.answers import Verdict
from tests.support.log_lines import DEVICE, Document, Story
from tests.unit.log_analysis import conftest


def whole(story: Story, name: str) -> Story:
    story.attempt(name).gather().reserve(name).add("reserved", pod=f"default/pod-{name}")
    return story.assume(name).observe(name).remove(name).bind(name).bound(name)


def without(story: Story, *messages: str) -> Story:
    story.lines = [line for line in story.lines if line.message not in messages]
    return story


TRACKER = ("Observed device allocation", "Observed device deallocation")


def test_a_device_that_is_freed_in_between_is_allocated_twice_in_turn(
    analyse: conftest.Analyse,
) -> None:
    analysis = analyse(whole(whole(Story(), "a").free("a"), "b").text())
    assert (analysis.verdict, analysis.allocations, analysis.counts[Message.FREED]) == (
        Verdict.VALID,
        2,
        1,
    )


def test_the_same_claim_twice_is_no_pair(analyse: conftest.Analyse) -> None:
    assert analyse(whole(whole(Story(), "a"), "a").text()).verdict is Verdict.VALID


def test_no_allocation_is_unknown(analyse: conftest.Analyse) -> None:
    analysis = analyse(Story().attempt("a").text())
    assert analysis.verdict is Verdict.UNKNOWN
    assert "shows no allocation" in analysis.reasons[0]


def test_a_restart_begins_with_an_empty_memory(analyse: conftest.Analyse) -> None:
    story = whole(Story(), "a").add("Starting Kubernetes Scheduler", version="v1.34.2")
    analysis = analyse(whole(story, "b").text())
    assert analysis.verdict is Verdict.VALID  # the first may have been released in between
    assert analysis.versions == ["v1.34.2"]


def test_devices_for_administrators_and_shares_are_no_conflict(analyse: conftest.Analyse) -> None:
    results = [
        {"driver": "d", "pool": "p", "device": "x", "adminAccess": True},
        {"driver": "d", "pool": "p", "device": "y", "shareID": "1"},
    ]
    story = Story()
    for name in ("a", "b"):
        story.add(
            "Reserved resource in allocation result",
            claim=f"default/{name}",
            allocation=Document({"devices": {"results": results}}),
        )
        story.add("Observed shared device allocation", shared_device="d/p/y/1", claim=name)
    analysis = analyse(story.observe("c").text())
    assert (analysis.verdict, analysis.counts[Message.SHARED]) == (Verdict.VALID, 2)


def test_at_verbosity_5_an_overlap_is_certain_while_the_first_pod_is_not_bound(
    analyse: conftest.Analyse,
) -> None:
    story = Story().attempt("a").reserve("a").attempt("b").reserve("b").assume("a").assume("b")
    analysis = analyse(story.bind("a").bound("a").text())
    assert analysis.verdict is Verdict.INVALID


def test_at_verbosity_5_a_later_plan_may_follow_a_release(analyse: conftest.Analyse) -> None:
    story = without(whole(whole(Story(), "a"), "b"), *TRACKER)
    analysis = analyse(story.text())
    assert analysis.verdict is Verdict.UNKNOWN
    assert "-v=6" in analysis.reasons[0]


def test_at_verbosity_5_different_devices_are_no_conflict(analyse: conftest.Analyse) -> None:
    story = Story().attempt("a").reserve("a").assume("a").bound("a")
    story.attempt("b").reserve("b", "gpu.example/worker-0/device-1").assume("b").bound("b")
    assert analyse(story.text()).verdict is Verdict.VALID


def test_a_plan_for_a_device_in_use_that_the_log_leaves_open_is_unknown(
    analyse: conftest.Analyse,
) -> None:
    story = whole(Story(), "a").attempt("b").gather().reserve("b")
    analysis = analyse(story.text())
    assert analysis.verdict is Verdict.UNKNOWN
    assert DEVICE in analysis.reasons[0]


def test_a_plan_that_is_given_up_is_no_conflict(analyse: conftest.Analyse) -> None:
    story = whole(Story(), "a").attempt("b").gather().reserve("b")
    story.add("Released resource in allocation result", claim="default/b")
    assert analyse(story.text()).verdict is Verdict.VALID


def test_a_gather_that_notices_a_change_is_not_stale(analyse: conftest.Analyse) -> None:
    story = Story().attempt("a").gather().reserve("a")
    story.attempt("b").add("Starting GatherAllocatedState").assume("a").observe("a").remove("a")
    story.finish((), err="conflicting concurrent modification").gather(devices=[DEVICE])
    analysis = analyse(story.text())
    assert (analysis.verdict, list(analysis.stale)) == (Verdict.VALID, [])


@pytest.mark.parametrize("is_followed", [True, False])
def test_a_stale_gather_without_a_double_allocation_is_named(
    analyse: conftest.Analyse, is_followed: bool
) -> None:
    story = Story().attempt("a").gather().reserve("a")
    story.attempt("b").add("Starting GatherAllocatedState").assume("a").observe("a").remove("a")
    story.finish(())
    if is_followed:
        story.attempt("c")
    analysis = analyse(story.text())
    (stale,) = analysis.stale
    assert (stale.is_certain, stale.is_followed) == (True, is_followed)
    assert analysis.verdict is (Verdict.VALID if is_followed else Verdict.UNKNOWN)


def test_quotes_in_values_are_no_keys(analyse: conftest.Analyse) -> None:
    story = Story().observe('a" device="gpu.example/worker-0/device-1')
    assert analyse(story.observe("b").text()).undecided_count == 1


@pytest.mark.parametrize("seed", range(40))
def test_random_histories_are_judged_as_they_were_made(
    analyse: conftest.Analyse, seed: int
) -> None:
    stream = random.Random(seed)
    story, held, seen = Story(), dict[str, set[str]](), set[tuple[str, str, str]]()
    shown = set[tuple[str, str, str]]()
    devices = [f"gpu.example/worker-0/device-{number}" for number in range(3)]
    for number in range(stream.randrange(5, 40)):
        device = stream.choice(devices)
        holders = held.setdefault(device, set())
        if holders and stream.random() < 0.7:
            name = stream.choice(sorted(holders))
            holders.remove(name)
            story.free(name, device)
            shown |= {item for item in seen if item[:2] == (device, name)}
        else:
            name = f"c{number}"
            seen |= {(device, one, name) for one in holders}
            holders.add(name)
            story.attempt(name).reserve(name, device).observe(name, device)
    analysis = analyse(story.text(stream.choice(["klog", "ktesting", "json"])))
    found = {
        (item.found.device, *(one.claim[8:] for one in (item.found.first, item.found.second)))
        for item in analysis.findings
    }
    assert found == shown
    undecided = {(device, second) for device, _, second in seen - shown}
    assert analysis.undecided_count == len(undecided)


def test_a_deleted_claim_may_be_named_by_its_uid(analyse: conftest.Analyse) -> None:
    story = Story().attempt("a").reserve("a").assume("a").observe("a")
    story.add("Observed device deallocation", device=DEVICE, claim="uid-a")
    story.attempt("b").reserve("b").assume("b").observe("b")
    assert analyse(story.text()).verdict is Verdict.VALID
    other = story.text().replace('claim="uid-a"', 'claim="uid-of-another"')
    assert analyse(other).undecided_count == 1
