"""Logs that are cut, mixed or very repetitive: nothing is raised, nothing is made up."""

import random

import pytest

from harness.log_analysis import analysis_results, stories
from tests.support.log_lines import DEVICE, FORMS, Story
from tests.unit.log_analysis import conftest

Pairs = set[tuple[str, frozenset[str]]]


def busy() -> Story:
    """Two double allocations, and devices that are used in turn."""
    other = "gpu.example/worker-0/device-1"
    story = Story().attempt("a").gather().reserve("a").assume("a").remove("a")
    story.attempt("b").gather().observe("a").reserve("b").assume("b").observe("b").remove("b")
    story.attempt("c").gather().reserve("c", other).assume("c").observe("c", other).free("c", other)
    story.attempt("d").gather().reserve("d", other).assume("d").observe("d", other).remove("d")
    return story.free("a").free("b").observe("e").observe("f").bind("d").bound("d")


def pairs(analysis: analysis_results.Analysis) -> Pairs:
    return {
        (item.found.device, frozenset((item.found.first.claim, item.found.second.claim)))
        for item in analysis.findings
    }


@pytest.mark.parametrize("form", FORMS)
def test_a_log_cut_at_any_byte_shows_nothing_new(analyse: conftest.Analyse, form: str) -> None:
    text = busy().text(form).encode()
    whole = pairs(analyse(text))
    assert len(whole) == 2
    for place in range(random.Random(form).randrange(23), len(text), 23):
        assert pairs(analyse(text[:place])) <= whole, place
        assert pairs(analyse(text[place:])) <= whole, place


@pytest.mark.parametrize("seed", range(10))
def test_lines_between_those_of_another_process_make_no_difference(
    analyse: conftest.Analyse, seed: int
) -> None:
    stream = random.Random(seed)
    lines = busy().text("json").splitlines(keepends=True)
    others = [
        "{",
        '{"msg":"Observed device allocation"}\n',
        "panic: [\n",
        '\x00\xff"\n',
        "I0115 \n",
    ]
    mixed = [part for line in lines for part in (stream.choice([*others[1:], ""]), line)]
    assert pairs(analyse("".join(mixed))) == pairs(analyse("".join(lines)))


def test_two_processes_in_one_file_are_followed_apart(analyse: conftest.Analyse) -> None:
    """One of them sees late that the device was released: it had one claim at a time."""
    story = Story().observe("a", thread=1).free("a")
    story.lines[-1] = type(story.lines[-1])(**{**vars(story.lines[-1]), "thread": 1})
    story.observe("b", thread=1).observe("a", thread=2)
    assert pairs(analyse(story.text())) == set()


def test_a_device_with_very_many_claims_is_bounded(analyse: conftest.Analyse) -> None:
    story = Story()
    for number in range(3_000):
        story.observe(f"c{number}")
    analysis = analyse(story.text())
    assert len(analysis.findings) == stories.FOUND_MAX
    assert analysis.found_count > stories.FOUND_MAX


def test_plans_without_releases_are_bounded(analyse: conftest.Analyse) -> None:
    story = Story()
    for number in range(1_000):
        story.attempt(f"c{number}").reserve(f"c{number}").assume(f"c{number}").bound(f"c{number}")
    analysis = analyse(story.text())
    assert analysis.verdict is analysis_results.Verdict.UNKNOWN
    assert len(analysis.suspected) == stories.SUSPECTED_MAX
    assert analysis.suspected[-1][0] == DEVICE
