"""The recorder: a process that records each change that the API server reports.

It has one watch per resource (see `resource_streams`) and one writer. At the end it records a final
list of each resource, and closes the journal.
"""

import dataclasses
import pathlib
import threading

from harness import errors, processes
from harness.client import apis, resource_streams, transports
from harness.history import directories, journal_writer, plans

READY_TIMEOUT_S = 20.0
"""Time limit for the recorder to start."""
_OF_NAMESPACE = ("pods", "resourceclaims", "resourceclaimtemplates")
"""Resources that are recorded in the run's namespace only."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RecorderOptions:
    """The options of the recorder."""

    kubeconfig: pathlib.Path
    run_directory: pathlib.Path
    """The run directory, whose plan.json names the resources to record and the compression."""
    ready_file: pathlib.Path | None = None
    """Created once the recorder is watching; None: no file."""


def run(options: RecorderOptions) -> int:
    """Record until SIGTERM; return 0 once the journal is complete and closed.

    Raises HarnessError if recording fails.
    """
    stopped = processes.stop_event()
    directory = directories.existing(options.run_directory)
    plan = plans.read(directory.plan)
    transport = transports.connect(options.kubeconfig)
    path = directory.new_observations(plan.compression)
    writer = journal_writer.Writer(path, process="recorder", run_id=plan.run_id)
    recorder = Recorder(apis.Api(transport), writer, plan=plan)
    recorder.start()
    if options.ready_file is not None:
        processes.touch_ready(options.ready_file)
    _wait(stopped, recorder)
    recorder.finish()
    writer.close()
    return 0


def _wait(stopped: processes.StopEvent, recorder: "Recorder") -> None:
    while not stopped.wait(0.2):
        recorder.raise_failure()


class Recorder:
    """Records the resources of a plan."""

    def __init__(self, api: apis.Api, writer: journal_writer.Writer, *, plan: plans.Plan) -> None:
        guard = threading.Lock()
        self._streams = [
            resource_streams.ResourceStream(
                api,
                apis.BY_PLURAL[plural],
                writer,
                guard,
                namespace=plan.namespace if plural in _OF_NAMESPACE else None,
            )
            for plural in plan.resources
        ]

    def start(self) -> None:
        """Record the first lists and start to watch."""
        for stream in self._streams:
            stream.take_list("first")
            stream.start()

    def finish(self) -> None:
        """Catch up with the server, record the final lists, and end."""
        for stream in self._streams:
            stream.finish()

    def raise_failure(self) -> None:
        """Raise HarnessError if recording a resource has failed."""
        for stream in self._streams:
            if stream.failure is not None:
                raise errors.HarnessError(f"recording failed: {stream.failure}")
