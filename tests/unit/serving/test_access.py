"""Requests that are admitted or refused, and the headers of every answer."""

import pytest

from tests.support import cases, served_reports

PAGES = ("/running", "/nothing", "/static/nothing")
REPORT = "/files/pods/20260101T000000Z-good/report.html"
OPENED = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


@pytest.mark.parametrize("path", ["/", "/running", REPORT, "/static/pages.js"])
@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:80", ""])
def test_another_name_of_this_machine_is_refused(
    path: str, host: str, client: served_reports.Client
) -> None:
    answer = client.ask(path, {"Host": host})
    assert answer.status == 403
    assert "got the name" in answer.text
    assert "pods" not in answer.text


@pytest.mark.parametrize("path", ["/", "/running", REPORT])
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_pages_of_other_sites_may_link_and_read_nothing(
    path: str, site: str, client: served_reports.Client
) -> None:
    read = {"Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty", "Origin": "null"}
    framed = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}
    for headers in ({}, read, framed):
        answer = client.ask(path, {"Sec-Fetch-Site": site, **headers})
        assert answer.status == 403
        assert "another site" in answer.text
    answer = client.ask(path, {"Sec-Fetch-Site": site, **OPENED})
    assert answer.status == 200
    assert answer.headers["Access-Control-Allow-Origin"] is None


@pytest.mark.parametrize("headers", cases.read(__file__, "admitted"))
def test_requests_of_the_user_and_of_pages_are_admitted(
    headers, client: served_reports.Client
) -> None:
    assert client.ask("/", headers).status == 200


def test_the_server_only_reads(client: served_reports.Client) -> None:
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE"):
        assert client.ask("/", method=method).status == 405


def test_every_page_has_its_headers(client: served_reports.Client) -> None:
    for path in PAGES:
        found = client.ask(path).headers
        policy = found["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert found["X-Content-Type-Options"] == "nosniff"
        assert found["Cross-Origin-Resource-Policy"] == "same-origin"
        assert found["Cache-Control"] == "no-store"


@pytest.mark.parametrize("path", ["/", REPORT])
def test_files_and_their_index_are_in_a_sandbox(path: str, client: served_reports.Client) -> None:
    answer = client.ask(path)
    assert answer.status == 200
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("sandbox allow-scripts allow-downloads; default-src 'none'")
    assert "allow-same-origin" not in policy
    assert "connect-src" not in policy  # as default-src: a script can ask for nothing
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
