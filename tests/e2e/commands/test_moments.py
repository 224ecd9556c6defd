"""A random moment of many for each command: `.venv/bin/python -m tests.e2e.moments 50` is the full
one.
"""

import pathlib
import random
import signal

import pytest

from tests.e2e import moments, remains
from tests.stand_ins import standing_in

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
SEED = 20
PLAN = (
    ("explore", signal.SIGKILL),
    ("hunt", signal.SIGKILL),
    ("budget", signal.SIGKILL),
    ("run", signal.SIGKILL),
    ("paused run", signal.SIGKILL),
    ("paused run", signal.SIGINT),
    ("cluster up", signal.SIGINT),
    ("run on kind", signal.SIGTERM),
    ("cluster up on kind", signal.SIGKILL),
    ("run on local", signal.SIGKILL),
)


@pytest.mark.parametrize(("name", "number"), PLAN)
def test_prune_leaves_nothing_of_what_was_killed(
    tmp_path: pathlib.Path, name: str, number: signal.Signals
) -> None:
    stream = random.Random(f"{SEED} {name}")
    with standing_in.started(tmp_path / "engine") as engine:
        place = remains.Place(folder=tmp_path, engine=engine)
        kinds = {kind.name: kind for kind in moments.kinds(place)}
        if name not in kinds:
            pytest.skip("no etcd")
        moment = moments.Moment(kind=kinds[name], signal=number, after_s=stream.uniform(1.0, 3.5))
        assert moments.kill(moment, place).after == [], str(moment)


def test_what_is_left_is_seen_and_prune_names_it(tmp_path: pathlib.Path) -> None:
    """A campaign has workers and clusters as soon as it runs; when it is killed, prune has
    something to do.
    """
    stream = random.Random(SEED)
    with standing_in.started(tmp_path / "engine") as engine:
        place = remains.Place(folder=tmp_path, engine=engine)
        hunt = next(kind for kind in moments.kinds(place) if kind.name == "hunt")
        for _ in range(5):
            after_s = stream.uniform(3.0, 6.0)
            moment = moments.Moment(kind=hunt, signal=signal.SIGKILL, after_s=after_s)
            found = moments.kill(moment, place)
            if found.before:
                assert "Removed " in found.pruned, found.before
                return
    raise AssertionError("no moment left anything: they show nothing")
