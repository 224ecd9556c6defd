"""Each race by its order of lines, in each form of a log."""

import pytest

from harness.log_analysis import analysis_results
from harness.log_analysis.signatures import Signature
from tests.support.log_lines import DEVICE, FORMS, Story
from tests.unit.log_analysis import conftest

OTHER = "gpu.example/worker-0/device-1"


def early_return() -> Story:
    """The claim leaves the claims in flight, and only then its device is seen."""
    story = Story().attempt("a").gather().reserve("a").assume("a").remove("a")
    story.attempt("b").gather().observe("a").reserve("b")
    return story.assume("b").observe("b").remove("b")


def gather_race() -> Story:
    """The device moves while the gather is between its two reads."""
    story = Story().attempt("a").gather().reserve("a")
    story.attempt("b").add("Starting GatherAllocatedState")
    story.assume("a").observe("a").remove("a").finish(())
    return story.reserve("b").assume("b").observe("b").remove("b")


def removed_first() -> Story:
    """The claim leaves the claims in flight before its update is assumed."""
    story = Story().attempt("a").gather().reserve("a").remove("a")
    story.attempt("b").gather().reserve("b").assume("a").observe("a")
    return story.assume("b").observe("b").remove("b")


def given_up() -> Story:
    story = Story().attempt("a").gather().reserve("a")
    story.add("Released resource in allocation result", claim="default/a", uid="uid-a")
    story.attempt("b").gather().reserve("b").observe("a")
    return story.assume("b").observe("b").remove("b")


def freed_by_another() -> Story:
    """The end of a third claim takes the device out of the set."""
    story = early_return().free("b")
    story.attempt("c").gather().reserve("c").assume("c").observe("c").remove("c")
    return story.free("a")


def listed_all_the_same() -> Story:
    story = Story().attempt("a").gather().reserve("a")
    story.attempt("b").gather((DEVICE, "a"), devices=[DEVICE]).reserve("b")
    story.assume("a").observe("a").remove("a")
    return story.assume("b").observe("b").remove("b")


def known_all_the_same() -> Story:
    """The device was among the allocated ones long before."""
    story = Story().attempt("a").gather().reserve("a").assume("a").observe("a").remove("a")
    story.attempt("b").gather(devices=[DEVICE]).reserve("b")
    return story.assume("b").observe("b").remove("b").free("a")


def answer_lost() -> Story:
    """The write of the first claim is stored, its answer lost, and its event late."""
    story = Story().attempt("a").gather().reserve("a").remove("a").lose_answer("a")
    story.attempt("b").gather().reserve("b").assume("b").observe("b").remove("b")
    return story.observe("a")


def answer_lost_and_tried_again() -> Story:
    """The same in a release without lines of removals; the claim gets another plan meanwhile."""
    story = Story().attempt("a").reserve("a").lose_answer("a")
    story.attempt("b").reserve("b").assume("b").observe("b")
    return story.attempt("a").reserve("a", OTHER).observe("a")


def only_planned() -> Story:
    story = Story().reserve("a").observe("a").reserve("b").observe("b")
    return story.free("a")


CASES = {
    early_return: [(Signature.EARLY_RETURN, True)],
    gather_race: [(Signature.GATHER, True)],
    removed_first: [(Signature.ACCOUNTING, True)],
    given_up: [(Signature.ACCOUNTING, True)],
    freed_by_another: [(Signature.EARLY_RETURN, True), (Signature.OTHER, True)],
    listed_all_the_same: [(Signature.OTHER, True)],
    known_all_the_same: [(Signature.OTHER, True)],
    answer_lost: [(Signature.LOST_ANSWER, True)],
    answer_lost_and_tried_again: [(Signature.LOST_ANSWER, True)],
    only_planned: [(Signature.UNKNOWN, False)],
}


def signatures(analysis: analysis_results.Analysis) -> list[tuple[Signature, bool]]:
    return [(item.cause.signature, item.cause.is_certain) for item in analysis.findings]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_the_race_is_named(analyse: conftest.Analyse, case: "type", form: str) -> None:
    analysis = analyse(case().text(form))
    assert signatures(analysis) == CASES[case]
    assert analysis.verdict.exit_code == 10


@pytest.mark.parametrize("form", FORMS)
def test_claims_device_and_window_are_those_of_the_log(
    analyse: conftest.Analyse, form: str
) -> None:
    (finding,) = analyse(early_return().text(form)).findings
    found, window = finding.found, finding.cause.window
    assert found.device == DEVICE
    for moments, name in ((found.first, "a"), (found.second, "b")):
        assert (moments.claim, moments.pod) == (f"default/{name}", f"default/pod-{name}")
        assert (moments.uid, moments.node) == (f"uid-{name}", "worker-0")
    assert window is not None
    assert (window.us, window.bound) == (40, "exactly")
    assert "Removed in-flight claim" in window.begin.text.decode()
    assert "Observed device allocation" in window.end.text.decode()


def test_two_schedulers_are_told_apart_by_their_process_ids(analyse: conftest.Analyse) -> None:
    story = Story().attempt("a", thread=1).reserve("a", thread=1).attempt("b", thread=2)
    story.reserve("b", thread=2).observe("a", thread=1).observe("a", thread=2)
    story.observe("b", thread=2).observe("b", thread=1).assume("a", thread=1)
    analysis = analyse(story.text())
    assert (signatures(analysis), analysis.undecided_count) == ([], 1)
    story.assume("b", thread=2).bound("a", thread=1).bound("b", thread=2)
    analysis = analyse(story.text())
    assert signatures(analysis) == [(Signature.OTHER, True)]
    assert "Two schedulers" in analysis.findings[0].cause.sentences[0]
    assert analysis.undecided_count == 0


def test_lines_in_another_order_than_their_times_prove_nothing(analyse: conftest.Analyse) -> None:
    lines = early_return().text().splitlines(keepends=True)
    removed = next(line for line in lines if "Removed in-flight" in line)
    text = "".join(lines).replace(removed, removed.replace("15:11:04.", "15:11:05."))
    assert signatures(analyse(text)) != [(Signature.EARLY_RETURN, True)]


def test_a_device_that_was_seen_before_the_gather_is_no_matter_of_answers(
    analyse: conftest.Analyse,
) -> None:
    story = Story().attempt("a").gather().reserve("a").remove("a").lose_answer("a").observe("a")
    story.attempt("b").gather(devices=[DEVICE]).reserve("b").assume("b").observe("b").remove("b")
    story.free("a")
    assert signatures(analyse(story.text())) == [(Signature.OTHER, True)]
