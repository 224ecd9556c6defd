"""The moments of a double allocation: their order, the state at each, and what is not known."""

import pathlib
from collections.abc import Sequence

import pytest

from harness.checks import judging
from harness.history import directories, records
from harness.report import cards, evidence
from harness.report.replay import replays
from tests.histories import building, damages, language
from tests.support import real_runs
from tests.unit.report import races

BOTH, WATCH = "the device is held by", "watch of claims"
PLANNED, BOOK = "planned, in flight", "in the scheduler's allocated devices"


def _received(version: int) -> races.Line:
    """The watch of claims delivers a version."""
    fields: dict[str, object] = {"informer": "informer-resourceclaims", "version": str(version)}
    return "informer-resourceclaims", "informer.event.received", fields


def _replays(directory: directories.RunDirectory) -> list[replays.Replay]:
    source = evidence.Evidence(judging.examine(directory))
    shown = [card for section in cards.sections_of(source) for card in section.cards]
    return [card.replay for card in shown if card.replay is not None]


def _replay(
    path: pathlib.Path, text: str = races.TEXT, lines: Sequence[races.Line] = ()
) -> replays.Replay:
    """The only replay of a run."""
    [found] = _replays(building.build(path / "run", text, steps=races.steps(lines)))
    return found


def _states(replay: replays.Replay, title: str) -> list[replays.Part]:
    """One part of the state at each moment."""
    states: list[replays.Part] = []
    for moment in replay.moments:
        states += [next((part for part in moment.parts if part.title == title), None) or states[-1]]
    return states


def _at(replay: replays.Replay, text: str, title: str) -> replays.Part:
    """One part of the state at the only moment with this text."""
    states = _states(replay, title)
    [found] = [
        part for moment, part in zip(replay.moments, states, strict=True) if text in moment.text
    ]
    return found


# --------------------------------------------------------------------------- order and state


def test_the_device_is_held_by_nobody_then_one_then_both_then_one(tmp_path: pathlib.Path) -> None:
    replay = _replay(tmp_path, "a+D2 a-D2 b+D2 b-D2 a+D1 a^p p* b+D1 b^q q* a-D1 b-D1")
    held = [(part.text, part.kind) for part in _states(replay, BOTH)]
    assert list(dict.fromkeys(held)) == [
        ("claim A", ""),
        ("claims A and B", "no"),
        ("claim B", ""),
        ("no claim", ""),
    ]
    assert "gives the device back" in replay.moments[-1].text
    assert "claim B is created" not in replay.moments[replay.start - 1].text
    assert "claim B gets the device" in replay.moments[replay.start - 1].text


def test_what_the_api_server_stores_of_both_claims(tmp_path: pathlib.Path) -> None:
    replay = _replay(tmp_path)
    stored = [part.text for part in _states(replay, "claim A, as stored")]
    assert stored[0] == "version 1: the device"
    assert "version 2: the device, for p" in stored
    assert stored[-1] == "version 7: deleted"
    assert _at(replay, "stores version 1:", "claim B, as stored").text == "not there"


def test_plans_and_books_of_the_scheduler(tmp_path: pathlib.Path) -> None:
    replay = _replay(tmp_path, lines=races.NOT_ATOMIC)
    cloned, listed = "copies the allocated devices", "lists the claims in flight"
    assert (_at(replay, cloned, PLANNED).text, _at(replay, cloned, BOOK).text) == ("claim A", "no")
    assert (_at(replay, listed, PLANNED).text, _at(replay, listed, BOOK).text) == (
        "no claim",
        "yes",
    )


def test_a_commit_comes_before_the_answer_to_it_and_after_lower_versions(
    tmp_path: pathlib.Path,
) -> None:
    """The recorder saw versions 2 and 4 later than the scheduler got the answer to 4."""
    lines = [*races.NOT_ATOMIC, ("binder-0", "pre-bind.written", {"claim": "uid-b", "version": 4})]
    replay = _replay(tmp_path, lines=lines)
    texts = [moment.text for moment in replay.moments]
    [answer] = [index for index, text in enumerate(texts) if "receives the response" in text]
    stored = [
        index
        for number in (1, 2, 4)
        for index, text in enumerate(texts)
        if f"stores version {number}:" in text
    ]
    assert stored == sorted(stored)
    assert stored[-1] < answer
    times = [float(moment.ms.replace(",", "")) for moment in replay.moments]
    assert times == sorted(times)


