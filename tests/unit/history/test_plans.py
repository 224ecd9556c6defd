"""plan.json: what was decided is read again, and what is no plan is refused."""

import json
import pathlib

import pytest

from harness import errors
from harness.history import plans
from tests.histories import building


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "plan.json"


def test_a_plan_is_read_as_it_was_written(path: pathlib.Path) -> None:
    plan = building.plan(scenario="überall")
    plans.write(path, plan)
    assert plans.read(path) == plan


NO_PLANS = [None, b"", b"{", b"[]", b"{}", b'{"schema": 1, "run_id": 5}']


@pytest.mark.parametrize("content", [*NO_PLANS, b'{"schema": 1, "run_id": "\xff"}'])
def test_what_is_no_plan_is_named(path: pathlib.Path, content: bytes | None) -> None:
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(
        errors.RunDirectoryError, match=r"plan\.json: expected the plan of a run \("
    ):
        plans.read(path)


def test_a_plan_of_another_schema_is_refused(path: pathlib.Path) -> None:
    plans.write(path, building.plan())
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema": 99}))
    with pytest.raises(
        errors.RunDirectoryError, match="expected schema 1, got 99: read it with the "
    ):
        plans.read(path)
