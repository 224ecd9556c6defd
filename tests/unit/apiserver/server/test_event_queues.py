"""The queue of a watch's events: they are sent in their order, and none before it is due."""

import random

import pytest

from harness.apiserver.server import event_faults

Item = event_faults.Item


class Sent(list[bytes]):
    """The lines that were sent."""

    def perform(self, item: Item) -> None:
        assert item.is_due
        self.append(item.line)


@pytest.fixture
def sent() -> Sent:
    return Sent()


@pytest.fixture
def queue(sent: Sent) -> event_faults.EventQueue:
    return event_faults.EventQueue(sent.perform)


def test_while_the_past_is_sent_everything_waits(
    queue: event_faults.EventQueue, sent: Sent
) -> None:
    queue.put(Item(b"a"))
    queue.put(Item(b"bc"))
    assert (sent, len(queue), queue.size_bytes, queue.is_idle) == ([], 2, 3, False)
    queue.open()
    assert (sent, len(queue), queue.size_bytes, queue.is_idle) == ([b"a", b"bc"], 0, 0, True)


def test_nothing_is_sent_of_a_queue_that_is_cleared(
    queue: event_faults.EventQueue, sent: Sent
) -> None:
    late = Item(b"a", is_due=False)
    queue.open()
    queue.put(late)
    queue.put(Item(b"b"))
    queue.clear()
    late.is_due = True
    queue.go_on()
    assert (sent, queue.size_bytes) == ([], 0)


@pytest.mark.parametrize("seed", range(50))
def test_the_order_of_events_is_kept_whenever_they_come_due(
    queue: event_faults.EventQueue, sent: Sent, seed: int
) -> None:
    dice, waiting, put = random.Random(seed), list[Item](), list[Item]()
    queue.open()
    for number in range(100):
        item = Item(b"%d" % number, is_due=dice.random() < 0.7)
        put.append(item)
        waiting += [] if item.is_due else [item]
        queue.put(item)
        if waiting and dice.random() < 0.4:
            waiting.pop(dice.randrange(len(waiting))).is_due = True
            queue.go_on()
        due = next((n for n, item in enumerate(put) if not item.is_due), len(put))
        assert sent == [item.line for item in put[:due]], "the first ones that are due, no others"
