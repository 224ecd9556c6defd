"""`flake-hunt index` writes the list of all reports again."""

import pathlib
from typing import Any

from tests.histories import archives


def test_the_index_is_written_and_named(flake_hunt: Any, tmp_path: pathlib.Path) -> None:
    archives.run(tmp_path, "one")
    code, out, err = flake_hunt("index", "--reports", str(tmp_path))
    assert (code, out, err) == (0, f"{tmp_path / 'index.html'}\n", "")
    assert "one" in (tmp_path / "index.html").read_text()


def test_a_missing_folder_is_one_sentence(flake_hunt: Any, tmp_path: pathlib.Path) -> None:
    code, out, err = flake_hunt("index", "--reports", str(tmp_path / "nothing"))
    assert (code, out) == (2, "")
    assert err.startswith("flake-hunt: expected a folder of reports, but ")
    assert not (tmp_path / "nothing").exists()


def test_judging_again_refreshes_an_index_that_is_there(
    flake_hunt: Any, tmp_path: pathlib.Path
) -> None:
    made = archives.run(tmp_path, "one")
    flake_hunt("check", str(made.path))
    assert not (tmp_path / "index.html").exists()
    flake_hunt("index", "--reports", str(tmp_path))
    made.verdict.unlink()
    flake_hunt("index", "--reports", str(tmp_path))
    assert "not judged" in (tmp_path / "index.html").read_text()
    flake_hunt("report", str(made.path))
    assert "not judged" not in (tmp_path / "index.html").read_text()
    made.verdict.unlink()
    flake_hunt("check", str(made.path), str(made.path))
    assert "not judged" not in (tmp_path / "index.html").read_text()
