"""Exec plugins of a kubeconfig: programs that print an `ExecCredential`.

A plugin runs for the first request, when its credentials have expired, and after the API server has
rejected them with 401. The protocol is client.authentication.k8s.io/v1 and v1beta1.
"""

import dataclasses
import datetime
import json
import os
import pathlib
import subprocess
import threading
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from harness import errors

TIMEOUT_S = 60.0
"""Time limit for one run of a plugin, which may call a cloud provider."""
_GROUP = "client.authentication.k8s.io"
_VERSIONS = (f"{_GROUP}/v1", f"{_GROUP}/v1beta1")
_WORDS_MAX = 500


@dataclasses.dataclass(frozen=True, slots=True)
class Credentials:
    """A token, or a client certificate with its key in PEM. The repr omits the secrets."""

    token: str = dataclasses.field(default="", repr=False)
    certificate: bytes = dataclasses.field(default=b"", repr=False)
    key: bytes = dataclasses.field(default=b"", repr=False)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """The `exec` section of a kubeconfig's user."""

    argv: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = dataclasses.field(default=(), repr=False)
    api_version: str = _VERSIONS[0]
    install_hint: str = ""
    cluster: str | None = None
    """The cluster as JSON if the plugin asks for it (`provideClusterInfo`), else None."""


def read(section: Mapping[str, Any], cluster: Mapping[str, Any], path: pathlib.Path) -> Command:
    """Return the command of an `exec` section. Raises KubeconfigError if it cannot be run."""
    name, version = section.get("command"), section.get("apiVersion")
    if not isinstance(name, str) or not name:
        raise errors.KubeconfigError(f"{path}: expected the exec plugin's command, got {name!r}")
    if version not in _VERSIONS:
        raise errors.KubeconfigError(
            f"{path}: expected the exec plugin {name} to use {' or '.join(_VERSIONS)}, got {version!r}: "
            "update the plugin and generate the kubeconfig again"
        )
    if section.get("interactiveMode") == "Always":
        raise errors.KubeconfigError(
            f"{path}: the exec plugin {name} needs a terminal (interactiveMode: Always), but a run has none: "
            "log in first and set interactiveMode: IfAvailable"
        )
    if "/" in name and not name.startswith("/"):
        name = str(path.resolve().parent / name)  # as client-go: relative to the kubeconfig
    return Command(
        argv=(name, *(str(part) for part in section.get("args") or ())),
        environment=tuple((item["name"], item["value"]) for item in section.get("env") or ()),
        api_version=version,
        install_hint=str(section.get("installHint") or ""),
        cluster=_cluster_info(cluster) if section.get("provideClusterInfo") else None,
    )


def _cluster_info(cluster: Mapping[str, Any]) -> str:
    keys = (
        "server",
        "tls-server-name",
        "insecure-skip-tls-verify",
        "certificate-authority-data",
        "proxy-url",
    )
    info = {key: cluster[key] for key in keys if key in cluster}
    for extension in cluster.get("extensions") or ():
        if extension.get("name") == f"{_GROUP}/exec":
            info["config"] = extension.get("extension")
    return json.dumps(info)


class Plugin:
    """A plugin and its current credentials. Thread-safe."""

    def __init__(self, command: Command) -> None:
        self._command = command
        self._guard = threading.Lock()
        self._identity: Credentials | None = None
        self._expires: datetime.datetime | None = None

    def current(self) -> Credentials:
        """Return valid credentials; run the plugin if there are none.

        Raises KubeconfigError if the plugin fails.
        """
        with self._guard:
            if self._identity is None or self._has_expired():
                self._identity, self._expires = _run(self._command)
            return self._identity

    def invalidate(self, identity: Credentials) -> None:
        """Drop credentials that the server has rejected, so that the plugin runs again."""
        with self._guard:
            if self._identity == identity:
                self._identity = None

    def _has_expired(self) -> bool:
        return self._expires is not None and self._expires <= datetime.datetime.now(datetime.UTC)


def _run(command: Command) -> tuple[Credentials, datetime.datetime | None]:
    spec: dict[str, Any] = {"interactive": False}
    if command.cluster is not None:
        spec["cluster"] = json.loads(command.cluster)
    info = {"apiVersion": command.api_version, "kind": "ExecCredential", "spec": spec}
    environment = {
        **os.environ,
        **dict(command.environment),
        "KUBERNETES_EXEC_INFO": json.dumps(info),
    }
    try:
        ended = subprocess.run(
            command.argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=environment,
            timeout=TIMEOUT_S,
            check=False,
        )
    except FileNotFoundError as error:
        hint = f": {command.install_hint.strip()}" if command.install_hint else ": install it"
        raise _unusable(command, f"it was not found{hint}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _unusable(command, f"it could not be run ({error})") from error
    if ended.returncode:
        words = ended.stderr.decode(errors="replace").strip()[-_WORDS_MAX:]
        raise _unusable(
            command, f"it exited with code {ended.returncode}: {words or '(no output)'}"
        )
    return _decode(command, ended.stdout)


class _Status(msgspec.Struct, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime.datetime | None = None


class _Answer(msgspec.Struct, rename="camel"):
    api_version: str
    kind: Literal["ExecCredential"]
    status: _Status = msgspec.field(default_factory=_Status)


def _decode(command: Command, output: bytes) -> tuple[Credentials, datetime.datetime | None]:
    try:
        answer = msgspec.json.decode(output, type=_Answer)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _unusable(
            command, f"its output is not an ExecCredential in JSON ({error})"
        ) from error
    found = answer.status
    if answer.api_version != command.api_version:
        raise _unusable(
            command,
            f"it printed {answer.api_version}; the kubeconfig specifies {command.api_version}",
        )
    has_pair = bool(found.client_certificate_data and found.client_key_data)
    if not (found.token or has_pair):
        raise _unusable(command, "it printed neither a token nor a certificate with a key")
    if not has_pair and (found.client_certificate_data or found.client_key_data):
        raise _unusable(command, "it printed a certificate without a key, or only a key")
    pair = found.client_certificate_data.encode(), found.client_key_data.encode()
    return Credentials(found.token, *pair), found.expiration_timestamp


def _unusable(command: Command, why: str) -> errors.KubeconfigError:
    return errors.KubeconfigError(
        f"expected credentials from the exec plugin {command.argv[0]}, but {why}"
    )
