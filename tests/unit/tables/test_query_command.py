"""`flake-hunt query`, as a user calls it."""

import json
import os
import pathlib
import signal
import sys
import tempfile
import threading

import jsonschema
import pytest

from harness.cli import document_schemas
from harness.history import compressed_files
from harness.tables import database
from tests.histories import building

duckdb = pytest.importorskip("duckdb", reason="needs DuckDB: the extra `analysis`")
HISTORY = "p:a,b a+D1 a^p p>n p* b+D1 a~"


def test_a_table(run: pathlib.Path, ask) -> None:
    code, out, _ = ask("query", run, "select name, until_rv from holds order by from_rv")
    assert (code, out) == (0, "name  until_rv\na     7\nb\n2 rows\n")


def test_a_json_document(run: pathlib.Path, ask) -> None:
    code, out, _ = ask(
        "query", run, "select defects, 1.5::decimal as d from runs", "--output", "json"
    )
    document = json.loads(out)
    jsonschema.validate(document, json.loads(document_schemas.text("query")))
    assert code == 0
    assert document == {"schema": 1, "columns": ["defects", "d"], "rows": [[[], "1.500"]]}


def test_csv(tmp_path: pathlib.Path, run: pathlib.Path, ask) -> None:
    file = tmp_path / "a folder's pods [1]?.csv"
    asked = "select name, node from pods;"
    assert ask("query", run, asked, "--output", file) == (0, "", "")
    assert file.read_text() == "name,node\np,n\n"
    assert ask("query", run, "select name from pods", "--output", file)[0] == 0
    assert file.read_text() == "name\np\n"


@pytest.mark.parametrize("damage", ["journal", "statement", "folder", "suffix"])
def test_a_file_is_written_whole_or_not_at_all(
    damage: str, tmp_path: pathlib.Path, run: pathlib.Path, ask
) -> None:
    file, asked = tmp_path / "new.csv", "from holds"
    if damage == "journal":
        lines = run.joinpath("observations.jsonl").read_text().splitlines(keepends=True)
        run.joinpath("observations.jsonl").write_text("".join([*lines[:3], "{\n", *lines[3:]]))
    elif damage == "statement":
        asked = "select error('no') from holds"
    else:
        file = tmp_path / {"folder": "no/new.csv", "suffix": "csv"}[damage]
    code, out, err = ask("query", run, asked, "--output", file)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_run_with_compressed_observations(tmp_path: pathlib.Path, run, ask) -> None:
    changes = {"compression": "zstd"}
    packed = building.build(tmp_path / "packed", HISTORY, changes=changes).path
    assert [path.suffix for path in packed.glob("observations*")] == [".zst"]
    for view in ("holds", "claims", "pods"):
        asked = f"select * exclude run from {view} order by all"
        assert ask("query", packed, asked) == ask("query", run, asked)
        assert ask("query", packed, asked)[1].count("\n") > 2


def test_several_runs(tmp_path: pathlib.Path, run: pathlib.Path, ask) -> None:
    other = building.build(tmp_path / "other", HISTORY).path
    _, out, _ = ask("query", run, other, "select count(distinct run) as n from operations")
    assert out == "n\n2\n1 row\n"


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("select x from holds", "cannot be executed"),
        ("select * from hold", 'hold does not exist! Did you mean "holds"?'),
        ("drop view holds", "expected a single SELECT, got DROP"),
        ("", "expected a single SELECT, got nothing"),
        ("copy (select 1) to '/tmp/never.csv'", "expected a single SELECT, got COPY"),
        ("set enable_external_access = true", "expected a single SELECT, got SET"),
        ("select * from read_text('/etc/hostname')", "cannot be executed"),
        ("select * from '/etc/passwd.csv'", "cannot be executed"),
    ],
)
def test_what_is_refused(statement: str, why: str, run: pathlib.Path, ask) -> None:
    code, out, err = ask("query", run, statement)
    assert (code, out) == (2, "")
    assert why in err
    assert err.count("\n") == 1


def test_without_duckdb(run: pathlib.Path, ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    code, _, err = ask("query", run, "select 1")
    assert code == 2
    assert "pip install '.[analysis]'" in err


def test_the_spelling_of_a_path_does_not_matter(tmp_path: pathlib.Path, ask) -> None:
    directory = building.build(tmp_path / "we ird?*[x]b=1" / "run", HISTORY)
    for path in directory.journals():
        compressed_files.compress(path)
    asked = "select (select count(*) from holds), (select count(*) from operations)"
    code, out, err = ask("query", directory.path, asked, "--output", "json")
    assert code == 0, err
    assert json.loads(out)["rows"] == [[2, 4]]


def test_a_fifo_in_place_of_a_journal_is_refused(run: pathlib.Path, ask) -> None:
    (run / "observations.jsonl").unlink()
    os.mkfifo(run / "observations.jsonl")
    code, _, err = ask("query", run, "select * from holds")
    assert code == 2
    assert "observations.jsonl: expected a file, got a FIFO" in err


def test_what_exceeds_the_memory_is_on_disk_and_goes_away(
    tmp_path: pathlib.Path, run, ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    sort = (
        "select max(n) from (select row_number() over (order by hash(i)) as n from range({}) t(i))"
    )
    code, out, err = ask("query", run, sort.format("2e6::bigint"), "--memory", "64")
    assert (code, out, err) == (0, "max(n)\n2000000\n1 row\n", "")
    code, _, err = ask("query", run, "select list(i) from range(10000000) t(i)", "--memory", "64")
    assert code == 2
    assert "needs more than 64 MiB of memory: allow more with --memory" in err
    assert list((tmp_path / "temporary").iterdir()) == []


def test_an_interruption_ends_a_long_query() -> None:
    endless = "select count(*) from range(1000000000) a, range(1000000000) b where a.range = -1"
    with duckdb.connect(":memory:") as connection:
        timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            database.interruptible(connection, lambda: connection.execute(endless).fetchall())
        timer.join()
        assert connection.execute("select 1").fetchall() == [(1,)]
