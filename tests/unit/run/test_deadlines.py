"""The end of the time for a run."""

import math

import pytest

from harness import errors
from harness.run import progressing


def test_without_a_deadline_a_run_may_take_for_ever() -> None:
    deadline = progressing.Deadline()
    deadline.require_time()
    assert (deadline.left_s(), deadline.has_cut) == (math.inf, False)


def test_it_cuts_once_it_is_over() -> None:
    left_s = [1.0]
    deadline = progressing.Deadline(lambda: left_s[0])
    deadline.require_time()
    left_s[0] = 0.0
    assert not deadline.has_cut
    with pytest.raises(errors.TimeUpError, match="the run was cut"):
        deadline.require_time()
    assert deadline.has_cut
