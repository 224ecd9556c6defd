"""`flake-hunt trace`: to a real OTLP receiver over HTTP, while a run goes on, and bad cases."""

import gzip
import http.server
import os
import pathlib
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2

from harness import clocks
from harness.cli.watching import trace_command
from harness.history import manifests
from tests.histories import building

GOLDEN = pathlib.Path(__file__).parents[3] / "golden" / "device_exclusivity" / "INVALID"
TIMEOUT_S = 30


class Collector(http.server.ThreadingHTTPServer):
    """Receives spans by OTLP over HTTP, as collectors do."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.spans: list[tuple[str, Any]] = []
        """Service and span."""
        self.paths: set[str] = set()
        self.headers: list[str | None] = []


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        request = trace_service_pb2.ExportTraceServiceRequest.FromString(body)
        self.server.paths.add(self.path)
        self.server.headers.append(self.headers.get("X-Team"))
        for part in request.resource_spans:
            attributes = {item.key: item.value.string_value for item in part.resource.attributes}
            for scope in part.scope_spans:
                self.server.spans += [(attributes["service.name"], span) for span in scope.spans]
        answer = trace_service_pb2.ExportTraceServiceResponse().SerializeToString()
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_arguments: object) -> None:
        pass


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)
    server = Collector()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
    yield server
    server.shutdown()
    server.server_close()
    thread.join(TIMEOUT_S)


def test_a_run_arrives_whole(
    flake_hunt: Any, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-team=scheduling")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
    code, out, err = flake_hunt("trace", str(GOLDEN))
    assert (code, err) == (0, "")
    assert collector.paths == {"/v1/traces"}
    assert set(collector.headers) == {"scheduling"}
    where = f"127.0.0.1:{collector.server_address[1]}"
    assert out.splitlines()[0] == f"sent {len(collector.spans)} spans to {where}"
    names = {span.name for _, span in collector.spans}
    assert names >= {"run", "pod", "claim", "hold", "create resourceclaims", "phase: load"}
    failed = [span for _, span in collector.spans if span.name == "hold" and span.status.code == 2]
    assert "double allocation" in failed[0].status.message
    now_ns = clocks.wall_ns()
    assert all(
        0 <= span.start_time_unix_nano <= span.end_time_unix_nano for _, span in collector.spans
    )
    assert all(span.end_time_unix_nano < now_ns for _, span in collector.spans)


def test_a_run_under_way_is_sent_as_it_goes_on(
    flake_hunt: Any, collector: Collector, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_command, "WAIT_S", 0.05)
    made = building.build(
        tmp_path / "run",
        "a+D1 a-D1 a~ b+D1",
        changes={
            "pid": os.getpid(),
            "boot_id": clocks.boot_id(),
            "created_wall_ns": clocks.wall_ns(),
        },
    )

    def end() -> None:
        clocks.wait_until(
            lambda: any(span.name == "claim" for _, span in collector.spans),
            timeout_s=TIMEOUT_S,
            why="the first claim to be sent",
        )
        before.extend(span.name for _, span in collector.spans)
        manifests.write(made, run_id=building.RUN_ID)

    before: list[str] = []
    ending = threading.Thread(target=end)
    ending.start()
    code, _, err = flake_hunt("trace", str(made.path))
    ending.join(TIMEOUT_S)
    assert (code, err) == (0, "")
    assert before.count("claim") == 1  # b is not gone
    assert "run" not in before
    after = [span.name for _, span in collector.spans]
    assert (after.count("claim"), after.count("run")) == (2, 1)


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("OTEL_SDK_DISABLED", "true", "nothing was sent, because OTEL_SDK_DISABLED is true"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "to be http/protobuf or unset, got 'grpc'"),
    ],
)
def test_what_cannot_be_done_is_said(
    flake_hunt: Any,
    collector: Collector,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    value: str,
    said: str,
) -> None:
    monkeypatch.setenv(variable, value)
    code, _, err = flake_hunt("trace", str(GOLDEN))
    assert code == 2
    assert said in err
    assert collector.spans == []


def test_without_a_collector_it_fails_with_one_sentence(
    flake_hunt: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://me:secret@127.0.0.1:{port}")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    code, _, err = flake_hunt("trace", str(GOLDEN))
    assert code == 2
    assert err.startswith(f"flake-hunt: expected the collector at 127.0.0.1:{port} to accept ")
    assert "secret" not in err
    assert err.count("\n") == 1


def test_a_folder_that_is_none_is_refused(
    flake_hunt: Any, collector: Collector, tmp_path: pathlib.Path
) -> None:
    code, _, err = flake_hunt("trace", str(tmp_path))
    assert code == 2
    assert "has no plan.json" in err


def test_the_sdk_is_imported_by_this_command_alone() -> None:
    script = (
        "import sys; from harness.cli import commands; commands.make_app([]);"
        "from harness.tracing import run_spans, span_sending;"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=TIMEOUT_S)


def test_a_missing_sdk_names_the_extra() -> None:
    script = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "from harness import errors\n"
        "from harness.tracing import span_sending\n"
        "try:\n"
        "    span_sending.require_sdk({})\n"
        "except errors.UsageError as error:\n"
        "    assert \"pip install 'flake-hunt[otel]'\" in str(error)\n"
        "else:\n"
        "    sys.exit('it was not missed')\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=TIMEOUT_S)
