"""The life of one request: authentication, faults, the response, the audit log."""

import functools
import urllib.parse
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import msgspec

from harness import clocks
from harness.apiserver import json_codec
from harness.apiserver.endpoints import authentication, discovery, request_info, responses
from harness.apiserver.errors import status_errors
from harness.apiserver.server import (
    audit_log,
    http_messages,
    request_faults,
    servers,
    watch_streams,
)
from harness.faults import admin_api, injection

if TYPE_CHECKING:
    from harness.apiserver.server import connections

Step = Callable[[], None]


class RequestLifecycle:
    """One request and its response."""

    def __init__(
        self,
        server: servers.Server,
        connection: "connections.Connection",
        incoming: http_messages.Incoming,
    ) -> None:
        self._server, self._connection = server, connection
        self._incoming, self._request = incoming, incoming.request
        self._entry: audit_log.AuditEntry | None = None
        self._reading: audit_log.AuditEntry | None = None
        """Logs what a list or watch sends; None: it is not logged."""
        self._listed = 0
        """The version that a list shows."""
        self._is_noted = False
        """True if the response is in the audit log."""
        self._handler = server.handler
        self._older: tuple[int, str] | None = None
        """The version that a stale read may show, and a remark for the record."""
        self._has_head = False
        """True if the head of the response is sent, so that there can be no other response."""

    def begin(self) -> None:
        """Respond, now or later; every error becomes a response."""
        log = self._server.audit
        if log is not None and log.wants(self._request):
            self._entry = self._new_entry(log)
        elif log is not None and log.wants_reads(self._request):
            self._reading = self._new_entry(log)
        self._try(self._receive)

    def _new_entry(self, log: audit_log.AuditLog) -> audit_log.AuditEntry:
        uri, source = self._incoming.uri, self._connection.source
        return audit_log.AuditEntry(log, self._request, uri=uri, source=source)

    def _try(self, step: Step) -> None:
        try:
            step()
        except status_errors.StatusError as error:
            self._fail(error)
        except RecursionError:  # where Python's recursion ends differs by its version
            self._fail(status_errors.bad_request(json_codec.TOO_DEEP))
        except Exception as error:  # noqa: BLE001 - the outermost edge: answer 500, serve on
            message = f"Internal error occurred: {type(error).__name__}: {error}"
            self._fail(status_errors.StatusError(500, "InternalError", message))

    def _fail(self, error: status_errors.StatusError) -> None:
        """Respond with the error; if a response has begun, close the connection in the middle."""
        if self._has_head:
            self._connection.abort()
        else:
            self._respond(responses.failure(error))

    def _receive(self) -> None:
        authentication.require_token(self._incoming.authorization, self._server.token)
        if self._request.target is not None and not self._server.knows_roles:
            raise authentication.forbidden(self._request)
        for entry in filter(None, (self._entry, self._reading)):
            entry.allow()
        if self._server.serves_faults and self._request.path.startswith(admin_api.PREFIX):
            self._administer()
        else:
            self._inject("request", self._serve)

    def _administer(self) -> None:
        try:
            status, document = admin_api.answer(
                self._server.faults,
                self._request.method,
                self._request.path,
                query=urllib.parse.urlencode(self._request.query),
                body=self._request.body,
                boot_id=clocks.boot_id(),
            )
            answer = responses.of_document(document, status)
        except admin_api.NotServedError as error:
            answer = responses.failure(status_errors.StatusError(404, "NotFound", str(error)))
        except ValueError as error:
            answer = responses.failure(status_errors.bad_request(f"not a fault: {error}"))
        self._finish(answer)  # no fault applies to it

    def _serve(self) -> None:
        target = self._request.target
        if target is None:
            self._respond(discovery.answer(self._request))
        elif self._request.verb == "watch":
            self._inject("response", functools.partial(self._start_watch, target))
        else:
            self._listed = self._listed or self._server.store.resource_version
            self._respond(self._handler.answer(self._request, target))

    def _start_watch(self, target: request_info.Target) -> None:
        watch = watch_streams.Watch(self._server, self._connection, self._request, target)
        if self._connection.is_lost:
            return  # a fault held the request until now
        self._connection.follow(watch, keep_alive=self._incoming.keep_alive)
        if self._entry is not None:
            self._entry.started(200)
        watch.on_end, watch.on_sent = self._note_end, self._note_sent
        self._has_head = True
        watch.start()

    def _note_sent(self, version: int) -> None:
        if self._reading is not None:
            self._reading.sent(version)

    def _note_end(self) -> None:
        if self._entry is not None:
            self._entry.completed(200)
        self._server.turn.end_soon()

    def _respond(self, answer: responses.Response) -> None:
        is_examined = self._entry is not None or self._server.faults.wants("response")
        if is_examined or self._request.method == "HEAD" or not self._incoming.keep_alive:
            answer = answer.whole()
        self._note_response(answer)  # logged as it is, whatever becomes of it
        self._inject("response", functools.partial(self._finish, answer), answer)

    def _finish(self, answer: responses.Response) -> None:
        """Send the response and close the connection unless the client keeps it alive."""
        if answer.pieces is not None:
            self._connection.block()
            self._connection.write(http_messages.STREAM_HEAD)
            self._has_head = True
            self._send_pieces(answer.pieces)
            return
        is_head = self._request.method == "HEAD"
        more = self._note_response(answer)
        self._connection.write(http_messages.response(answer, more, is_head=is_head))
        if answer.status == 200 and not is_head:
            self._note_sent(self._listed)
        if not self._incoming.keep_alive:
            self._connection.end()

    def _send_pieces(self, pieces: Iterator[bytes]) -> None:
        """Send a piece, and the next one when the client has read most of it."""
        if piece := next(pieces, b""):
            self._connection.write(self._server.framer.chunk([piece]))
            go_on = functools.partial(self._send_pieces, pieces)
            self._connection.when_writable(functools.partial(self._try, go_on))
            return
        self._connection.write(http_messages.LAST_CHUNK)
        self._note_sent(self._listed)
        self._connection.unblock()

    def _note_response(self, answer: responses.Response) -> bytes:
        """Log the response, if it is to be; return the header lines that name its event."""
        if self._entry is None:
            return b""
        if not self._is_noted:
            self._entry.completed(answer.status, answer)
            self._is_noted = True
        return b"Audit-Id: %b\r\n" % self._entry.audit_id.encode("latin-1")

    # -------------------------------------------------------------- faults

    def _inject(
        self, point: injection.Point, go_on: Step, answer: responses.Response | None = None
    ) -> None:
        """Take the next step, unless a fault applies: then act on that."""
        faults = self._server.faults
        if not (
            faults.wants(point) and faults.wants(point, request_faults.client_of(self._request))
        ):
            go_on()
            return
        version = self._server.store.resource_version
        facts = request_faults.of_request(self._request, answer, newest_version=version)
        is_possible = functools.partial(self._is_possible, answer)
        applied = faults.strike(point, facts, is_possible=is_possible)
        match applied.action if applied else None:
            case injection.Reject() as action:
                self._finish(_injected(action))
            case injection.Lose():
                self._connection.end()
            case injection.Truncate() if answer is not None:
                self._truncate(answer)
            case injection.Stale() if applied is not None:
                self._show_older(applied)
                go_on()
            case injection.Overlook():
                self._handler = self._server.overlooking_handler
                go_on()
            case injection.Block() | injection.Delay() as action if applied is not None:
                self._connection.block()
                if isinstance(action, injection.Block) and action.sever:
                    self._connection.abort()
                faults.wait(applied, functools.partial(self._resume, go_on))
            case _:
                go_on()

    def _is_possible(self, answer: responses.Response | None, action: injection.Action) -> bool:
        match action:
            case injection.Truncate():
                return bool(answer and answer.body) and self._request.method != "HEAD"
            case injection.Stale():
                self._older = request_faults.older_state(
                    self._server.store, self._server.version_times, self._request, action.seconds
                )
                return self._older is not None
            case injection.Overlook():
                return request_faults.has_new_finalizers(
                    self._server.store, self._server.version_times, self._request, action.seconds
                )
        return True

    def _resume(self, go_on: Step) -> None:
        self._try(go_on)
        self._connection.unblock()

    def _truncate(self, answer: responses.Response) -> None:
        """Send the head and half of the body, then reset the connection."""
        whole = http_messages.response(answer, self._note_response(answer))
        body = len(answer.body)
        self._connection.write(whole[: len(whole) - body + body // 2])
        self._connection.reset()

    def _show_older(self, applied: injection.Applied) -> None:
        if self._older is not None:
            self._listed, applied.note = self._older
            self._handler = self._server.handler.at(self._listed)
            applied.facts = msgspec.structs.replace(applied.facts, resource_version=self._listed)


def _injected(action: injection.Reject) -> responses.Response:
    details = (
        {"retryAfterSeconds": action.retry_after_seconds} if action.retry_after_seconds else None
    )
    error = status_errors.StatusError(action.code, action.reason, action.message, details)
    return responses.failure(error)