def test_a_scheduler_that_was_killed_has_no_plans(tmp_path: pathlib.Path) -> None:
    killed = records.ProcessEnded(
        process="scheduler",
        pid=1,
        exit_code=-9,
        expected=True,
        fault="kill",
        ts_ns=language.at(3),
    )
    directory = building.build(
        tmp_path / "run", races.TEXT, steps=races.steps([races.added(races.A)])
    )
    damages.appended(damages.processes, killed)(directory)
    [replay] = _replays(directory)
    plans = [part.text for part in _states(replay, PLANNED)]
    assert plans[0] == "claim A"
    assert _at(replay, "scheduler ends (kill)", PLANNED).text == "no claim"


# ------------------------------------------------------------------------------------ the watch


def test_the_watch_of_a_stale_read_is_behind(tmp_path: pathlib.Path) -> None:
    late = [*races.EARLY_RETURN, _received(2)]
    steps = races.steps([_received(1), *late], first_ns=language.at(2))
    [replay] = _replays(building.build(tmp_path / "run", f"c+D2 {races.TEXT}", steps=steps))
    part = _at(replay, "copies the allocated devices", WATCH)
    assert (part.text, part.kind) == ("up to version 1: not the allocation of claim A", "no")
    assert _at(replay, "delivers version 2 of claim A", WATCH).kind == ""


def test_the_watch_of_a_read_in_time_is_not(tmp_path: pathlib.Path) -> None:
    replay = _replay(tmp_path, lines=[races.added(races.A), _received(1), *races.SOUND[1:]])
    part = _at(replay, "copies the allocated devices", WATCH)
    assert (part.text, part.kind) == ("up to version 1", "")


def test_a_version_is_stored_before_its_event_is_held_back(tmp_path: pathlib.Path) -> None:
    replay = _replay(tmp_path, "a+D1 /delay-events:a>6 a^p p* b+D1 b^q q* a~ b~")
    texts = [moment.text for moment in replay.moments]
    held = texts.index("the event of version 1 of claim A is held back (delay-events)")
    assert any("stores version 1:" in text for text in texts[:held])


def test_after_a_list_of_our_scheduler_its_version_is_not_known(tmp_path: pathlib.Path) -> None:
    fields: dict[str, object] = {"informer": "informer-resourceclaims", "count": 1}
    listed = "informer-resourceclaims", "informer.listed", fields
    replay = _replay(tmp_path, lines=[_received(1), listed, *races.EARLY_RETURN])
    assert _at(replay, "copies the allocated devices", WATCH).text == "not recorded"


def test_what_is_not_recorded_is_said_and_not_made_up(tmp_path: pathlib.Path) -> None:
    replay = _replay(tmp_path)
    assert replay.unknown == (
        "Not recorded in this run: what the scheduler had planned, how far its watch was, "
        "who made each write (there is no audit log)."
    )
    titles = {part.title for moment in replay.moments for part in moment.parts}
    assert titles == {"claim A, as stored", "claim B, as stored", BOTH}


def test_a_real_scheduler_that_lost_an_answer(tmp_path: pathlib.Path) -> None:
    replay = _replays(real_runs.unpack("embedded-answer-lost-1.36.3", tmp_path))[0]
    assert "written by kube-scheduler" in "".join(moment.text for moment in replay.moments)


# ------------------------------------------------------------------------------------- the page


@pytest.mark.parametrize("count", [3, 60])
def test_there_are_at_most_so_many_moments_and_those_that_decide(
    tmp_path: pathlib.Path, count: int
) -> None:
    text = f"a+D1 {'a^p a/p ' * count}b+D1 {'b^q b/q ' * count}a-D1 b-D1"
    replay = _replay(tmp_path, text)
    assert len(replay.moments) == min(4 * count + 4, replays.MOMENTS_MAX)
    assert len(replay.moments) + replay.left_out == 4 * count + 4
    assert sum("the device" in moment.text for moment in replay.moments) == 4


def test_only_the_first_double_allocations_are_replayed(tmp_path: pathlib.Path) -> None:
    text = " ".join(f"a{i}+D{i} b{i}+D{i}" for i in range(replays.REPLAYS_MAX + 2))
    assert len(_replays(building.build(tmp_path / "run", text))) == replays.REPLAYS_MAX
