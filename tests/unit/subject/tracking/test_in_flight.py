"""Claims in flight, and a claim that is planned twice."""

from harness.subject.tracking import in_flight
from tests.support import api_objects


def planned(device: str) -> dict[str, object]:
    return {**api_objects.claim("c", uid="c"), "status": {"allocation": {"marker": device}}}


def test_the_first_plan_stays_until_the_last_one_is_taken_back() -> None:
    flight = in_flight.InFlightClaims()
    first = planned("a")
    flight.add(first)
    flight.add(planned("b"))
    assert flight.listed() == [first]
    assert not flight.release("c")
    assert flight.listed() == [first]
    assert flight.release("c")
    assert "c" not in flight
    assert not flight.release("c")


def test_what_is_written_leaves_at_once() -> None:
    flight = in_flight.InFlightClaims()
    flight.add(planned("a"))
    flight.add(planned("a"))
    assert flight.remove("c")
    assert not flight.release("c")
    assert not flight.remove("c")
    flight.add(planned("b"))
    assert flight.release("c"), "nothing is left of the former count"
