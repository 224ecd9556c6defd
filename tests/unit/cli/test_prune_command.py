"""`flake-hunt prune`: it shows first, and removes on demand."""

import json
import pathlib

import pytest

from harness.report import reports_index
from tests.support import old_campaigns

NAMES = old_campaigns.NAMES


def test_the_command_shows_first_and_refreshes_the_index(
    tmp_path: pathlib.Path, flake_hunt: object
) -> None:
    for name in NAMES[:2]:
        old_campaigns.campaign(tmp_path, name)
    reports_index.write(tmp_path)
    code, out, _ = flake_hunt("prune", "--keep-campaigns", 1, "--reports", tmp_path)
    assert (code, old_campaigns.left(tmp_path)) == (0, NAMES[:2])
    assert NAMES[0] in out
    assert "Would remove" in out
    code, out, _ = flake_hunt("prune", "--keep-campaigns", 1, "--reports", tmp_path, "--delete")
    assert (code, old_campaigns.left(tmp_path)) == (0, NAMES[1:2])
    assert NAMES[0] not in (tmp_path / reports_index.NAME).read_text()
    code, out, _ = flake_hunt(
        "prune", "--keep-days", 1e9, "--reports", tmp_path, "--output", "json"
    )
    assert json.loads(out)["campaigns"] == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "expected a limit for the campaigns that stay"),
        (["--keep-campaigns", 0], "--keep-campaigns"),
        (["--keep-days", "nan"], "--keep-days"),
        (["--keep-size", 1, "--reports", "/nowhere"], "expected a folder of reports"),
    ],
)
def test_what_is_refused(flake_hunt: object, words: list[object], said: str) -> None:
    code, _, complaint = flake_hunt("prune", *words)
    assert (code, said in complaint) == (2, True)
