"""Requests with documents as bodies."""

import json

from harness.client import transports


def send(
    transport: transports.Transport, method: str, path: str, document: object = None
) -> transports.Response:
    """The answer to a request whose body, if any, is a document."""
    body = None if document is None else json.dumps(document).encode()
    return transport.send(transports.Request(method=method, path=path, body=body))
