"""A real run with lost answers and a lagging watch: the verdict names both on each carrier."""

import json
import pathlib
import xml.etree.ElementTree as ET
from typing import Any

import pytest

from tests.e2e import running

pytestmark = pytest.mark.e2e
ANSWER_LOST = pathlib.Path(__file__).with_suffix(".toml").read_text()
BEHIND = ("lost-answers", "lag")


def _invalid(folder: pathlib.Path, *arguments: str) -> Any:
    path = folder / "small.toml"
    path.write_text(ANSWER_LOST)
    code, text = running.called(folder, "run", str(path), "--seed", "1", *arguments)
    assert code == 10, text
    assert "Traceback" not in text
    return json.loads((running.run_directory(folder) / "verdict.json").read_bytes())


def _item(verdict: Any) -> Any:
    [found] = [item for item in verdict["certificate"] if item["name"] == "faults"]
    return found


@pytest.mark.parametrize("carrier", ["server", "proxy"])
def test_the_faults_behind_a_double_allocation_are_named(
    tmp_path: pathlib.Path, carrier: str
) -> None:
    verdict = _invalid(tmp_path, "--fault-carrier", carrier)
    assert _item(verdict)["reason"] == "idle never took effect"
    [check] = [check for check in verdict["checks"] if check["check"] == "device_exclusivity"]
    first = check["violations"][0]
    assert [effect["fault"] for effect in first["faults"]] == list(BEHIND)
    assert first["attribution"].endswith("the scheduler could not know of it")
    lost, late = first["faults"]
    allocated = first["holders"][0]["held_from_rv"]
    assert (lost["resource_version"], late["resource_version"]) == (allocated, allocated)
    directory = running.run_directory(tmp_path)
    assert 'class="fault-shade"' in (directory / "report.html").read_text()
    output = ET.parse(directory / "junit.xml").findtext("testcase/system-out") or ""
    assert "(lost-answers)" in output.splitlines()[0]
