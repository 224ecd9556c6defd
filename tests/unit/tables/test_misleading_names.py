"""Names that look like numbers, missing values, truth or dates stay text in every output."""

import json
import pathlib

import msgspec
import pandas as pd
import pytest

from harness import api
from harness.checks import judging, protocol
from harness.history import directories, histories
from harness.report import publishing
from harness.tables import definitions
from tests.histories import building

duckdb = pytest.importorskip("duckdb", reason="needs DuckDB: the extra `analysis`")
NAMES = dict(
    zip(
        ["a", "b", "c", "d", "e", "p", "q", "r", "D1", "D2", "D3"],
        ["NA", "1e5", "null", "nan", "0x10", "None", "007", "True", "2026-01-31", "-0", "1.0"],
        strict=True,
    )
)
CLAIMS = {NAMES[key] for key in "abcde"}
PODS = {NAMES[key] for key in "pqr"}
DEVICES = {NAMES[key] for key in ("D1", "D2", "D3")}
HISTORY = "p* a+D1 a^p b+D1 b^q q* c+D2 c^r r* d+D3 e="


@pytest.fixture
def run(tmp_path: pathlib.Path) -> pathlib.Path:
    return building.build(tmp_path / "run", HISTORY, names=NAMES, scenario="1e5").path


def _device(values: pd.Series) -> set[str]:
    return set(values.str.split("/").str[-1])


def test_in_tables(run: pathlib.Path) -> None:
    tables = api.tables(run)
    assert set(tables.claims.name) == CLAIMS
    assert set(tables.pods.name) == PODS
    assert _device(tables.holds.device) == DEVICES
    assert set(tables.holds.name) == CLAIMS - {NAMES["e"]}
    assert set(tables.operations.name) <= CLAIMS | PODS | {"refused"}
    assert tables.runs.scenario.tolist() == ["1e5"]
    for name, table in tables.items():
        assert [*table.columns] == definitions.TABLES[name].names
        dtypes = {column.name: column.dtype for column in definitions.TABLES[name].columns}
        assert table.dtypes.astype(str).to_dict() == dtypes


@pytest.mark.parametrize("name", definitions.TABLES)
def test_in_sql_and_parquet(name: str, run: pathlib.Path, tmp_path: pathlib.Path, ask) -> None:
    table = api.tables(run)[name].astype(object)
    expected = sorted(map(repr, table.where(table.notna(), None).to_numpy().tolist()))
    code, out, err = ask("query", run, f"select * from {name}", "--output", "json")
    assert code == 0, err
    assert sorted(map(repr, json.loads(out)["rows"])) == expected
    file = tmp_path / f"{name}.parquet"
    assert ask("query", run, f"from {name}", "--output", file)[0] == 0
    written = duckdb.read_parquet(str(file))
    assert sorted(map(repr, map(list, written.fetchall()))) == expected
    types = [(column.name, column.kind.sql) for column in definitions.TABLES[name].columns]
    assert [*zip(written.columns, map(str, written.types), strict=True)] == types
    described = ask("query", run, f"describe {name}", "--output", "json")[1]
    assert [(row[0], row[1]) for row in json.loads(described)["rows"]] == types


def test_in_csv(run: pathlib.Path, tmp_path: pathlib.Path, ask) -> None:
    asked, file = "select name from claims order by name", tmp_path / "names.csv"
    assert ask("query", run, asked, "--output", file)[0] == 0
    assert file.read_text().split() == ["name", *sorted(CLAIMS)]


def test_in_verdict_and_pages(run: pathlib.Path) -> None:
    examination = judging.examine(directories.existing(run))
    [violation] = next(
        item.violations
        for item in examination.judgement.checks
        if item.check == "device_exclusivity"
    )
    document = json.loads(msgspec.json.encode(violation))
    assert [holder["name"] for holder in document["holders"]] == ["NA", "1e5"]
    assert [holder["pods"] for holder in document["holders"]] == [["None"], ["007"]]
    assert document["device"].endswith("/2026-01-31")
    publishing.write(examination)
    page = examination.history.directory.report.read_text()
    for name in ("NA", "1e5", "None", "007", "2026-01-31"):
        assert name in page
    assert "100000" not in page


def test_a_check_asks_for_tables_by_their_type(run: pathlib.Path) -> None:
    check = api.Check(
        name="held",
        promise="devices are held",
        needs=(api.Tables,),
        judge=lambda evidence: api.CheckAnswer(examined=len(evidence[api.Tables].holds)),
    )
    answer = check.judge(protocol.read(histories.load(run), check.needs).of(check))
    assert answer.examined == len(api.tables(run).holds)
