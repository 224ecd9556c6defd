"""Folders in odd states: whatever is in them, a page is a page or a sentence."""

import pathlib
import re
import shutil
import socket

import pytest

from tests.histories import archives, damages
from tests.support import cases, served_reports

HOWS = [*damages.CONTENTS, "a FIFO", "a folder", "a link", "a loop", "closed"]


@pytest.mark.parametrize("name", cases.read(__file__, "files"))
def test_files_of_a_run(name: str, tmp_path: pathlib.Path) -> None:
    made = archives.run(tmp_path, "made")
    for how in HOWS:
        copy = shutil.copytree(made.path, made.path.with_name(how))
        damages.spoil(copy / name, how)
    with served_reports.serving(tmp_path) as client:
        for path in ("/", "/running"):
            assert client.ask(path).status == 200
        for link in re.findall(r'href="(/files/[^"]*)"', client.ask("/").text):
            assert client.ask(link).status in (200, 404), link


@pytest.mark.parametrize("name", ["campaign.json", "results.jsonl", "results.json", "index.html"])
def test_files_of_a_campaign(name: str, tmp_path: pathlib.Path) -> None:
    made = archives.run(tmp_path, "made")
    for how in HOWS:
        folder = archives.campaign(tmp_path, how, [made], document={"verdict": "V", "summary": ""})
        damages.spoil(folder / name, how)
    with served_reports.serving(tmp_path) as client:
        for path in ("/", "/running"):
            assert client.ask(path).status == 200


def test_a_folder_that_disappears(tmp_path: pathlib.Path) -> None:
    reports = tmp_path / "reports"
    archives.run(reports, "run")
    with served_reports.serving(reports) as client:
        shutil.rmtree(reports)
        for path in ("/", "/running"):
            assert client.ask(path).status in (200, 404)


def test_names_of_any_bytes(tmp_path: pathlib.Path) -> None:
    made = archives.run(tmp_path, "made", scenario="pods")
    made.report.write_text("report")
    for name in ("one\ntwo", "r\udcff"):
        shutil.copytree(made.path, made.path.parent / name)
    with served_reports.serving(tmp_path) as client:
        links = re.findall(r'href="(/files/[^"]*)"', client.ask("/").text)
        assert [client.ask(link).text for link in links] == ["report"] * 3


@pytest.mark.parametrize("line", [b"GET /" + b"a" * 2**17 + b" HTTP/1.1", b"\x16\x03\x01", b"GET"])
def test_what_is_no_request_is_refused_in_silence(
    line: bytes, tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    with served_reports.serving(tmp_path) as client:
        with socket.create_connection(("127.0.0.1", client.port), timeout=60) as connection:
            connection.sendall(line + b"\r\n\r\n")
            assert b"400" in connection.makefile("rb").readline()
        assert client.ask("/").status == 200
    assert caplog.records == [], "the terminal would show them"
