"""A real run with a double allocation, reproduced by real runs and attached as a folder."""

import pathlib

import pytest

from harness.scenario import loading
from tests.e2e import running

pytestmark = pytest.mark.e2e
TIMEOUT_S = 400
"""The test executes six runs."""

SCENARIO = pathlib.Path(__file__).with_suffix(".toml").read_text()


@pytest.mark.timeout(TIMEOUT_S)
def test_a_double_allocation_is_shrunk_to_two_or_three_claims(tmp_path: pathlib.Path) -> None:
    (tmp_path / "small.toml").write_text(SCENARIO)
    code, out = running.run(tmp_path, "run", "small.toml", "--until-found")
    assert code == 10, out
    (tmp_path / "small.toml").unlink()
    code, out = running.run(
        tmp_path,
        "reproduce",
        "reports/latest",
        "--minutes",
        "0.01",
        timeout_s=TIMEOUT_S,
    )
    assert code == 0, out
    (folder,) = (tmp_path / "reports" / "reproductions").iterdir()
    assert {path.name for path in folder.iterdir()} == {"README.md", "scenario.toml"}
    scenario = loading.load(str(folder / "scenario.toml")).scenario
    assert getattr(scenario.traffic, "pods", 0) in (2, 3), out
    page = (folder / "README.md").read_text()
    assert "the response to the status write of claim-" in page
    assert str(tmp_path) not in page
