"""The embedded API server, but with answers in protobuf for clients that want them.

A kube-apiserver answers so; the fault proxy has to read it.
"""

from typing import Any

import msgspec

from harness.apiserver import json_codec
from harness.apiserver.endpoints import request_info, responses
from harness.apiserver.server import request_lifecycle, watch_streams
from harness.cli import main
from tests.support import protobuf_messages

_finish = request_lifecycle.RequestLifecycle._finish
_start = watch_streams.Watch.start


def _wants(request: request_info.Request) -> bool:
    return request.headers.get("accept", "").startswith(responses.PROTOBUF)


def _finish_in_protobuf(
    self: request_lifecycle.RequestLifecycle, answer: responses.Response
) -> None:
    if _wants(self._request) and answer.content_type == responses.JSON:
        body = protobuf_messages.encode(json_codec.decode(answer.body))
        answer = msgspec.structs.replace(answer, body=body, content_type=responses.PROTOBUF)
    _finish(self, answer)


def _frame(kind: str, body: bytes) -> bytes:
    return protobuf_messages.event_frame(kind, protobuf_messages.encode(json_codec.decode(body)))


class _Stream:
    """The connection of a watch in protobuf."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def write(self, data: bytes) -> None:
        media = f"{responses.PROTOBUF};stream=watch"
        self._connection.write(data.replace(responses.JSON.encode(), media.encode()))


def _start_in_protobuf(self: watch_streams.Watch) -> None:
    if _wants(self._request):
        self._frame = _frame
        self._connection = _Stream(self._connection)  # type: ignore[assignment]
    _start(self)


def _view(accept: str) -> str:
    return "" if accept.startswith(responses.PROTOBUF) else _json_view(accept)


_json_view = responses.preferred_view
if __name__ == "__main__":
    responses.preferred_view = _view  # type: ignore[assignment]
    request_lifecycle.RequestLifecycle._finish = _finish_in_protobuf  # type: ignore[method-assign]
    watch_streams.Watch.start = _start_in_protobuf  # type: ignore[method-assign]
    main.main()
