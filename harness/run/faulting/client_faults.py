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
        self._end: fault_process.End | None = None
        """The last word of the process; None: it has not said one."""
        self._wrong = ""
        """A line that is no word of such a process; empty: there was none."""
        order = fault_process.Order(
            plugin=plugin,
            kind=fault.kind,
            kubeconfig=str(stage.cluster.user_kubeconfig.resolve()),
            namespace=stage.plan.namespace,
            seed=seeds.Seeds(stage.plan.seed).derive("fault", fault.name),
            parameters=fault.parameters["parameters"] if plugin else fault.parameters,
        )
        with self._log.open("ab") as log:
            self._child = subprocess.Popen(
                processes.python(fault_process.__name__),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        assert self._child.stdin and self._child.stdout  # noqa: S101, PT018 - they are pipes
        self._input, self._output = self._child.stdin, self._child.stdout
        self._reading = concurrency.spawn(f"fault-effects {fault.name}", self._read)
        with contextlib.suppress(OSError):  # it has ended, and `end` says so
            self._input.write(msgspec.json.encode(order) + b"\n")
            self._input.flush()

    def end(self) -> None:
        """Let it undo what it has done; raise FaultError if that fails, or takes too long."""
        with contextlib.suppress(OSError):
            self._input.close()
        try:
            is_late = self._child.wait(fault_process.GRACE_S) is None
        except subprocess.TimeoutExpired:
            is_late = True
        self._child.kill()
        self._reading.join(fault_process.GRACE_S)
        self._child.wait()
        self._output.close()
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
        return self._child.poll() is not None

    def _read(self) -> None:
        for line in self._output:
            try:
                told: _Line = msgspec.json.decode(line, type=_Line)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                self._wrong = f"{error}"
                continue
            if isinstance(told, fault_process.End):
                self._end = told
                continue
            meta = {key: getattr(told, key) for key in ("namespace", "name", "uid")}
            self._it.changed(
                told.kind,
                {**meta, "resourceVersion": told.resource_version},
                verb="change",
                detail=told.text,
                begun_ns=clocks.monotonic_ns(),
                client=self._client,
            )
