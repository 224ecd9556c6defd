"""`flake-hunt export`, and queries of what it has written, as a user calls them."""

import json
import pathlib
import sys
import tempfile

import pytest

from harness.tables import definitions
from tests.histories import building

pytest.importorskip("duckdb", reason="needs DuckDB: the extra `analysis`")


@pytest.fixture
def exported(tmp_path: pathlib.Path, run: pathlib.Path, ask) -> pathlib.Path:
    path = tmp_path / "a folder's export [1]"
    code, out, err = ask("export", run, "-o", path)
    assert (code, err) == (0, "")
    assert "\nholds          2\n" in out
    return path


def test_every_view_has_the_rows_of_the_run(run, exported, ask) -> None:
    for view in (*definitions.TABLES, "exclusivity"):
        found = ask("query", exported, f"select * from {view} order by all", "--output", "json")
        assert found == ask("query", run, f"select * from {view} order by all", "--output", "json")
        assert found[0] == 0
    assert {path.name for path in exported.iterdir()} == {
        "export.json",
        *(f"{name}.parquet" for name in definitions.TABLES),
    }


def test_an_export_and_a_run_directory(tmp_path: pathlib.Path, exported, ask) -> None:
    other = building.build(tmp_path / "other", "c+D2").path
    asked = "select examined, double_allocations from exclusivity order by all"
    _, out, _ = ask("query", exported, other, asked, "--output", "csv")
    assert out == "examined,double_allocations\n1,0\n2,1\n"


def test_a_run_twice_is_refused(run, exported, ask) -> None:
    code, _, err = ask("query", exported, run, "select 1")
    assert code == 2
    assert "expected each run once" in err


def test_a_folder_that_exists_is_refused(run, exported, ask) -> None:
    code, _, err = ask("export", run, "-o", exported)
    assert code == 2
    assert "exists already: name another one" in err


def _of_version(export: pathlib.Path, version: int) -> None:
    document = json.loads((export / "export.json").read_text())
    (export / "export.json").write_text(json.dumps(document | {"schema": version}))


def test_an_export_of_the_first_version(run, exported, ask) -> None:
    import duckdb

    _of_version(exported, 1)
    for name in definitions.SINCE_SECOND:
        (exported / f"{name}.parquet").unlink()
    holds = exported / "holds.parquet"
    rows = duckdb.sql(
        "SELECT * EXCLUDE (request, share, amounts) FROM 'HOLDS'".replace(
            "HOLDS", str(holds).replace("'", "''").replace("[", "[[]")
        )
    )
    rows.write_parquet(str(exported.parent / "holds"))
    (exported.parent / "holds").replace(holds)
    asked = "select name, request from holds order by name"
    assert ask("query", exported, asked, "--output", "csv")[1] == "name,request\na,\nb,\n"
    assert ask("query", exported, "select * from faults", "--output", "csv")[0] == 0
    assert ask("query", run, asked, "--output", "csv")[1] == "name,request\na,device\nb,device\n"


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda export: (export / "holds.parquet").unlink(), "expected a whole export"),
        (
            lambda export: (export / "holds.parquet").write_text("none"),
            "cannot be executed: Invalid",
        ),
        (lambda export: (export / "export.json").write_text("{}"), "expected an export"),
        (lambda export: _of_version(export, 3), "expected an export of version 2"),
    ],
)
def test_damaged_exports(damage, why: str, exported, ask) -> None:
    damage(exported)
    code, out, err = ask("query", exported, "select * from holds")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert why in err


def test_damaged_observations_leave_nothing_behind(tmp_path: pathlib.Path, run, ask) -> None:
    lines = run.joinpath("observations.jsonl").read_text().splitlines(keepends=True)
    run.joinpath("observations.jsonl").write_text("".join([*lines[:3], "{\n", *lines[3:]]))
    code, _, err = ask("export", run, "-o", tmp_path / "new")
    assert (code, err.count("\n")) == (2, 1)
    assert "observations.jsonl, line 4" in err
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_an_export_cannot_be_read_beside(tmp_path: pathlib.Path, exported, ask) -> None:
    (tmp_path / "other.csv").write_text("a\n1\n")
    code, _, err = ask("query", exported, f"select * from read_csv('{tmp_path}/other.csv')")
    assert code == 2
    assert "cannot be executed" in err


def test_what_exceeds_the_memory_is_on_disk_and_goes_away(
    tmp_path: pathlib.Path, run, ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    sort = (
        "select max(n) from (select row_number() over (order by hash(i)) as n from range({}) t(i))"
    )
    code, out, err = ask(
        "query", run, sort.format("2e6::bigint"), "--output", "csv", "--memory", "64"
    )
    assert (code, out, err) == (0, "max(n)\n2000000\n", "")
    code, _, err = ask("query", run, "select list(i) from range(10000000) t(i)", "--memory", "64")
    assert code == 2
    assert "needs more than 64 MiB of memory: allow more with --memory" in err
    assert list((tmp_path / "temporary").iterdir()) == []


def test_without_duckdb(tmp_path: pathlib.Path, run, ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    code, _, err = ask("export", run, "-o", tmp_path / "new")
    assert code == 2
    assert "pip install '.[analysis]'" in err
