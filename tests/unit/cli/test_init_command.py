"""`flake-hunt init`."""

import pathlib
from typing import Any

from harness.scenario import loading


def test_the_examples_are_copied_once(flake_hunt: Any, tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "mine"
    code, out, _ = flake_hunt("init", str(folder))
    assert code == 0
    names = {pathlib.Path(line).name for line in out.splitlines()}
    assert names == {path.name for path in folder.rglob("*") if path.is_file()}
    assert names >= {"pyproject.toml", "checks.py", "two-nodes.toml"}
    (folder / "README.md").unlink()
    (folder / "scheduler.py").write_text("mine")
    code, _, err = flake_hunt("init", str(folder))
    assert code == 2
    assert "expected a folder without campaign-job.yaml" in err
    assert (folder / "scheduler.py").read_text() == "mine"
    assert not (folder / "README.md").exists()


def test_some_examples_are_copied_beside_other_files(
    flake_hunt: Any, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    code, out, _ = flake_hunt("init", str(tmp_path), "my-plugins", "in-the-wild/mig/scenario.toml")
    assert code == 0
    names = {str(pathlib.Path(line).relative_to(tmp_path)) for line in out.splitlines()}
    assert "in-the-wild/mig/scenario.toml" in names
    assert {name.partition("/")[0] for name in names} == {"my-plugins", "in-the-wild"}
    assert len([name for name in names if name.startswith("in-the-wild")]) == 1
    code, _, err = flake_hunt("init", str(tmp_path / "new"), "my-plugin")
    assert code == 2
    assert "'my-plugins'" in err
    assert not (tmp_path / "new").exists()


def test_the_readme_names_every_example(flake_hunt: Any, tmp_path: pathlib.Path) -> None:
    flake_hunt("init", str(tmp_path))
    text = (tmp_path / "README.md").read_text()
    for path in tmp_path.iterdir():
        name = f"{path.name}/" if path.is_dir() else path.name
        assert path.name == "README.md" or f"| `{name}` |" in text


def test_the_scenario_can_be_loaded(flake_hunt: Any, tmp_path: pathlib.Path) -> None:
    flake_hunt("init", str(tmp_path))
    loaded = loading.load(str(tmp_path / "my-scenario.toml"))
    assert [fault.kind for fault in loaded.scenario.faults] == ["lose-response", "reject"]
