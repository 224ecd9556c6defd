"""One worker's part in a run, from the first word to the master to the last byte of its journal."""

import dataclasses
import os
import pathlib
import socket
from collections.abc import Callable

import gevent
import gevent.event
from locust import env, runners

from harness import clocks, errors, writing
from harness.client import journaling
from harness.extensions import loading
from harness.history import journal_writer, plans
from harness.model import naming
from harness.traffic import (
    assignments,
    launching,
    load_shapes,
    user_classes,
    users,
    workers,
)
from harness.traffic.remote import admission, channels, journal_streams, messages, reaching


class AdmittedRunner(runners.WorkerRunner):
    """A worker's runner that introduces itself on the channel before it connects."""

    def __init__(
        self, environment: env.Environment, host: str, port: int, *, admit: Callable[[str], None]
    ) -> None:
        """`admit` is called with the runner's name, and returns when the master expects it."""
        self._admit = admit
        super().__init__(environment, host, port)

    def connect_to_master(self) -> None:
        """Connect when the master expects this runner."""
        self._admit(self.client_id)
        super().connect_to_master()


MASTER_SILENT_MAX_S = 30.0
"""Seconds without a message after which the master counts as lost."""
_ASK_S = 0.5
"""Seconds after which a message that was not answered is sent again."""
_LOOK_S = 0.05
_FLUSH_S = 5.0
"""Seconds for the rest of the journal to arrive when a worker goes early."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    """The options of a worker from its command line."""

    host: str
    port: int
    kubeconfig: pathlib.Path
    connect_timeout_s: float
    folder: pathlib.Path
    """A folder of its own, which goes away at its end."""
    note: Callable[[str], None]
    """Prints a line about what the worker does."""


class Session:
    """A worker's part in one run."""

    def __init__(self, options: SessionOptions) -> None:
        self._options = options
        self._channel = channels.Channel(options.host, options.port, on_message=self._on_message)
        self._welcome: gevent.event.AsyncResult[messages.Welcome] = gevent.event.AsyncResult()
        self._joined, self._admitted = gevent.event.Event(), gevent.event.Event()
        self._orders = messages.Received(size=0, is_enough=False, is_stopping=False, is_ended=False)
        self._journal: journaling.Journal | None = None
        self._stream: journal_streams.JournalStream | None = None
        self._worker: workers.Worker | None = None
        self._runner: AdmittedRunner | None = None
        self._all_done = gevent.event.Event()
        self._body: gevent.Greenlet | None = None
        self._failure: BaseException | None = None

    def run(self) -> None:
        """Take part until the master ends the run.

        Raises UsageError if that is not possible, ProcessError if it ends before its work is done,
        and what `interrupt` was given.
        """
        self._body = gevent.spawn(self._take_part_or_fail)
        try:
            self._body.get()
            if self._failure is not None:
                self._go_early(self._failure)
                raise self._failure
        finally:
            if self._runner is not None:
                self._runner.greenlet.kill()
                self._runner.client.close(linger=channels.LINGER_MS)
            self._channel.close()

    def interrupt(self, why: BaseException) -> None:
        """End the worker early."""
        self._failure = self._failure or why
        if self._body is not None:
            self._body.kill(block=False)

    # ------------------------------------------------------------------------- the work

    def _take_part_or_fail(self) -> None:
        try:
            self._take_part()
        except (errors.HarnessError, OSError) as error:
            self._failure = self._failure or error

    def _take_part(self) -> None:
        welcome = self._introduce()
        plan, classes, is_shaped = self._read(welcome)
        reaching.require_cluster_of(plan, self._options.kubeconfig)
        self._join()
        name = naming.traffic(welcome.index)
        self._options.note(f"takes part in run {plan.run_id} of {plan.scenario} as {name}")
        worker = self._prepared(plan, welcome.index)
        runner = self._connect(worker, classes, is_shaped=is_shaped)
        self._wait_for_users(worker, runner)
        worker.watch.stop()
        self._close_journal()
        self._report_done()
        self._options.note("all of its journal has arrived")

    def _introduce(self) -> messages.Welcome:
        """Say hello until the master answers. Raises UsageError if it refuses, or never answers."""
        hello = messages.Hello(
            version=admission.version(),
            host=socket.gethostname(),
            boot_id=clocks.boot_id(),
            pid=os.getpid(),
        )
        options = self._options
        deadline_ns = clocks.monotonic_ns() + int(options.connect_timeout_s * 1e9)
        while clocks.monotonic_ns() < deadline_ns:
            self._channel.send(hello)
            try:
                return self._welcome.get(timeout=_ASK_S)
            except gevent.Timeout:
                continue
        raise errors.UsageError(
            f"expected a run with remote workers at {options.host}:{options.port}, got no answer "
            f"for {options.connect_timeout_s:g} s ({reaching.why_silent(options.host, options.port)}): "
            "start it with --workers remote, or wait longer with --connect-timeout"
        )

    def _read(
        self, welcome: messages.Welcome
    ) -> tuple[plans.Plan, dict[str, type[users.ClaimUser]], bool]:
        """Return the plan, the user classes, and whether a shape says how many users there are.

        Raises PluginError if they cannot be imported.
        """
        path = self._options.folder / "plan.json"
        writing.replace(path, welcome.plan)
        plan = plans.read(path)
        traffic = dict(plan.settings["traffic"])
        if welcome.locustfile:
            locustfile = self._options.folder / "locustfile.py"
            writing.replace(locustfile, welcome.locustfile)
            traffic["locustfile"] = str(locustfile)
        return plan, user_classes.of(traffic), bool(user_classes.shape_of(traffic))

    def _join(self) -> None:
        """Send the master the offset of this clock, until it has noted host and clock."""
        clock = self._channel.measure_clock()
        joining = messages.Joining(offset_ns=clock.offset_ns, uncertainty_ns=clock.uncertainty_ns)
        self._channel.send(joining)
        while not self._joined.wait(_ASK_S):
            self._channel.send(joining)

    def _prepared(self, plan: plans.Plan, index: int) -> workers.Worker:
        """Open the journal, begin to send it, and create what users share."""
        name = naming.traffic(index)
        path = self._options.folder / f"operations-{name}.jsonl"
        writer = journal_writer.Writer(path, process=name, run_id=plan.run_id)
        self._journal = journaling.Journal(writer)
        self._stream = journal_streams.JournalStream(path)
        gevent.spawn(self._send_journal, self._stream)
        worker = self._worker = workers.Worker(
            assignments.Assignment(
                plan=plan,
                index=index,
                journal=self._journal,
                kubeconfig=self._options.kubeconfig,
                is_enough=lambda: self._orders.is_enough,
            )
        )
        worker.on_done = self._all_done.set
        users.ClaimUser.worker = worker
        worker.prepare()
        return worker

    def _connect(
        self,
        worker: workers.Worker,
        classes: dict[str, type[users.ClaimUser]],
        *,
        is_shaped: bool,
    ) -> AdmittedRunner:
        """Connect Locust's runner, which starts users when the master says so."""

        def admit(runner: str) -> None:
            while not self._admitted.wait(_ASK_S / 5):
                self._channel.send(messages.Ready(runner=runner))

        environment = env.Environment(user_classes=list(classes.values()))
        load_shapes.release(worker, environment, is_shaped=is_shaped)
        environment.events.user_error.add_listener(
            lambda exception, **_: self._channel.send(
                messages.UserFailed(reason=loading.told(exception))
            )
        )
        self._runner = environment.runner = AdmittedRunner(
            environment, self._options.host, self._options.port, admit=admit
        )
        load_shapes.hear_the_end(worker, self._runner)
        return self._runner

    def _wait_for_users(self, worker: workers.Worker, runner: AdmittedRunner) -> None:
        """Wait until all users are done, or have to stop and have ended their calls."""
        while not self._all_done.wait(_LOOK_S) and not self._orders.is_stopping:
            pass
        worker.stop()
        deadline_ns = clocks.monotonic_ns() + launching.STOP_TIMEOUT_S * 10**9
        while runner.user_count and clocks.monotonic_ns() < deadline_ns:
            gevent.sleep(_LOOK_S)
        runner.stop()

    def _close_journal(self) -> None:
        journal, self._journal = self._journal, None
        if journal is not None:
            journal.close()

    def _report_done(self) -> None:
        """Say that the work is done, with a second estimate of the clock, until the run ends."""
        stream, clock = self._stream, self._channel.measure_clock()
        while stream and not self._orders.is_ended:
            if stream.received == stream.size:
                self._channel.send(
                    messages.Done(
                        size=stream.size,
                        offset_ns=clock.offset_ns,
                        uncertainty_ns=clock.uncertainty_ns,
                    )
                )
            gevent.sleep(_ASK_S / 5)

    # ----------------------------------------------------------------------- the channel

    def _on_message(self, message: object) -> None:
        match message:
            case messages.Welcome():
                self._welcome.set(message)
            case messages.Refused() if not self._welcome.ready():
                self.interrupt(errors.UsageError(message.reason))
            case messages.Refused():
                self.interrupt(errors.ProcessError(message.reason))
            case messages.Joined():
                self._joined.set()
            case messages.Admitted():
                self._admitted.set()
            case messages.Received():
                self._orders = message
                if self._stream is not None:
                    self._stream.note_received(message.size, clocks.monotonic_ns())

    def _send_journal(self, stream: journal_streams.JournalStream) -> None:
        """Send what is new, and a sign of life; end the worker when the master is silent."""
        sent_ns = 0
        while True:
            now_ns = clocks.monotonic_ns()
            offset, data = stream.next_chunk(now_ns)
            if data or now_ns - sent_ns > messages.PING_S * 1e9:
                self._channel.send(messages.Chunk(offset=offset, data=data))
                sent_ns = now_ns
            if now_ns - self._channel.heard_ns > MASTER_SILENT_MAX_S * 1e9:
                silent = f"the master was not heard for {MASTER_SILENT_MAX_S:g} s"
                self.interrupt(errors.ProcessError(f"expected the run to go on, but {silent}"))
                return
            gevent.sleep(0 if data else _LOOK_S)

    def _go_early(self, why: BaseException) -> None:
        """Stop the users, send the rest of the journal, and report to the master, as far as
        possible."""
        if not self._welcome.ready():
            return
        if self._worker is not None:
            self._worker.stop()  # or Locust would wait for holds and pods until its time limit
        if self._runner is not None:
            self._runner.stop()
        self._close_journal()
        stream, deadline_ns = self._stream, clocks.monotonic_ns() + int(_FLUSH_S * 1e9)
        while stream and stream.received < stream.size and clocks.monotonic_ns() < deadline_ns:
            gevent.sleep(_LOOK_S)
        self._channel.send(messages.Left(reason=" ".join(str(why).split()) or "it was stopped"))
