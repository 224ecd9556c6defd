"""The master's side: admits workers, writes their journals, and ends when all have done their work.

It runs inside Locust's master process, beside Locust's own runner.
"""

import logging
import os
import pathlib
import signal
import sys
from typing import Any

import gevent
import gevent.event
from locust import env, runners
from locust.rpc import Message

from harness import clocks, errors, regular_files
from harness.history import directories, journal_writer, plans, records
from harness.traffic import launching, load_shapes
from harness.traffic.remote import admission, messages


class WorkerRecords:
    """The journal of the workers of one run, which the master writes."""

    def __init__(self, directory: directories.RunDirectory, *, run_id: str) -> None:
        self._writer = journal_writer.Writer(
            directory.traffic_workers, process="traffic", run_id=run_id
        )
        self._refused: set[str] = set()

    def joined(self, member: admission.Member, joining: messages.Joining) -> None:
        """Record host and clock of a worker that takes part."""
        self._writer.write(
            records.WorkerJoined(
                process=member.process,
                host=member.hello.host,
                boot_id=member.hello.boot_id,
                pid=member.hello.pid,
                offset_ns=joining.offset_ns,
                uncertainty_ns=joining.uncertainty_ns,
                ts_ns=clocks.monotonic_ns(),
            )
        )

    def done(self, member: admission.Member, done: messages.Done) -> None:
        """Record that all of a worker's journal has arrived, and its clock once more."""
        self._left(member, "", done.offset_ns, done.uncertainty_ns)

    def lost(self, member: admission.Member, why: str) -> None:
        """Record that a worker is lost."""
        self._left(member, why, None, 0)

    def refused(self, node: str, hello: messages.Hello, why: str) -> bool:
        """Record that a worker was refused; return False if it was recorded before."""
        if node in self._refused:
            return False
        self._refused.add(node)
        now_ns = clocks.monotonic_ns()
        self._writer.write(
            records.WorkerRefused(host=hello.host, pid=hello.pid, reason=why, ts_ns=now_ns)
        )
        return True

    def close(self) -> None:
        """Close the journal."""
        self._writer.close()

    def _left(
        self, member: admission.Member, lost: str, offset_ns: int | None, uncertainty_ns: int
    ) -> None:
        self._writer.write(
            records.WorkerLeft(
                process=member.process,
                host=member.hello.host,
                lost=lost,
                offset_ns=offset_ns,
                uncertainty_ns=uncertainty_ns,
                ts_ns=clocks.monotonic_ns(),
            )
        )


SILENT_MAX_S = 5.0
"""Seconds without a message after which a worker counts as lost."""
INVITED_SILENT_MAX_S = 30.0
"""The same for a worker that reads the plan and imports its users."""
_GIVEN_UP = "the run goes on without this worker, which it had not heard for too long"
LOOK_S = 0.05
"""Seconds between two looks at the workers and at what they have to do."""
END_TIMEOUT_S = launching.STOP_TIMEOUT_S + 5.0
"""Seconds for the workers to end their calls and to send the rest of their journals; less than a
run waits for the whole traffic."""
_LONGEST_SILENCE_S = {
    admission.State.JOINED: SILENT_MAX_S,
    admission.State.INVITED: INVITED_SILENT_MAX_S,
}
_GOING_S = 0.2
"""Seconds for the last messages to leave."""


