"""`flake-hunt check` with several run directories: a line for each, and the worst exit code."""

import json
import pathlib
from typing import Any

import pytest

from tests.histories import building

TEXTS = {"VALID": "a+D1 p* a~ b+D1", "UNKNOWN": "p*", "INVALID": "a+D1 b+D1"}
NOTHING = "nothing"
"""A folder without a run."""


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    for name, text in TEXTS.items():
        building.build(tmp_path / name, text)
    (tmp_path / NOTHING).mkdir()
    return tmp_path


WORST = {
    ("VALID", "VALID"): 0,
    ("VALID", "UNKNOWN"): 20,
    ("UNKNOWN", NOTHING, "VALID"): 2,
    (NOTHING, "VALID", "INVALID", "UNKNOWN"): 10,
}


@pytest.mark.parametrize(("names", "code"), WORST.items())
def test_each_has_a_line_and_the_worst_decides(
    flake_hunt: Any, folder: pathlib.Path, names: tuple[str, ...], code: int
) -> None:
    got, out, err = flake_hunt("check", *(str(folder / name) for name in names))
    assert (got, err) == (code, "")
    words = [line.split(maxsplit=1)[0] for line in out.splitlines()]
    assert words == ["ERROR" if name == NOTHING else name for name in names]
    for name, line in zip(names, out.splitlines(), strict=True):
        assert f"{folder / name}: " in line
        assert (folder / name / "report.html").is_file() is (name != NOTHING)


def test_quiet_names_only_verdict_and_folder(flake_hunt: Any, folder: pathlib.Path) -> None:
    paths = [str(folder / name) for name in ("VALID", "INVALID")]
    _, out, _ = flake_hunt("check", "-q", *paths)
    assert out.split() == ["VALID", paths[0], "INVALID", paths[1]]


def test_as_json_it_is_one_document(flake_hunt: Any, folder: pathlib.Path) -> None:
    names = ["UNKNOWN", NOTHING]
    code, out, err = flake_hunt(
        "check", "--output", "json", *(str(folder / name) for name in names)
    )
    document = json.loads(out)
    assert (code, document["exit_code"], document["schema"]) == (2, 2, 1)
    assert [run["directory"] for run in document["runs"]] == [str(folder / name) for name in names]
    assert document["runs"][0]["verdict"] == "UNKNOWN"
    assert "has no plan.json" in document["runs"][1]["error"]
    assert "ERROR" in err


def test_hostile_names_are_shown_and_not_obeyed(flake_hunt: Any, tmp_path: pathlib.Path) -> None:
    evil = "\x1b]0;owned\x07[/red]:bug:\n"
    names = {"a": f"a{evil}", "b": f"b{evil}", "D1": f"D1{evil}"}
    path = tmp_path / f"run{evil.strip()}"
    building.build(path, "a+D1 b+D1", names=names, scenario=f"scenario{evil}")
    for arguments in (["-v"], [str(path)], ["-q"]):
        _, out, err = flake_hunt("check", str(path), *arguments)
        assert not [
            character for character in out + err if ord(character) < 32 and character != "\n"
        ]
        assert "\\x1b]0;owned\\x07[/red]:bug:" in out
