"""Clients of the carriers of faults: they add and remove rules and ask what these have hit."""

import json
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from harness import clocks, errors
from harness.client import apis, transports
from harness.faults import admin_api, injection

T = TypeVar("T")
TIMEOUT_S = 5.0
"""Time limit for each call of a carrier, in seconds."""


class Carrier(Protocol):
    """A process through which the faulty clients talk to the API server."""

    def add(self, rule: Mapping[str, Any]) -> None:
        """Switch a fault on. Raises FaultError if the carrier does not accept it."""

    def remove(self, name: str) -> None:
        """Switch a fault off and let go what it holds. Raises FaultError if that is not known."""

    def applied(self, after: int) -> Sequence[injection.Applied]:
        """Return the applications after this sequence number, oldest first."""

    def last_sequence(self) -> int:
        """Return the sequence number of the newest application; 0: there was none."""

    def clear(self) -> None:
        """Switch all faults off. Raises FaultError if that is not known."""


class _Page(msgspec.Struct, frozen=True):
    """An answer to `GET applied`."""

    items: list[injection.Applied]
    boot_id: str = msgspec.field(name="bootID")


class _Listing(msgspec.Struct, frozen=True, rename="camel"):
    """An answer to `GET faults`, as far as it is used."""

    last_sequence: int


class AdminCarrier:
    """A carrier behind its admin API (see `faults.admin_api`). Threads may share it."""

    def __init__(self, transport: transports.Transport) -> None:
        self._transport = transport
        self._pages, self._listings = msgspec.json.Decoder(_Page), msgspec.json.Decoder(_Listing)

    def add(self, rule: Mapping[str, Any]) -> None:
        """Switch a fault on. Raises FaultError if the carrier does not accept it."""
        self._call("POST", "faults", json.dumps(rule).encode())

    def remove(self, name: str) -> None:
        """Switch a fault off; a carrier that does not know it has been started again."""
        self._call("DELETE", f"faults/{urllib.parse.quote(name, safe='')}", missing_ok=True)

    def applied(self, after: int) -> Sequence[injection.Applied]:
        """Return the applications after this sequence number, oldest first."""
        page = _decoded(self._pages, self._call("GET", f"applied?after={after}"))
        if page.boot_id != clocks.boot_id():
            raise errors.FaultError(
                f"expected a carrier on this host (boot {clocks.boot_id()}), whose clock can be "
                f"compared, got one of boot {page.boot_id}"
            )
        return page.items

    def last_sequence(self) -> int:
        """Return the sequence number of the newest application; 0: there was none."""
        return _decoded(self._listings, self._call("GET", "faults")).last_sequence

    def clear(self) -> None:
        """Switch all faults off."""
        self._call("DELETE", "faults")

    def _call(
        self, method: str, path: str, body: bytes | None = None, *, missing_ok: bool = False
    ) -> bytes:
        request = transports.Request(
            method=method, path=admin_api.PREFIX + path, body=body, timeout_s=TIMEOUT_S
        )
        try:
            response = self._transport.send(request)
        except transports.TransportError as error:
            raise errors.FaultError(f"the carrier does not answer ({error})") from error
        finally:
            self._transport.close()  # a kept connection would not survive a restart
        if response.status >= 400 and not (missing_ok and response.status == 404):
            refusal = apis.to_error(response.status, response.body)
            raise errors.FaultError(f"the carrier refused {method} {path} ({refusal})")
        return response.body


def _decoded(decoder: "msgspec.json.Decoder[T]", body: bytes) -> T:
    try:
        return decoder.decode(body)
    except msgspec.DecodeError as error:
        raise errors.FaultError(f"the carrier answered something else ({error})") from error
