"""`flake-hunt explore` and `replay`, in this process: what they print, their exit codes, and what
people get wrong.
"""

import pathlib
import re

import pytest

from harness.cli import choosing
from harness.explore.search import shrink_world
from tests.support.called_commands import FlakeHunt

TOKEN = re.compile(r"fh3-[\w-]+")


def test_what_is_found_is_told_and_can_be_made_again(
    flake_hunt: FlakeHunt, tmp_path: pathlib.Path
) -> None:
    chosen = ("--defect", "gather-not-atomic", "--seed", "16", "--schedules", "20000")
    code, out, _ = flake_hunt("explore", "pod-arrives-during-binding", *chosen)
    assert code == 10
    assert "therefore device gpu.example/worker-0/device-0 is allocated to claim-" in out
    (token,) = TOKEN.findall(out)
    made = tmp_path / "test_made.py"
    code, out, _ = flake_hunt("replay", token, "--pytest", str(made))
    assert (code, out.splitlines()[-1]) == (10, f"Written: {made}")
    assert token in made.read_text()
    assert "from harness import api\n" in made.read_text()
    assert "harness." not in made.read_text()
    assert pytest.main(["-q", "-p", "no:cacheprovider", "-k", "without", str(made)]) == 0
    assert pytest.main(["-q", "-p", "no:cacheprovider", "-k", "given", str(made)]) == 1


QUICK = ("explore", "--random-worlds", "--seed", "4")


@pytest.fixture
def shrink_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shrink_world, "SCHEDULES", 3)


@pytest.mark.usefixtures("shrink_quickly")
def test_a_defect_is_found_without_being_told_the_world(flake_hunt: FlakeHunt) -> None:
    code, out, _ = flake_hunt(*QUICK, "--defect", "constraints-not-asked")
    assert code == 10
    assert "found in random-" in out
    assert "therefore constraint: the devices of" in out
    assert "worlds with each feature:" in out
    (token,) = TOKEN.findall(out)
    code, out, _ = flake_hunt("replay", token)
    assert (code, "therefore constraint: " in out) == (10, True)


def test_a_time_is_a_number_with_a_unit() -> None:
    assert [choosing.seconds(text) for text in ("90", "0.5s", "30m", "2h")] == [90, 0.5, 1800, 7200]
