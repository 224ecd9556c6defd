"""The queue of a watch's events: they are sent in their order, and none before it is due."""

import random

import pytest

from harness.faults import event_queues, injection

Item = event_queues.Item


@pytest.fixture
def queue() -> event_queues.EventQueue:
    faults = injection.Faults(call_later=lambda *_: None)
    return event_queues.EventQueue(faults, gone=lambda _: b"", on_due=lambda: None)


def taken(queue: event_queues.EventQueue) -> list[bytes]:
    found = []
    while queue.first is not None:
        found.append(queue.pop().frame)
    return found


def test_nothing_is_left_of_a_queue_that_is_closed(queue: event_queues.EventQueue) -> None:
    late = Item(b"a", is_due=False)
    queue.put(late)
    queue.put(Item(b"bc"))
    assert (taken(queue), len(queue), queue.size_bytes) == ([], 2, 3)
    queue.close()
    late.is_due = True
    queue.put(Item(b"d"))
    assert (taken(queue), queue.size_bytes) == ([], 0)


@pytest.mark.parametrize("is_due", [True, False])
def test_nothing_comes_after_the_end_of_the_watch(
    queue: event_queues.EventQueue, is_due: bool
) -> None:
    end = Item(b"b", ending=event_queues.Ending.END, is_due=is_due)
    for item in (Item(b"a"), end, Item(b"c")):
        queue.put(item)
    assert (len(queue), queue.size_bytes) == (2, 2)
    end.is_due = True
    assert taken(queue) == [b"a", b"b"]


@pytest.mark.parametrize("seed", range(10))
def test_the_order_of_events_is_kept_whenever_they_come_due(
    queue: event_queues.EventQueue, seed: int
) -> None:
    dice, waiting, put, sent = random.Random(seed), list[Item](), list[Item](), list[bytes]()
    for number in range(500):
        item = Item(b"%d" % number, is_due=dice.random() < 0.7)
        put.append(item)
        waiting += [] if item.is_due else [item]
        queue.put(item)
        if waiting and dice.random() < 0.4:
            waiting.pop(dice.randrange(len(waiting))).is_due = True
        sent += taken(queue)
        due = next((n for n, item in enumerate(put) if not item.is_due), len(put))
        assert sent == [item.frame for item in put[:due]], "the first ones that are due, no others"
        assert queue.size_bytes == sum(len(item.frame) for item in put[due:])
