"""Kubeconfigs of one cluster and one user, as a test wants them."""

import json
import pathlib
from typing import Any


def write(
    path: pathlib.Path, server: str, *, user: dict[str, Any] | None = None, **cluster: Any
) -> pathlib.Path:
    """Write one with these settings of the cluster and of the user; None: it names no user."""
    context = {"cluster": "c"} | ({} if user is None else {"user": "u"})
    document = {
        "kind": "Config",
        "current-context": "x",
        "contexts": [{"name": "x", "context": context}],
        "clusters": [{"name": "c", "cluster": {"server": server, **cluster}}],
        "users": [] if user is None else [{"name": "u", "user": user}],
    }
    path.write_text(json.dumps(document))
    return path
