"""Folders that are written: the shipped examples again, and what makes no scenario."""

import pathlib

import pytest

from harness import errors
from harness.importing import imports
from harness.scenario import loading

WILD = pathlib.Path(__file__).parents[3] / "examples" / "in-the-wild"
EXAMPLES = [WILD / name for name in ("cpu", "imex", "mig", "pcie", "sriov", "tpu")]


def written(files: list[pathlib.Path], folder: pathlib.Path, **options) -> loading.Loaded:
    imports.write(imports.from_files(files), folder, **options)
    return loading.load(str(folder / "scenario.toml"), overrides=["pools.copies=1"])


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_the_import_of_an_example_has_all_of_it(
    example: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    redacted = EXAMPLES.index(example) % 2 == 0
    original = loading.load(str(example / "scenario.toml"), overrides=["pools.copies=1"]).scenario
    files = sorted(example.glob("*.yaml"))
    found = written(files, tmp_path / "mine", redacted=redacted).scenario
    assert found.name == "mine"
    assert found.pools.device_count == original.pools.device_count
    assert found.pools.nodes == original.pools.nodes
    kinds = [sorted(item.kind for item in one.objects) for one in found.traffic.sets]
    assert sorted(kinds) == sorted(
        sorted(item.kind for item in one.objects) for one in original.traffic.sets
    )
    assert found.controls == original.controls == ["gather-not-atomic"]


def test_without_devices_nothing_is_written(tmp_path: pathlib.Path) -> None:
    with pytest.raises(errors.UsageError, match="ResourceSlices with devices, got none"):
        written([WILD / "mig" / "classes.yaml"], tmp_path / "mine")
    assert list(tmp_path.iterdir()) == []


def test_what_a_run_would_refuse_is_refused_and_not_written(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "_name", lambda _: "No Name")
    with pytest.raises(errors.ScenarioError, match=r"mine/scenario\.toml.*\n?.*name: expected"):
        written([WILD / "mig" / "slices.yaml"], tmp_path / "mine")
    assert list(tmp_path.iterdir()) == []
