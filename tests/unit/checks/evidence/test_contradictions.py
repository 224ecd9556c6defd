"""Contradictions are counted, and doubts beyond the limit become one from the oldest version on."""

from harness.checks.evidence import contradictions


def test_contradictions_are_counted_and_the_first_is_told() -> None:
    found = contradictions.Contradictions()
    assert found.is_empty
    assert found.answer("lives") == ""
    found.add("lives", "first")
    assert not found.is_empty
    assert (found.answer("lives"), found.doubts) == ("first", [])
    found.add("lives", "second", resource="pods", uid="u", from_rv=3)
    assert (found.count("lives"), found.answer("lives")) == (2, "2, first: first")
    assert found.doubts == [contradictions.Doubt(resource="pods", uid="u", from_rv=3)]
    assert (found.count("order"), found.answer("order")) == (0, "")


def test_a_doubt_alone_is_not_empty() -> None:
    found = contradictions.Contradictions()
    found.doubt(from_rv=7)
    assert not found.is_empty
    assert found.doubts == [contradictions.Doubt(resource="", uid="", from_rv=7)]


def test_too_many_doubts_put_everything_in_doubt_from_the_oldest_on() -> None:
    found = contradictions.Contradictions()
    for number in range(contradictions.DOUBTS_MAX):
        found.doubt(from_rv=100 + number % 7)
    assert found.end_rv is None
    found.doubt(from_rv=500)
    assert found.end_rv == 100
    found.doubt(from_rv=600)
    assert found.end_rv == 100
    found.doubt(from_rv=50)
    assert found.end_rv == 50
    assert len(found.doubts) == contradictions.DOUBTS_MAX
