"""Logs that are cut, mixed or very repetitive: nothing is raised, nothing is made up."""

import gzip
import random
from collections.abc import Callable

import pytest

from harness.log_analysis import analysis_results, log_files, log_states
from harness.model.answers import Verdict
from tests.support.log_lines import DEVICE, FORMS, Story
from tests.unit.log_analysis import conftest

Pairs = set[tuple[str, frozenset[str]]]


def pairs(analysis: analysis_results.Analysis) -> Pairs:
    return {
        (item.found.device, frozenset((item.found.first.claim, item.found.second.claim)))
        for item in analysis.findings
    }


def interleaved(stream: random.Random, *, claims: int = 6) -> Story:
    """A scheduler binds pods whose claims get any of three devices, also those in use."""
    waiting = [life(f"c{number}", stream) for number in range(claims)]
    story = Story()
    while waiting:
        steps = stream.choice(waiting)
        steps.pop(0)(story)
        waiting = [left for left in waiting if left]
    return story


def life(name: str, stream: random.Random) -> list[Callable[[Story], object]]:
    """The lines about a claim: an attempt, what follows it, and its end."""
    device = f"gpu.example/worker-0/device-{stream.randrange(3)}"
    planned: list[Callable[[Story], object]] = [
        lambda story: story.attempt(name).gather().reserve(name, device)
    ]
    seen: list[Callable[[Story], object]] = [
        lambda story: story.assume(name),
        lambda story: story.observe(name, device),
        lambda story: story.remove(name),
    ]
    if stream.random() < 0.2:
        seen = [lambda story: story.lose_answer(name), *seen[1:2]]
    bound: list[Callable[[Story], object]] = [
        lambda story: story.bind(name),
        lambda story: story.bound(name),
    ]
    freed: list[Callable[[Story], object]] = [lambda story: story.free(name, device)]
    return planned + seen + bound + (freed if stream.random() < 0.5 else [])


OTHERS = (
    *(b"{\n", b"panic: [\n", b'\x00\xff"\n', b"I0115 \n", b"\t\n", b" >\n", b"\n", b"\r\n"),
    *(b'{"msg":"Observed device allocation"}\n', b'etcd: "Removed in-flight claim" claim="x/y"\n'),
    *(
        b'I0115 15:11:04.407714       1 x.go:1] "Reserved" allocation=<\n',
        b"goroutine 7 [running]:\n",
    ),
)
"""Lines of other programs, some of which begin as those of a scheduler."""


@pytest.mark.parametrize("seed", range(25))
def test_cuts_and_lines_of_others_show_nothing_new(analyse: conftest.Analyse, seed: int) -> None:
    """Nothing is raised either; blocks of any size make no difference."""
    stream = random.Random(seed)
    text = interleaved(stream).text(stream.choice(list(FORMS))).encode()
    whole = pairs(analyse(text))
    lines = text.splitlines(keepends=True)
    mixed = b"".join(
        part for line in lines for part in (stream.choice([b"", b"", b"", *OTHERS]), line)
    )
    assert pairs(analyse(mixed)) <= whole
    for _ in range(3):
        place = stream.randrange(len(text))
        assert pairs(analyse(text[:place])) <= whole, place
        assert pairs(analyse(text[place:])) <= whole, place
        assert pairs(analyse(gzip.compress(text, 1)[: place // 4])) <= whole, place


def test_some_of_those_logs_have_double_allocations(analyse: conftest.Analyse) -> None:
    counts = [len(pairs(analyse(interleaved(random.Random(seed)).text()))) for seed in range(40)]
    assert sum(count > 0 for count in counts) > 20
    assert sum(counts) < 40 * 6  # not every pair of claims


@pytest.mark.parametrize("size", [64, 500, 4_096])
def test_blocks_of_any_size_make_no_difference(
    analyse: conftest.Analyse, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    texts = [
        interleaved(random.Random(size + number)).text(form) for number, form in enumerate(FORMS)
    ]
    whole = [pairs(analyse(text)) for text in texts]
    monkeypatch.setattr(log_files, "PIECE", size)
    assert [pairs(analyse(text)) for text in texts] == whole


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
    assert len(analysis.undecided) == log_states.FOUND_MAX
    assert analysis.undecided_count > log_states.FOUND_MAX


def test_plans_without_releases_are_bounded(analyse: conftest.Analyse) -> None:
    story = Story()
    for number in range(1_000):
        story.attempt(f"c{number}").reserve(f"c{number}").assume(f"c{number}").bound(f"c{number}")
    analysis = analyse(story.text())
    assert analysis.verdict is Verdict.UNKNOWN
    assert len(analysis.suspected) == log_states.SUSPECTED_MAX
    assert analysis.suspected[-1][0] == DEVICE


def test_a_plan_that_was_waited_for_is_no_double_allocation(analyse: conftest.Analyse) -> None:
    """The second claim was planned too early, but written after the device was free again."""
    story = Story().attempt("a").reserve("a").attempt("b").reserve("b").assume("a").observe("a")
    story.bind("a").bound("a").free("a").assume("b").observe("b").bind("b").bound("b")
    analysis = analyse(story.text())
    assert pairs(analysis) == set()
    assert analysis.verdict is Verdict.VALID
