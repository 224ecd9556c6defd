"""The holds that are chosen from the columns are those that a search of all holds finds."""

import random

from harness.checks.holds import claim_events, hold_history
from tests.histories import hold_lists

_HOWS = (
    claim_events.EXCLUSIVE,
    claim_events.Held(shared=True, shares=(claim_events.Share((("memory", "1Gi"),)),)),
    claim_events.Held(exclusive=True, shared=True),
    claim_events.Held(),
)


def holds_of(seed: int) -> list[hold_history.Hold]:
    """Return holds of few devices by few claims, several of which have one name."""
    stream = random.Random(seed)
    found = []
    for number in range(stream.randrange(30)):
        name, how, begin = stream.choice("abc"), stream.choice(_HOWS), stream.randrange(50)
        until = stream.choice([None, begin + stream.randrange(9)])
        found.append(
            hold_history.Hold(
                device=f"d/p/{stream.randrange(4)}",
                exclusive=how.exclusive,
                shared=how.shared,
                shares=how.shares,
                uid=f"uid-{name}-{number % 3}",
                namespace=name * 2,
                name=name,
                from_rv=begin,
                from_ts_ns=number,
                until_rv=until,
                until_ts_ns=None if until is None else number + 1,
                pods=set(stream.sample("xyz", stream.randrange(3))),
            )
        )
    return found


def test_holds_are_chosen_by_device_claim_and_kind() -> None:
    for seed in range(50):
        holds = holds_of(seed)
        columns = hold_lists.columns(holds)
        assert list(columns) == holds
        for device in ("d/p/0", "d/p/1", "d/p/missing"):
            assert columns.of_device(device) == [hold for hold in holds if hold.device == device]
        for name in "abcd":
            assert columns.of_claims(name * 2, name) == [
                hold for hold in holds if hold.name == name
            ]
            assert columns.of_claims(name, name) == []
        few = {"d/p/1", "d/p/2"}
        of_few = [hold for hold in holds if hold.device in few]
        assert columns.where(devices=few, shared_only=True) == [h for h in of_few if h.shared]
        assert columns.where(devices=few) == [h for h in of_few if h.shared or h.exclusive]
