"""The lines around those of a finding are those of the file."""

import pytest

from harness.log_analysis import analyses, log_files, open_gathers
from harness.log_analysis.log_records import LogRecord
from tests.support.log_lines import FORMS, Story
from tests.unit.log_analysis import conftest

LINES, LENGTH = open_gathers.LINES, open_gathers.BYTES_MAX


def found(analyse: conftest.Analyse, text: bytes) -> list[LogRecord]:
    """The lines of the only double allocation; none of it is without neighbours."""
    (finding,) = analyse(text).findings
    return [record for record, _ in finding.found.told()]


def require_those_of_the_file(records: list[LogRecord], text: bytes) -> None:
    lines = [line[:LENGTH] for line in text.splitlines()]
    for record in records:
        place = record.number - 1
        around = record.neighbours
        assert around is not None
        assert list(around.before) == lines[max(place - LINES, 0) : place]
        assert list(around.after) == lines[place + 1 : place + 1 + LINES]


def story() -> Story:
    """The claim is removed and observed late, and lines follow the one that shows it."""
    log = Story().attempt("a").gather().reserve("a").assume("a").remove("a")
    log.attempt("b").gather().observe("a").reserve("b").assume("b").observe("b").remove("b")
    return log.bind("a").bind("b").bound("b")


@pytest.mark.parametrize("form", FORMS)
def test_they_are_those_of_the_file(analyse: conftest.Analyse, form: str) -> None:
    text = story().text(form).encode()
    require_those_of_the_file(found(analyse, text), text)


def test_those_of_a_long_log_are_kept_in_time(
    analyse: conftest.Analyse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its text is forgotten long before the log ends."""
    monkeypatch.setattr(log_files, "PIECE", 2**14)
    monkeypatch.setattr(analyses, "KEPT", 2**17)
    monkeypatch.setattr(analyses, "_KEPT_MIN", 2**17)
    others = b"".join(b"other %d\n" % number for number in range(100_000))
    text = others + story().text().encode() + others
    assert len(others) > 5 * analyses.KEPT
    require_those_of_the_file(found(analyse, text), text)


def test_long_lines_are_cut(analyse: conftest.Analyse) -> None:
    text = story().text("json").encode().replace(b"\n", b"\n" + b"x" * 1_000 + b"\n")
    for record in found(analyse, text):
        assert record.neighbours is not None
        assert {len(line) for line in record.neighbours.after} <= {LENGTH, *range(LENGTH)}
        assert record.neighbours.after
