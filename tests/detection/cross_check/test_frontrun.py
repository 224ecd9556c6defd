"""An explorer that shares no code with ours agrees: the known defects lose a device for a moment,
the correct parts never do.

frontrun knows nothing of `concurrency` and its steps. It runs real threads, switches between them
at bytecodes, and chooses the interleavings itself (dynamic partial order reduction).
"""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest

SCENES = pathlib.Path(__file__).with_name("gathering_scenes.py")
DEVICE = "gpu.example.com/node-1/gpu-0"

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("frontrun") is None, reason="frontrun is not installed"
)


def explored(scene: str, *, cache: str = "correct", gatherer: str = "correct") -> dict[str, Any]:
    ended = subprocess.run(
        [sys.executable, str(SCENES), scene, cache, gatherer],
        capture_output=True,
        text=True,
        timeout=150,
        # The variable that its launcher sets; its other task, preloading a library that sees I/O,
        # is not needed here.
        env=os.environ | {"FRONTRUN_ACTIVE": "1"},
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    result: dict[str, Any] = json.loads(ended.stdout)
    return result


@pytest.mark.parametrize(
    ("scene", "parts"),
    [
        ("assuming", {"cache": "assume-cache-early-return"}),
        ("assuming", {"cache": "assume-cache-shared-drain"}),
        ("gathering", {"gatherer": "gather-not-atomic"}),
    ],
    ids=lambda value: "-".join(value.values()) if isinstance(value, dict) else value,
)
def test_with_a_defect_the_device_looks_free(scene: str, parts: dict[str, str]) -> None:
    found = explored(scene, **parts)
    assert found["holds"] is False, found
    assert [] in found["outcomes"], (
        found
    )  # Gathered, and found nothing: not a crash, not a deadlock.
    replayed, attempts = found["replays"]
    assert replayed == attempts > 0, found


@pytest.mark.parametrize("scene", ["assuming", "gathering"])
def test_with_the_correct_parts_it_never_does(scene: str) -> None:
    found = explored(scene)
    assert found["holds"] is True, found
    assert found["outcomes"] == [[DEVICE]], found
    assert found["whole"] is True, found
    assert found["schedules_count"] > 6, found  # More than any of the defects takes.
