"""Faults that act as clients of the cluster, ours and those of plug-ins, each in a process."""

import contextlib
import subprocess

import msgspec

from harness import clocks, concurrency, errors, processes, seeds
from harness.extensions import discovery, entry_points
from harness.history import plans
from harness.run.faulting import fault_process, injecting

_Line = fault_process.Effect | fault_process.End


def plugin_of(fault: plans.PlannedFault) -> entry_points.Plugin | None:
    chosen = fault.parameters.get("plugin", "")
    return discovery.require("faults", chosen) if chosen else None


def act(it: injecting.Injection) -> None:
    client = _Client(it)
    it.undo.callback(client.end)
    client.start()
    it.begun()
    it.wait_for_end(client.is_done)


class _Client:
    """The process of a fault."""

    def __init__(self, it: injecting.Injection) -> None:
        self._it, fault, stage = it, it.fault, it.stage
        self._log = stage.directory.logs / f"fault-{fault.name}.log"
        plugin = plugin_of(fault)
        self._client = f"the plug-in {plugin.name}" if plugin else f"the fault {fault.name}"
        self._source = str(plugin or self._client)
        self._order = fault_process.Order(
            plugin=plugin,
            kind=fault.kind,
            kubeconfig=str(stage.cluster.user_kubeconfig.resolve()),
            namespace=stage.plan.namespace,
            seed=seeds.Seeds(stage.plan.seed).derive("fault", fault.name),
            parameters=fault.parameters["parameters"] if plugin else fault.parameters,
        )
        self._child: subprocess.Popen[bytes] | None = None
        self._reading: concurrency.Thread | None = None
        self._end: fault_process.End | None = None
        """The last word of the process; None: it has not said one."""
        self._wrong = ""
        """A line that is no word of such a process; empty: there was none."""

    def start(self) -> None:
        with self._log.open("ab") as log:
            child = subprocess.Popen(
                processes.python(fault_process.__name__),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        self._child = child
        self._reading = concurrency.spawn(f"fault-effects {self._it.fault.name}", self._read)
        if child.stdin is not None:
            child.stdin.write(msgspec.json.encode(self._order) + b"\n")
            child.stdin.flush()

    def end(self) -> None:
        """Let it undo what it has done.

        Raises FaultError if it fails, ends without a word, or does not end in time.
        """
        if self._child is None or self._reading is None:
            return
        with contextlib.suppress(OSError):
            if self._child.stdin is not None:
                self._child.stdin.close()
        try:
            is_late = self._child.wait(fault_process.GRACE_S) is None
        except subprocess.TimeoutExpired:
            is_late = True
        self._child.kill()
        self._reading.join(fault_process.GRACE_S)
        self._child.wait()
        if self._child.stdout is not None:
            self._child.stdout.close()
        if failure := self._failure(is_late=is_late):
            raise errors.FaultError(f"{failure}; its output: {self._log}")

    def _failure(self, *, is_late: bool) -> str:
        if is_late:
            return f"{self._source} did not end within {fault_process.GRACE_S:g} s"
        if self._wrong:
            return f"{self._source} has told an effect that is none: {self._wrong}"
        if self._end is None:
            return f"{self._source} ended without a word"
        return self._end.failure

    def is_done(self) -> bool:
        return self._child is not None and self._child.poll() is not None

    def _read(self) -> None:
        for line in (self._child and self._child.stdout) or ():
            try:
                told: _Line = msgspec.json.decode(line, type=_Line)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                self._wrong = f"{error}"
                continue
            if isinstance(told, fault_process.End):
                self._end = told
            else:
                self._note(told)

    def _note(self, told: fault_process.Effect) -> None:
        meta = {
            "namespace": told.namespace,
            "name": told.name,
            "uid": told.uid,
            "resourceVersion": told.resource_version,
        }
        self._it.changed(
            told.kind,
            meta,
            verb="change",
            detail=told.text,
            begun_ns=clocks.monotonic_ns(),
            client=self._client,
        )
