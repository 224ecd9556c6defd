"""Users of a locustfile: who fail, and with task sets and a shape.

tools/wheel_test.py installs a package with one plug-in of each kind, and uses them.
"""

import json
import pathlib

import pytest

from tests.e2e import running
from tests.support import cases

pytestmark = pytest.mark.e2e


def test_users_who_fail_make_the_run_unknown_by_name(tmp_path: pathlib.Path) -> None:
    scenario = running.scenario(tmp_path)
    (tmp_path / "failing.py").write_text(cases.read(__file__, "failing"))
    code, text = running.called(
        tmp_path, "run", str(scenario), "--set", "traffic.locustfile=failing.py"
    )
    assert code == 20, text
    reason = json.loads((running.run_directory(tmp_path) / "verdict.json").read_text())["reason"]
    assert "traffic ended unexpectedly or with an error" in reason
    assert "its users are failing.py of " in reason
    assert "its reason" in (running.run_directory(tmp_path) / "logs" / "traffic.log").read_text()


def test_task_sets_and_a_shape_make_the_load_until_the_shape_ends(tmp_path: pathlib.Path) -> None:
    """Long before the scenario's time, and no user of the second step is left out."""
    scenario = running.scenario(tmp_path)
    (tmp_path / "shaped.py").write_text(cases.read(__file__, "shaped"))
    values = ["traffic.duration_s=60", "traffic.duration_max_s=60"]
    values += ["load.allocations_min=1", "load.pods_running_min=1"]
    options = [word for value in values for word in ("--set", value)]
    code, text = running.called(
        tmp_path, "run", str(scenario), "--set", "traffic.locustfile=shaped.py", *options
    )
    assert code == 0, text
    log = (running.run_directory(tmp_path) / "logs" / "traffic.log").read_text()
    assert '"Person": 9' in log
    assert "the shape has ended" in log
