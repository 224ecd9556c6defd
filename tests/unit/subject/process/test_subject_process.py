"""A subject process: its settings file, and how it ends when one of its threads fails."""

import pathlib
import sys

import pytest

from harness import errors, processes
from harness.client import apis, transports
from harness.subject.process import subject_process
from tests.support import api_objects, api_servers

TIMEOUT_S = 60.0


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "settings"),
        ("", "truncated"),
        ('{"sede": 7}', "sede"),
        ('{"pauses": {"probability": 2}}', "<= 1.*probability"),
    ],
)
def test_a_wrong_file_is_named_with_what_is_wrong(
    tmp_path: pathlib.Path, text: str | None, why: str
) -> None:
    path = tmp_path / "settings.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(errors.UsageError, match=why) as caught:
        subject_process.read_settings(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "run", [subject_process.run_scheduler, subject_process.run_claim_controller]
)
def test_an_unknown_defect_is_refused_before_anything_is_connected(
    tmp_path: pathlib.Path, run: object
) -> None:
    options = subject_process.SubjectOptions(kubeconfig=tmp_path / "none", defects=("none-such",))
    with pytest.raises(errors.UsageError, match="none-such"):
        run(options)  # type: ignore[operator]


FAILS = """
import pathlib, sys
from harness.subject.process import subject_process
from harness.subject.{package} import {module}
def fail(*arguments, **named): raise RuntimeError("unforeseen")
{module}.{method} = fail
options = subject_process.SubjectOptions(
    kubeconfig=pathlib.Path(sys.argv[1]), ready_file=pathlib.Path(sys.argv[2])
)
sys.exit(subject_process.run_scheduler(options))
"""


@pytest.mark.parametrize(
    ("package", "module", "method", "thread"),
    [
        ("scheduling", "scheduling_cycles", "SchedulingCycle._schedule", "scheduling"),
        ("queueing", "event_handlers", "PodEvents.on_add", "informer-pods"),
    ],
)
def test_a_thread_that_fails_ends_the_scheduler(
    tmp_path: pathlib.Path, package: str, module: str, method: str, thread: str
) -> None:
    """Without its scheduling thread a scheduler would be ready for ever and do nothing."""
    kubeconfig, server = tmp_path / "plain", api_servers.start(tmp_path)
    try:
        program = FAILS.format(package=package, module=module, method=method)
        log = tmp_path / "scheduler.log"
        scheduler = processes.start(
            "scheduler",
            [sys.executable, "-c", program, str(kubeconfig), str(tmp_path / "scheduler-ready")],
            log=log,
        )
        transport = transports.connect(kubeconfig)
        apis.Api(transport).create(apis.PODS, api_objects.pod("p"), namespace="default")
        transport.close()
        exit_code = scheduler.wait(timeout_s=TIMEOUT_S)
        scheduler.kill()
    finally:
        server.kill()
    assert exit_code == 1
    assert log.read_text().startswith(
        f"flake-hunt scheduler: thread {thread} failed: RuntimeError: unforeseen ("
    )
    assert log.read_text().count("\n") == 1
