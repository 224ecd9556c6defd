"""Commands that judge and render write the list of all reports again."""

import pathlib
from typing import Any

import pytest

from harness.cli import removed
from harness.report import reports_index
from tests.histories import archives


@pytest.mark.parametrize("command", removed.COMMANDS)
def test_a_former_command_names_what_does_its_work(flake_hunt: Any, command: str) -> None:
    code, out, err = flake_hunt(command, "--reports", "x")
    assert (code, out) == (2, "")
    assert err.startswith(f"flake-hunt: {command} is no command any more: use `")


def test_each_former_option_names_what_does_its_work(flake_hunt: Any) -> None:
    for option in removed.OPTIONS:
        command, _, name = option.rpartition(" ")
        code, out, err = flake_hunt(*(command or "hunt").split(), name, "x")
        assert (code, out) == (2, ""), option
        assert err.startswith(f"flake-hunt: {name} is no option any more: use "), option


def test_judging_again_refreshes_an_index_that_is_there(
    flake_hunt: Any, tmp_path: pathlib.Path
) -> None:
    made = archives.run(tmp_path, "one")
    flake_hunt("check", str(made.path))
    assert not (tmp_path / "index.html").exists()
    reports_index.write(tmp_path)
    made.verdict.unlink()
    reports_index.write(tmp_path)
    assert "not judged" in (tmp_path / "index.html").read_text()
    flake_hunt("report", str(made.path))
    assert "not judged" not in (tmp_path / "index.html").read_text()
    made.verdict.unlink()
    flake_hunt("check", str(made.path), str(made.path))
    assert "not judged" not in (tmp_path / "index.html").read_text()
