"""Finds, reads and writes kubeconfig files, and extracts one context into a file.

`write_for_client` writes a kubeconfig that impersonates the user `flake-hunt:<client>`, so that
client-go, kubectl and our own transports name the client in the header `Impersonate-User` of each
request, by which a carrier of faults knows its clients. The embedded API server takes nothing but
that name from the header. A real API server would make the client that user, without the rights of
the administrator: use these kubeconfigs with the embedded one only.
"""

import contextlib
import json
import os
import pathlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness import errors, regular_files, writing
from harness.faults import api_calls

Document = Mapping[str, Any]


def default_paths() -> list[pathlib.Path]:
    """Return the files that kubectl reads: those in KUBECONFIG, or else ~/.kube/config.

    Files that do not exist are omitted, unless none exists.
    """
    named = [part for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    paths = [pathlib.Path(part) for part in named] or [pathlib.Path.home() / ".kube" / "config"]
    existing = [path for path in paths if path.exists()]
    return existing or paths[:1]


def extracted(paths: Sequence[pathlib.Path], *, context: str = "") -> dict[str, Any]:
    """Return a kubeconfig with one context of some others; its paths are absolute.

    `context` empty: the current one. If several files define a name, the first one wins, as in
    kubectl. Raises KubeconfigError if one cannot be read, or lacks what is named.
    """
    documents = [(path, _read(path)) for path in paths]
    current = [item["current-context"] for _, item in documents if item.get("current-context")]
    merged = {
        section: [
            _absolute(entry, path) for path, item in documents for entry in item.get(section) or []
        ]
        for section in ("contexts", "clusters", "users")
    }
    where, name = joined(paths), context or next(iter(current), "")
    if not name:
        known = _names(merged["contexts"]) or "it has none"
        raise errors.KubeconfigError(
            f"{where}: expected a current-context, got none: choose one of its contexts ({known}) "
            "with `kubectl config use-context NAME`"
        )
    chosen = _named(merged, "contexts", name, where)
    inner = chosen.get("context") or {}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "contexts": [chosen],
        "clusters": [_named(merged, "clusters", inner.get("cluster", ""), where)],
        "users": [_named(merged, "users", inner["user"], where)] if inner.get("user") else [],
    }


def joined(paths: Sequence[pathlib.Path]) -> str:
    """Return the files that a user gave as one text, for messages."""
    return os.pathsep.join(map(str, paths))


def write(path: pathlib.Path, document: Document) -> None:
    """Write a kubeconfig as JSON, which is valid YAML, atomically and with mode 0600.

    Raises OSError, and leaves no credentials behind, if the file cannot be written.
    """
    content = json.dumps(document, indent=2).encode()
    writing.write_whole(path, content, mode=writing.PRIVATE)


def of_server(
    cluster: Document, user: Document, *, name: str = "flake-hunt", namespace: str = ""
) -> dict[str, Any]:
    """Return a kubeconfig with one cluster and one user; `namespace`: that of its context."""
    context = {"cluster": name, "user": name} | ({"namespace": namespace} if namespace else {})
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "contexts": [{"name": name, "context": context}],
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": user}],
    }


def _absolute(entry: Any, path: pathlib.Path) -> Any:
    if not isinstance(entry, dict):
        return entry
    changed: dict[str, Any] = json.loads(json.dumps(entry, default=str))
    folder = path.resolve().parent
    for kind, keys in (
        ("cluster", ("certificate-authority",)),
        ("user", ("client-certificate", "client-key", "tokenFile")),
    ):
        section = changed.get(kind)
        if not isinstance(section, dict):
            continue
        for key in keys:
            if section.get(key):
                section[key] = str(folder / section[key])
        command = (section.get("exec") or {}).get("command")
        if isinstance(command, str) and "/" in command:
            section["exec"]["command"] = str(folder / command)
    return changed


def _read(path: pathlib.Path) -> Document:
    try:
        document = _parse(regular_files.text(path))
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or f"expected YAML or JSON ({error})"
        raise errors.KubeconfigError(
            f"expected a readable kubeconfig, but {path}: {why}. Name another one with --kubeconfig"
        ) from error
    if not isinstance(document, dict) or document.get("kind", "Config") != "Config":
        raise errors.KubeconfigError(
            f"{path}: expected a kubeconfig (kind Config), got another document"
        )
    return document


def _parse(text: str) -> Any:
    with contextlib.suppress(ValueError):
        return json.loads(text)
    import yaml  # takes 40 ms, and the harness writes its own kubeconfigs as JSON

    try:
        return next(yaml.safe_load_all(text), None)  # of several documents the first, as kubectl
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def _named(document: Document, section: str, name: str, where: str) -> dict[str, Any]:
    entries = [entry for entry in document[section] if isinstance(entry, dict)]
    for entry in entries:
        if entry.get("name") == name:
            return entry
    raise errors.KubeconfigError(
        f"{where}: expected {name!r} among its {section}, which are: {_names(entries) or 'none'}"
    )


def _names(entries: Iterable[Any]) -> str:
    return ", ".join(str(entry.get("name")) for entry in entries if isinstance(entry, dict))


def write_for_client(source: pathlib.Path, *, client: str) -> pathlib.Path:
    """Write the kubeconfig of a client beside a cluster's and return its path.

    It has the current context of `source`, and mode 0600; an embedded cluster removes it with its
    own ones. Raises KubeconfigError if `source` is malformed or impersonates a user already,
    OSError if the file cannot be written.
    """
    path = source.with_name(f"{source.name}-{client}")
    document = extracted([source])
    if not document["users"]:
        document["users"] = [{"name": "client"}]
        document["contexts"][0]["context"]["user"] = "client"
    user: dict[str, Any] = document["users"][0].setdefault("user", {})
    if user.get("as"):
        raise errors.KubeconfigError(
            f"{source}: expected a user that impersonates no other one, so that requests can name "
            f"the client {client!r}, got `as: {user['as']}`: remove it"
        )
    user["as"] = api_calls.user_of(client)
    write(path, document)
    return path
