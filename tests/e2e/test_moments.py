"""A few random moments of many: `python -m tests.e2e.moments 50` is the full one."""

import pathlib
import random
import signal

import pytest

from tests.e2e import moments
from tests.engines import standing_in

pytestmark = pytest.mark.e2e
SEED = 20


def test_prune_leaves_nothing_of_what_was_killed(tmp_path: pathlib.Path) -> None:
    """What is left before prune shows that there was something to do."""
    random_, found = random.Random(SEED), 0
    with standing_in.started(tmp_path / "engine") as engine:
        place = moments.Place(folder=tmp_path, engine=engine)
        possible = moments.choices(place)
        run, stays, run_on_kind, stays_on_kind, *on_local = possible
        plan = [(arguments, signal.SIGKILL) for arguments in (run, stays_on_kind, *on_local[:1])]
        plan += [(stays, signal.SIGINT), (run_on_kind, signal.SIGTERM)]
        for arguments, number in plan:
            moment = moments.Moment(
                arguments=arguments, signal=number, after_s=random_.uniform(0.8, 2.5)
            )
            before, after = moments.left_after(moment, place)
            assert after == [], str(moment)
            found += bool(before)
    assert found, "no moment left anything: they are too early to show anything"
