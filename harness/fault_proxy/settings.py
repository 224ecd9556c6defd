"""The settings file of the fault proxy (JSON): its clients and its admin API."""

import pathlib
from typing import Annotated

import msgspec

from harness import errors, regular_files

Port = Annotated[int, msgspec.Meta(ge=0, le=65535)]


class Client(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A client of the API server whose requests go through the proxy."""

    name: Annotated[str, msgspec.Meta(min_length=1)]
    """The name that faults match and records show: `scheduler-2`."""
    kubeconfig: pathlib.Path
    """The kubeconfig that it would use without the proxy."""
    proxied_kubeconfig: pathlib.Path
    """Where the proxy writes the kubeconfig that it uses instead."""
    port: Port = 0
    """The port of the proxy that is its own; 0 takes a free one."""


class Admin(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The admin API for faults."""

    kubeconfig: pathlib.Path
    """Where the proxy writes the address and the token of the admin API, as a kubeconfig."""
    port: Port = 0


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings file."""

    clients: Annotated[list[Client], msgspec.Meta(min_length=1)]
    admin: Admin
    notes_versions: bool = False
    """Note the API server's versions from the start, for faults that make reads stale later."""


def load(path: pathlib.Path) -> Settings:
    """Read a settings file. Raises UsageError if it cannot be read or decoded."""
    try:
        return msgspec.json.decode(regular_files.content(path), type=Settings, dec_hook=_path)
    except OSError as error:
        raise errors.UsageError(
            f"expected a settings file for the fault proxy, but {path}: {error.strerror}"
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise errors.UsageError(
            f"{path}: expected settings of the fault proxy in JSON, with `clients` and `admin` ({error})"
        ) from error


def _path(kind: type, value: object) -> object:
    if kind is pathlib.Path and isinstance(value, str) and value:
        return pathlib.Path(value)
    raise ValueError(f"expected a path, got {value!r}")