class Master:
    """The master of remote workers."""

    def __init__(
        self,
        environment: env.Environment,
        runner: runners.MasterRunner,
        directory: directories.RunDirectory,
    ) -> None:
        plan = plans.read(directory.plan)
        traffic = plan.settings["traffic"]
        self._environment, self._runner, self._directory = environment, runner, directory
        self._invitation = _invitation(directory, traffic)
        self._admission = admission.Admission(
            plan.remote_operations, directory, version=admission.version()
        )
        self._records = WorkerRecords(directory, run_id=plan.run_id)
        self._enough = launching.enough_file(directory)
        self._give_up_ns = clocks.monotonic_ns() + int(traffic["workers_wait_s"] * 1e9)
        self._told: tuple[bool, bool, bool] = (False, False, False)
        self._is_stopping = self._is_ended = False
        self._ending: gevent.Greenlet | None = None
        handlers = {
            messages.Hello: self._on_hello,
            messages.Tick: self._on_tick,
            messages.Joining: self._on_joining,
            messages.Ready: self._on_ready,
            messages.Chunk: self._on_chunk,
            messages.Done: self._on_done,
            messages.Left: self._on_left,
            messages.UserFailed: self._on_user_failed,
        }
        for kind, handler in handlers.items():
            runner.register_message(messages.kind(kind), self._decoding(kind, handler))
        self._locust_handles, runner.handle_message = runner.handle_message, self._admit_runners
        environment.events.quitting.add_listener(self._on_quitting)
        # Locust handles SIGTERM only from the start of the load on, and with a shape never.
        load_shapes.lead(environment, runner, lambda why: self._end(launching.USER_FAILED, why))
        early = gevent.signal_handler(signal.SIGTERM, self._on_early_signal)
        if environment.shape_class is None:
            environment.events.test_start.add_listener(lambda **_: early.cancel())
        gevent.spawn(self._look_after_workers)

    # ------------------------------------------------------------------------ messages

    def _decoding(self, kind: type[Any], handler: Any) -> Any:
        """Return a listener for Locust, which would log an exception and go on."""

        def listen(msg: Message, **_: Any) -> None:
            try:
                handler(msg.node_id, messages.decode(msg.data, kind))
            except errors.ProcessError as error:
                logging.warning("ignored a message of %s: %s", msg.node_id, error)
            except (errors.StorageError, errors.UnwritableError) as error:
                self._end(launching.UNWRITABLE, str(error))

        return listen

    def _admit_runners(self, client_id: str, msg: Message) -> None:
        """Let no Locust runner take part that is not of a worker of ours."""
        if msg.type == "client_ready" and client_id not in self._admission.runners():
            logging.warning("refused the Locust worker %s, which is not of Flake Hunt", client_id)
            self._runner.server.send_to_client(Message("quit", None, client_id))
            return
        self._locust_handles(client_id, msg)

    def _send(self, node: str, message: Any) -> None:
        sent = Message(messages.kind(message), messages.encode(message), node)
        self._runner.server.send_to_client(sent)

    def _on_hello(self, node: str, hello: messages.Hello) -> None:
        found = self._admission.admit(node, hello, now_ns=clocks.monotonic_ns())
        if isinstance(found, str):
            self._refuse(node, hello, found)
            return
        logging.info("invited %s", found.title)
        plan, locustfile = self._invitation
        self._send(node, messages.Welcome(index=found.index, plan=plan, locustfile=locustfile))

    def _refuse(self, node: str, hello: messages.Hello, why: str) -> None:
        if self._records.refused(node, hello, why):
            logging.warning("refused a worker: %s", why)
        self._send(node, messages.Refused(reason=why))

    def _on_tick(self, node: str, tick: messages.Tick) -> None:
        received_ns = clocks.monotonic_ns()
        if self._member(node):
            self._send(
                node,
                messages.Tock(
                    sent_ns=tick.sent_ns,
                    received_ns=received_ns,
                    answered_ns=clocks.monotonic_ns(),
                ),
            )

    def _on_joining(self, node: str, joining: messages.Joining) -> None:
        member = self._member(node)
        if member is None:
            return
        if member.state is admission.State.INVITED:
            member.state = admission.State.JOINED
            logging.info("%s takes part", member.title)
            self._records.joined(member, joining)
        self._send(node, messages.Joined())

    def _on_ready(self, node: str, ready: messages.Ready) -> None:
        member = self._member(node)
        if member is not None and member.state is admission.State.JOINED:
            member.runner = ready.runner
            self._send(node, messages.Admitted())

    def _on_chunk(self, node: str, chunk: messages.Chunk) -> None:
        member = self._member(node)
        if member is not None and member.state is admission.State.JOINED:
            member.journal.add(chunk.offset, chunk.data)
        if member is not None:
            self._send(node, self._orders(member))

    def _on_done(self, node: str, done: messages.Done) -> None:
        member = self._member(node)
        if member is None:
            return
        if done.size == member.journal.size and member.state is admission.State.JOINED:
            member.state = admission.State.DONE
            member.journal.close()
            self._records.done(member, done)
            if self._admission.is_done:
                self._end()
        self._send(node, self._orders(member))

    def _on_left(self, node: str, left: messages.Left) -> None:
        member = self._member(node)
        if member is not None:
            self._lose(member, left.reason)

    def _on_user_failed(self, node: str, failed: messages.UserFailed) -> None:
        """End with an error: without this user, the load is not the one that was asked for."""
        if self._member(node):
            self._end(launching.USER_FAILED, failed.reason)

    def _member(self, node: str) -> admission.Member | None:
        """Return the worker of a message; None if it was never admitted, or was given up."""
        member = self._admission.members.get(node)
        if member is None or member.state is admission.State.LOST:
            self._send(node, messages.Refused(reason=_GIVEN_UP))
            return None
        member.heard_ns = clocks.monotonic_ns()
        return member

    def _orders(self, member: admission.Member) -> messages.Received:
        return messages.Received(
            size=member.journal.size,
            is_enough=self._enough.exists(),
            is_stopping=self._is_stopping,
            is_ended=self._is_ended,
        )

    # ------------------------------------------------------------------ while it goes on

    def _look_after_workers(self) -> None:
        """Find workers that are lost or missing, and send the others changed orders."""
        while not self._is_ended:
            now_ns = clocks.monotonic_ns()
            for state, longest_s in _LONGEST_SILENCE_S.items():
                for member in self._admission.silent(state, now_ns - int(longest_s * 1e9)):
                    self._lose(member, f"nothing was heard of it for {longest_s:g} s")
            for member in self._missed_by_locust():
                self._lose(member, "it sent no heartbeat to Locust's master for 3 s")
            if now_ns > self._give_up_ns and self._admission.missing and not self._ending:
                names = ", ".join(self._admission.missing)
                self._end(launching.WORKER_LOST, f"gave up waiting for workers: {names}")
            self._tell()
            gevent.sleep(LOOK_S)

    def _missed_by_locust(self) -> list[admission.Member]:
        missing = {client.id for client in self._runner.clients.missing}
        members = list(self._admission.members.values())
        return [item for item in members if item.runner in missing]

    def _tell(self) -> None:
        """Send the workers their orders, if these have changed."""
        now = (self._enough.exists(), self._is_stopping, self._is_ended)
        if now == self._told:
            return
        self._told = now
        for member in self._admission.members.values():
            self._send(member.node, self._orders(member))

    def _lose(self, member: admission.Member, why: str) -> None:
        """Give the place of a worker to another one if it has done nothing yet, else end."""
        if member.state is admission.State.INVITED:
            logging.warning("%s went away before it took part: %s", member.title, why)
            self._admission.dismiss(member)
        elif member.state is admission.State.JOINED:
            member.state = admission.State.LOST
            member.journal.close()
            self._records.lost(member, why)
            self._end(launching.WORKER_LOST, f"{member.title} was lost: {why}")

    # -------------------------------------------------------------------------- the end

    def _end(self, code: int | None = None, why: str = "") -> None:
        """Begin to end; `code`: the exit code of an error, whose reason is logged."""
        if why:
            logging.error("%s", why)
        if code is not None and self._environment.process_exit_code is None:
            self._environment.process_exit_code = code
        if self._ending is None:
            self._ending = gevent.spawn(self._end_in_order)

    def _end_in_order(self) -> None:
        """Stop the workers, wait for the rest of their journals, and end this process.

        Locust waits for all workers in a loop that only a signal ends.
        """
        self._wind_up()
        os.kill(os.getpid(), signal.SIGTERM)

    def _on_early_signal(self) -> None:
        """End this process while it still waits for workers."""
        self._on_quitting()
        sys.exit(self._environment.process_exit_code or 0)

    def _on_quitting(self, **_: Any) -> None:
        """Wind up before Locust does, because of a signal or of an end of ours."""
        if self._ending is None:
            self._ending = gevent.spawn(self._wind_up)
        self._ending.join()

    def _wind_up(self) -> None:
        self._is_stopping = True
        self._tell()
        at_work = (admission.State.JOINED, admission.State.INVITED)
        deadline_ns = clocks.monotonic_ns() + int(END_TIMEOUT_S * 1e9)
        while any(item.state in at_work for item in self._admission.members.values()):
            if clocks.monotonic_ns() > deadline_ns:
                break
            gevent.sleep(LOOK_S)
        self._is_ended = True
        self._tell()
        gevent.sleep(_GOING_S)
        for member in list(self._admission.members.values()):
            if member.state in at_work:
                self._records.lost(member, "its work did not end in time")
                member.state = admission.State.LOST
            member.journal.close()
        self._records.close()


def _invitation(
    directory: directories.RunDirectory, traffic: dict[str, Any]
) -> tuple[bytes, bytes]:
    """Return the contents of plan.json and of the scenario's locustfile, if it is a file."""
    locustfile = pathlib.Path(traffic.get("locustfile") or "/")
    content = regular_files.content(locustfile) if locustfile.is_file() else b""
    return regular_files.content(directory.plan), content
