"""API calls as faults see them, against the paths that Kubernetes documents."""

import pytest

from harness.faults import api_calls
from tests.support import text_tables

CALLS = [columns for _, columns in text_tables.rows(__file__, "test_api_calls.txt")]


@pytest.mark.parametrize(("request_line", "expected"), CALLS)
def test_calls(request_line: str, expected: str) -> None:
    method, url = request_line.split()
    path, _, query = url.partition("?")
    call = api_calls.parse(method, path, query)
    found = (call.verb, call.resource, call.subresource, call.namespace, call.name)
    assert " ".join(part or "-" for part in found) == expected


@pytest.mark.parametrize(
    ("user", "client"),
    [
        ("flake-hunt:scheduler-2", "scheduler-2"),
        ("flake-hunt:flake-hunt:a", "flake-hunt:a"),
        ("x-flake-hunt:scheduler", ""),
        ("scheduler", ""),
        ("flake-hunt", ""),
    ],
)
def test_clients(user: str, client: str) -> None:
    assert api_calls.client_of(user) == client
    assert not client or api_calls.user_of(client) == user
