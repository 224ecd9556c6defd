"""`flake-hunt power`: its table, its document, and bad input."""

from typing import Any

import pytest

from tests.support import schemas


def test_the_table_names_runs_for_each_rate(flake_hunt: Any) -> None:
    code, out, err = flake_hunt("power", "--rate", "0.05", "--rate", "0", "--runs", "20")
    assert (code, err) == (0, "")
    head, often, never, *_ = out.splitlines()
    assert head.split("  ")[0] == "rate"
    assert often.split() == ["5", "%", "59", "62", "64.2", "%"]
    assert never.split() == ["0", "%", "–", "–", "0", "%"]


def test_a_comparison_and_a_decision_have_columns(flake_hunt: Any) -> None:
    arguments = ("--rate", "0.5", "--against", "0", "--until-decided", "0.2@0.9", "--runs", "30")
    code, out, _ = flake_hunt("power", *arguments)
    assert code == 0
    assert "against 0 %" in out.splitlines()[0]
    assert out.splitlines()[1].endswith(" each")
    assert out.splitlines()[3].startswith("rate, 0.2@0.9  below")
    assert " of 30" in out.splitlines()[4]


def test_the_document_obeys_its_schema(flake_hunt: Any) -> None:
    arguments = ("--rate", "0.5", "--against", "0.1", "--until-decided", "0.2@0.9")
    code, out, err = flake_hunt("power", *arguments, "--output", "json")
    document = schemas.obeying("power", out)
    assert (code, err) == (0, "")
    (row,) = document["rows"]
    assert [item["runs"] for item in row["seen"]] == [2, 20, 100]
    assert row["compared_runs"] > 2
    assert row["course"]["at_least"] > 0.95


@pytest.mark.parametrize(
    "arguments",
    [
        ["--rate", "nan"],
        ["--rate", "1.5"],
        ["--until-decided", "often"],
        ["--until-decided", "0.00001@0.95"],
        ["--runs", "0"],
    ],
)
def test_bad_input_is_a_usage_error(flake_hunt: Any, arguments: list[str]) -> None:
    code, out, err = flake_hunt("power", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("flake-hunt: ")
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "options", [(), ("--against", "0"), ("--against", "0", "--until-decided", "0.01@0.95")]
)
def test_the_table_fits_a_terminal(flake_hunt: Any, options: tuple[str, ...]) -> None:
    _, out, _ = flake_hunt("power", *options)
    tables = out.partition("\n\n")[0].splitlines()
    tables += [line for line in out.splitlines() if line.startswith(("0.", "rate"))]
    assert max(map(len, tables)) <= 80
