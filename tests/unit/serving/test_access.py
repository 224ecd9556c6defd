"""Requests that are admitted or refused, and the headers of every answer."""

import pytest

from tests.support import served_reports

PAGES = ("/", "/campaigns", "/running", "/sql", "/nothing", "/running/events?x")


def test_without_the_token_nothing_is_told(client: served_reports.Client) -> None:
    for path in ("/", "/campaigns", "/runs/pods/20260101T000000Z-good", "/sql", "/running/events"):
        for given in ("", "?token=", f"?token={client.token[:-1]}", f"?token={client.token}x"):
            answer = client.ask(path + given, {})
            assert answer.status == 403, (path, given)
            assert "pods" not in answer.text
            assert "open the whole address" in answer.text
    assert client.ask("/").status == 200


def test_the_token_gives_a_cookie_and_leaves_the_address(client: served_reports.Client) -> None:
    answer = client.ask(f"/runs/a/b?text=x&token={client.token}", {})
    assert (answer.status, answer.headers["Location"]) == (200, None)
    assert 'content="0; url=/runs/a/b?text=x"' in answer.text
    assert client.token not in answer.text
    cookie = answer.headers["Set-Cookie"]
    assert {part.strip() for part in cookie.split(";")[1:]} == {
        "HttpOnly",
        "Path=/",
        "SameSite=Strict",
    }
    assert client.token not in cookie
    assert cookie.startswith(f"flake-hunt-{client.port}=")


def test_the_token_does_not_lead_to_another_host(client: served_reports.Client) -> None:
    answer = client.ask(f"//evil.example/?token={client.token}", {})
    assert 'url=/evil.example/"' in answer.text


@pytest.mark.parametrize(
    ("headers", "why"),
    [
        ({"Host": "evil.example"}, "got the name"),
        ({"Host": "127.0.0.1.evil.example:80"}, "got the name"),
        ({"Host": ""}, "got the name"),
        ({"Cookie": "flake-hunt-1=x"}, "open the whole address"),
        ({"Origin": "http://evil.example"}, "got one of"),
        ({"Origin": "http://127.0.0.1:1"}, "got one of"),
        ({"Origin": "null"}, "got one of"),
        ({"Sec-Fetch-Site": "cross-site"}, "another site"),
        ({"Sec-Fetch-Site": "same-site"}, "another site"),
    ],
)
def test_requests_of_others_are_refused(headers, why: str, client: served_reports.Client) -> None:
    answer = client.ask("/", {"Cookie": client.cookie, **headers})
    assert answer.status == 403
    assert why in answer.text
    assert "pods" not in answer.text


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Host": "localhost:9000"},
        {"Host": "localhost:9000", "Origin": "http://localhost:9000"},
        {"Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "none"},
    ],
)
def test_requests_of_the_user_and_of_pages_are_admitted(
    headers, client: served_reports.Client
) -> None:
    assert client.ask("/", {"Cookie": client.cookie, **headers}).status == 200


def test_forms_of_other_sites_are_refused(client: served_reports.Client) -> None:
    for origin in ("http://evil.example", "null", "http://127.0.0.1:1"):
        assert client.post("/sql", "statement=x", Origin=origin).status == 403
    without = {"Cookie": client.cookie}
    assert client.ask("/sql", without, method="POST", body=b"statement=x").status == 403
    for method in ("PUT", "DELETE", "OPTIONS", "TRACE"):
        assert client.ask("/", method=method).status in (403, 405)


def test_every_page_has_its_headers(client: served_reports.Client) -> None:
    for path in PAGES[:-1]:
        for headers in ({}, None):
            found = client.ask(path, headers).headers
            policy = found["Content-Security-Policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert "frame-ancestors 'none'" in policy
            assert found["X-Content-Type-Options"] == "nosniff"
            assert found["Cache-Control"] == "no-store"
            assert found["Referrer-Policy"] == "same-origin"


def test_files_need_the_key_and_not_the_cookie(client: served_reports.Client, key: str) -> None:
    path = "pods/20260101T000000Z-good/report.html"
    answer = client.ask(f"/files/{key}/{path}", {})
    assert answer.status == 200
    assert client.ask(f"/files/{key[:-1]}x/{path}").status == 403
    assert client.ask(f"/files//{path}").status == 403
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("sandbox allow-scripts; default-src 'none'")
    assert "allow-same-origin" not in policy
    assert "connect-src" not in policy  # as default-src: a script can ask for nothing
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"


def test_a_report_may_link_to_another_but_read_none(
    client: served_reports.Client, key: str
) -> None:
    path = f"/files/{key}/pods/20260101T000000Z-good/report.html"
    opened = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    read = {"Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty", "Origin": "null"}
    framed = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}
    for site in ("cross-site", "same-site"):
        assert client.ask(path, {"Sec-Fetch-Site": site, **opened}).status == 200
        assert client.ask(path, {"Sec-Fetch-Site": site, **read}).status == 403
        assert client.ask(path, {"Sec-Fetch-Site": site, **framed}).status == 403
