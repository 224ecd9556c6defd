"""The end of the time for a run."""

import pytest

from harness import clocks, errors
from harness.run import deadlines


def test_without_one_there_is_always_time() -> None:
    deadline = deadlines.Deadline()
    deadline.require_time()
    assert (deadline.left_s(), deadline.has_cut) == (float("inf"), False)


def test_it_cuts_once_it_is_over() -> None:
    future = deadlines.Deadline(clocks.monotonic_ns() + 10**12)
    future.require_time()
    assert not future.has_cut
    past = deadlines.Deadline(clocks.monotonic_ns() - 1)
    assert not past.has_cut, "nobody has asked"
    with pytest.raises(errors.TimeUpError, match="before its campaign"):
        past.require_time()
    assert past.has_cut
