"""Turns: nothing is shown before it is settled, both orders of answers and events, and no event
waits for long.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator

import pytest

from harness.apiserver.server import servers


def shown(
    work: Callable[[servers.GroupCommit, list[str]], None],
    coin: Iterable[bool],
    *,
    settles: bool = True,
    turns_max: int = 6,
) -> list[str]:
    """Return the steps of a group commit with this work, in order."""
    noted: list[str] = []
    sides = iter(coin)

    def settle() -> bool:
        noted.append("settled")
        return settles

    async def run() -> None:
        turn = servers.GroupCommit(settle, lambda: next(sides))
        work(turn, noted)
        for _ in range(turns_max):
            await asyncio.sleep(0)

    asyncio.run(run())
    return noted


def answer_and_event(turn: servers.GroupCommit, noted: list[str]) -> None:
    turn.show_events(lambda: noted.append("event"))
    turn.show_answer(lambda: noted.append("answer"))


@pytest.mark.parametrize(
    ("events_first", "expected"),
    [
        (True, ["settled", "event", "answer"]),
        (False, ["settled", "answer", "settled", "event"]),
    ],
)
def test_the_coin_decides(events_first: bool, expected: list[str]) -> None:
    assert shown(answer_and_event, [events_first, events_first]) == expected


def test_events_wait_once_and_are_joined_by_those_of_the_next_turn() -> None:
    def work(turn: servers.GroupCommit, noted: list[str]) -> None:
        answer_and_event(turn, noted)
        loop = asyncio.get_running_loop()
        loop.call_soon(lambda: loop.call_soon(answer_and_event, turn, noted))

    noted = shown(work, [False, False, False])
    assert noted == ["settled", "answer", "settled", "answer", "event", "event"]


def test_events_alone_do_not_wait() -> None:
    def work(turn: servers.GroupCommit, noted: list[str]) -> None:
        turn.show_events(lambda: noted.append("event"))

    assert shown(work, [False]) == ["settled", "event"]


def test_what_is_not_settled_is_not_shown() -> None:
    assert set(shown(answer_and_event, [True] * 9, settles=False)) == {"settled"}


def test_what_is_shown_may_ask_for_more() -> None:
    def work(turn: servers.GroupCommit, noted: list[str]) -> None:
        def more() -> Iterator[None]:
            noted.append(f"first, settled: {turn.is_settled}")
            turn.show_answer(lambda: noted.append("second"))
            yield

        turn.show_answer(lambda: next(more()))
        noted.append(f"settled: {turn.is_settled}")

    expected = ["settled: False", "settled", "first, settled: True", "settled", "second"]
    assert shown(work, []) == expected
