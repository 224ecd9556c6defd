"""Sends spans by OpenTelemetry's SDK to a collector, as its environment variables say."""

import contextlib
import importlib.util
import logging
import os
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness import errors
from harness.tracing import spans

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter

BATCH = 512
"""Spans of one request, as OpenTelemetry's own batches have."""
ENDPOINT = "http://localhost:4318"
"""Where collectors listen by default."""
_PROTOCOL = "http/protobuf"


def require_sdk(environment: Mapping[str, str]) -> None:
    """Raise UsageError if the SDK is missing, disabled, or told to use another protocol."""
    for name in ("opentelemetry.sdk.trace", "opentelemetry.exporter.otlp.proto.http"):
        try:
            is_there = importlib.util.find_spec(name) is not None
        except ModuleNotFoundError:
            is_there = False
        if not is_there:
            raise errors.UsageError(
                "expected OpenTelemetry's SDK and OTLP exporter, which are not installed: "
                "pip install 'flake-hunt[otel]'"
            )
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        raise errors.UsageError(
            "nothing was sent, because OTEL_SDK_DISABLED is true: unset it to send spans"
        )
    for name in ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"):
        found = environment.get(name, _PROTOCOL)
        if found != _PROTOCOL:
            raise errors.UsageError(
                f"expected {name} to be {_PROTOCOL} or unset, got {found!r}: name the collector's "
                "HTTP endpoint, which usually has port 4318"
            )


def where(environment: Mapping[str, str]) -> str:
    """Return the host and port of the collector, without the rest of its URL."""
    url = environment.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or environment.get(
        "OTEL_EXPORTER_OTLP_ENDPOINT", ENDPOINT
    )
    return urllib.parse.urlsplit(url).netloc.rpartition("@")[2] or url


class Sender:
    """Turns spans into those of the SDK, and sends them in batches."""

    def __init__(
        self,
        run_id: str,
        offset_ns: int,
        attributes: spans.Attributes,
        *,
        exporter: "SpanExporter | None" = None,
    ) -> None:
        """`offset_ns` is added to times; `attributes` describe the run.

        `exporter` None: OTLP over HTTP, as the environment says.
        """
        from opentelemetry import trace
        from opentelemetry.sdk import trace as sdk
        from opentelemetry.sdk.trace import id_generator

        class Ids(id_generator.IdGenerator):
            """Hands out the ids of the span that is made now."""

            trace, span = 1, 1

            def generate_trace_id(self) -> int:
                """Return the trace's id."""
                return self.trace

            def generate_span_id(self) -> int:
                """Return the span's id."""
                return self.span

        class Batch(sdk.SpanProcessor):
            """Takes the spans that have ended."""

            def on_end(self, span: "ReadableSpan") -> None:
                """Add a span, if it is sampled."""
                if span.context is not None and span.context.trace_flags.sampled:
                    ended.append(span)

        ended: list[ReadableSpan] = []
        self._api, self._sdk, self._ids, self._processor = trace, sdk, Ids(), Batch()
        self._ended = ended
        self._run_id, self._offset_ns, self._attributes = run_id, offset_ns, attributes
        self._exporter = exporter or _otlp_exporter()
        self._providers: dict[str, TracerProvider] = {}
        self.sent = 0
        """Spans that the collector has accepted."""

    def add(self, span: spans.Span) -> None:
        """Send a span, with others.

        Raises UsageError if the collector does not accept them.
        """
        api = self._api
        self._ids.trace = spans.trace_id(self._run_id, span.trace)
        self._ids.span = spans.span_id(self._run_id, span.trace, span.key)
        made = (
            self._provider(span.process)
            .get_tracer("flake-hunt")
            .start_span(
                span.name,
                context=self._parent(span),
                kind=api.SpanKind.CLIENT if span.is_client else api.SpanKind.INTERNAL,
                attributes=span.attributes,
                start_time=self._wall_ns(span.begun_ns),
            )
        )
        for event in span.events:
            made.add_event(event.name, event.attributes, self._wall_ns(event.ts_ns))
        if span.error:
            made.set_status(api.Status(api.StatusCode.ERROR, span.error))
        made.end(self._wall_ns(max(span.ended_ns, span.begun_ns)))
        if len(self._ended) >= BATCH:
            self.flush()

    def flush(self) -> None:
        """Send what is left.

        Raises UsageError if the collector does not accept it.
        """
        from opentelemetry.sdk.trace import export

        batch, self._ended[:] = list(self._ended), []
        if not batch:
            return
        with _reason() as said:
            answer = self._exporter.export(batch)
        if answer is not export.SpanExportResult.SUCCESS:
            why = f" ({said[-1]})" if said else ""
            raise errors.UsageError(
                f"expected the collector at {where(os.environ)} to accept {len(batch)} spans, but it did not{why}: "
                "start one, or set OTEL_EXPORTER_OTLP_ENDPOINT"
            )
        self.sent += len(batch)

    def close(self) -> None:
        """Close the connection."""
        self._exporter.shutdown()

    def _wall_ns(self, ts_ns: int) -> int:
        """Return a time since 1970; damaged journals may have others, which OTLP cannot express."""
        return max(ts_ns + self._offset_ns, 0)

    def _parent(self, span: spans.Span) -> Any:
        """Return the context of the trace's root; an empty one for the root itself."""
        from opentelemetry import context

        if span.key == spans.ROOT:
            return context.Context()
        root = self._api.SpanContext(
            self._ids.trace,
            spans.span_id(self._run_id, span.trace, spans.ROOT),
            is_remote=False,
            trace_flags=self._api.TraceFlags(self._api.TraceFlags.SAMPLED),
        )
        return self._api.set_span_in_context(self._api.NonRecordingSpan(root), context.Context())

    def _provider(self, process: str) -> "TracerProvider":
        """Return the provider of a process, which is a service of its own."""
        provider = self._providers.get(process)
        if provider is None:
            from opentelemetry.sdk import resources

            name = os.environ.get("OTEL_SERVICE_NAME") or f"flake-hunt-{process}"
            described = {**self._attributes, "service.name": name, "flake_hunt.process": process}
            provider = self._sdk.TracerProvider(
                resource=resources.Resource.create(described),
                id_generator=self._ids,
                shutdown_on_exit=False,
            )
            provider.add_span_processor(self._processor)
            self._providers[process] = provider
        return provider


def _otlp_exporter() -> "SpanExporter":
    from opentelemetry.exporter.otlp.proto.http import trace_exporter

    return trace_exporter.OTLPSpanExporter()


@contextlib.contextmanager
def _reason() -> Iterator[Sequence[str]]:
    """Collect what the exporter logs, instead of printing it."""
    said: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage().splitlines()[0][:300])

    logger, handler = logging.getLogger("opentelemetry"), Handler()
    was_propagating, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield said
    finally:
        logger.removeHandler(handler)
        logger.propagate = was_propagating
