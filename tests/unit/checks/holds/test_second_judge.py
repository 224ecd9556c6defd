"""The second judge folds holds by itself, and must count what the check counts."""

import pathlib
import random

import pytest

from harness.checks import device_exclusivity
from harness.checks.devices import device_catalogue
from harness.checks.holds import hold_history
from harness.history import directories, histories, records
from tests.histories import building, dense_histories, rewound, shared_devices
from tests.support import second_judge

HISTORIES = 50
LENGTH = 40


def _checked(run: directories.RunDirectory) -> second_judge.Count:
    declared = device_catalogue.DeviceCatalogue()
    body = histories.load(run.path).observations()
    folded = hold_history.fold(body or (), declared)
    found = device_exclusivity.check(folded, declared.is_shareable)
    return second_judge.Count(found.examined_count, found.violation_count)


def _run(path: pathlib.Path, body: list[records.Body]) -> directories.RunDirectory:
    return building.build(path, "", observations=body)


def _counts(
    folder: pathlib.Path, bodies: list[list[records.Body]]
) -> list[tuple[second_judge.Count, second_judge.Count]]:
    """Count by both judges in each history; in some of them, devices are held twice."""
    runs = [_run(folder / str(number), body) for number, body in enumerate(bodies)]
    found = [(_checked(run), second_judge.count(second_judge.read(run))) for run in runs]
    assert any(checked.doubled for checked, _ in found)
    return found


def test_random_histories_with_gaps(tmp_path: pathlib.Path) -> None:
    stream = random.Random(16)
    texts = [dense_histories.draw(stream, LENGTH) for _ in range(HISTORIES)]
    counts = _counts(tmp_path, [dense_histories.observe(text) for text in texts])
    assert [text for text, (one, two) in zip(texts, counts, strict=True) if one != two] == []


def test_random_shares(tmp_path: pathlib.Path) -> None:
    counts = _counts(tmp_path, [_shares(random.Random(seed)) for seed in range(HISTORIES)])
    assert all(one == two for one, two in counts)


def _shares(stream: random.Random) -> list[records.Body]:
    found = shared_devices.slices()
    live: list[str] = []
    for rv in range(10, 40):
        if live and stream.random() < 0.3:
            found.append(shared_devices.gone(rv, live.pop(stream.randrange(len(live)))))
            continue
        live.append(f"c{rv}")
        taken = {stream.choice("SSXZ"): stream.choice([None, 1, 1])}
        found.append(shared_devices.claim(rv, live[-1], taken))
    return found


@pytest.mark.parametrize("text", rewound.REWOUND.values(), ids=rewound.REWOUND)
def test_two_histories_are_not_put_in_one_order(text: str, tmp_path: pathlib.Path) -> None:
    run = _run(tmp_path / "run", rewound.whole(text))
    counted = second_judge.count(second_judge.read(run))
    assert counted == second_judge.Count(1, 0)
    assert counted != _checked(run)
