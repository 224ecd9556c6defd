"""`flake-hunt schema`."""

import json
import pathlib
from typing import Any

from harness.cli import document_schemas
from harness.cli.subcommands.setting_up import schema_command
from harness.scenario import schemas


def test_the_command_prints_or_writes_it(flake_hunt: Any, tmp_path: pathlib.Path) -> None:
    code, out, _ = flake_hunt("schema", "scenario")
    assert code == 0
    assert json.loads(out)["title"] == "Flake Hunt: scenario"
    assert {*document_schemas.TYPES, "scenario", "cluster"} == {*schema_command.Kind}
    code, out, _ = flake_hunt("schema", "verdict")
    assert json.loads(out)["title"].startswith("verdict.json: ")
    target = tmp_path / "cluster.schema.json"
    assert flake_hunt("schema", "cluster", "-o", str(target))[0] == 0
    assert target.read_text() == schemas.text("cluster")
    code, _, err = flake_hunt("schema", "cluster", "-o", str(tmp_path / "none" / "file"))
    assert code == 2
    assert "cannot write" in err
