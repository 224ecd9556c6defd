"""Bearer tokens, as kube-apiserver reads the header."""

import pytest

from harness.apiserver.endpoints import authentication
from harness.apiserver.errors import status_errors

ASKED = authentication.Authenticator("secret")


@pytest.mark.parametrize("scheme", [b"Bearer", b"bearer", b"BEARER", b" bEaReR"])
def test_the_scheme_may_be_written_in_any_case(scheme: bytes) -> None:
    assert ASKED.user(scheme + b" secret") is authentication.ADMINISTRATOR


@pytest.mark.parametrize(
    "header",
    [b"", b"bearer", b"bearer ", b"bearer  secret", b"basic secret", b"secret", b"bearer SECRET"],
)
def test_anything_else_is_unauthorized(header: bytes) -> None:
    with pytest.raises(status_errors.StatusError):
        ASKED.user(header)
