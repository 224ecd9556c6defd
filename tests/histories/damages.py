"""Ways to damage a run directory, as crashes, full disks and clumsy hands do it."""

import json
import os
import pathlib
from collections.abc import Callable

import msgspec

from harness.history import directories, journal_reader, records, zstd_frames
from tests.histories import building

Damage = Callable[[directories.RunDirectory], None]
File = Callable[[directories.RunDirectory], pathlib.Path]
Body = list[records.Body]


def processes(directory: directories.RunDirectory) -> pathlib.Path:
    return directory.processes


def observations(directory: directories.RunDirectory) -> pathlib.Path:
    return directory.observations


def operations(directory: directories.RunDirectory) -> pathlib.Path:
    return directory.operations(building.TRAFFIC)


def steps(directory: directories.RunDirectory) -> pathlib.Path:
    return directory.steps(building.SCHEDULER)


def preparations(directory: directories.RunDirectory) -> pathlib.Path:
    return directory.preparations(building.KUBELET)


def faults(directory: directories.RunDirectory) -> pathlib.Path:
    return directory.faults


FILES: list[File] = [processes, observations, operations, steps, preparations]


def missing(file: File) -> Damage:
    """The file is not there."""
    return lambda directory: file(directory).unlink()


def edited(name: str, **changes: object) -> Damage:
    """Keys of a document have other values."""

    def damage(directory: directories.RunDirectory) -> None:
        path = directory.path / name
        path.write_text(json.dumps(json.loads(path.read_bytes()) | changes))

    return damage


CONTENTS = {
    "empty": b"",
    "text": b"{",
    "null": b"null",
    "list": b"[]",
    "deep": b"[" * 100_000,
    "bytes": b"\xff\xfe\x00",
    "huge number": b'{"created_wall_ns": 1e999}',
    "wide": b'{"seed": ' + b"9" * 5_000 + b"}",
}
LINKS = {"a device": "/dev/zero", "a link": "/etc/hostname", "a link to nothing": "nowhere"}


def spoil(path: pathlib.Path, how: str) -> None:
    """Put something else in place of a file, or nothing."""
    content = path.read_bytes() if path.is_file() else b""
    path.unlink(missing_ok=True)
    match how:
        case "missing":
            pass
        case "cut":
            path.write_bytes(content[: len(content) // 2])
        case "a FIFO":
            os.mkfifo(path)
        case "a folder":
            path.mkdir()
        case "a loop":
            path.symlink_to(path)
        case "closed":
            path.touch(mode=0)
        case _ if how in LINKS:
            path.symlink_to(LINKS[how])
        case _:
            path.write_bytes(CONTENTS[how])


def spoiled(name: str, how: str) -> Damage:
    return lambda directory: spoil(directory.path / name, how)


def no_trailer(file: File) -> Damage:
    def damage(directory: directories.RunDirectory) -> None:
        lines = file(directory).read_bytes().splitlines(keepends=True)
        file(directory).write_bytes(b"".join(lines[:-1]))

    return damage


def torn(file: File) -> Damage:
    """The writer was killed within its last line."""

    def damage(directory: directories.RunDirectory) -> None:
        file(directory).write_bytes(file(directory).read_bytes()[:-5])

    return damage


def garbled(file: File, line: int = 2) -> Damage:
    def damage(directory: directories.RunDirectory) -> None:
        lines = file(directory).read_bytes().splitlines(keepends=True)
        lines[line - 1] = lines[line - 1][7:]
        file(directory).write_bytes(b"".join(lines))

    return damage


def of_another_run(file: File) -> Damage:
    return lambda directory: _rewrite(file(directory), list, run_id="another")


def changed(file: File, change: Callable[[Body], Body]) -> Damage:
    """Other records, but a sound file."""
    return lambda directory: _rewrite(file(directory), change)


def appended(file: File, *more: records.Body) -> Damage:
    return changed(file, lambda body: [*body, *more])


def dropped(file: File, unwanted: Callable[[records.Body], bool], *, first: bool = False) -> Damage:
    """Some records less: all that are unwanted, or only the first of them."""

    def change(body: Body) -> Body:
        found = [record for record in body if unwanted(record)]
        if not found:
            raise ValueError("expected something to drop")
        gone = {id(record) for record in (found[:1] if first else found)}
        return [record for record in body if id(record) not in gone]

    return changed(file, change)


def swapped(file: File, one: int, other: int) -> Damage:
    def change(body: Body) -> Body:
        body[one], body[other] = body[other], body[one]
        return body

    return changed(file, change)


def logged(text: str) -> Damage:
    def damage(directory: directories.RunDirectory) -> None:
        directory.logs.mkdir(exist_ok=True)
        directory.log(building.SCHEDULER).write_text(text)

    return damage


def unfinished_call() -> Damage:
    """A call of the load never came back."""
    return appended(operations, building.invocation(999, "pods", "never-answered"))


def process_died(process: str = building.SCHEDULER, *, exit_code: int = -9) -> Damage:
    """A process was killed by something else, or ended by itself with another code."""

    return killed(process, fault="", expected=False, exit_code=exit_code)


def killed(
    process: str, *, fault: str = "crash", expected: bool = True, exit_code: int = -9
) -> Damage:
    """A fault killed a process."""
    return changed(
        processes,
        lambda body: [
            msgspec.structs.replace(record, exit_code=exit_code, expected=expected, fault=fault)
            if isinstance(record, records.ProcessEnded) and record.process == process
            else record
            for record in body
        ],
    )


def timed_out() -> Damage:
    return before_the_end(
        records.Phase(name="timed out", ts_ns=0, detail="load took more than 60 s")
    )


def ended_early() -> Damage:
    return before_the_end(records.Phase(name="ended early", ts_ns=0, detail="scheduler has died"))


def before_the_end(*more: records.Body) -> Damage:
    """Some records more in the journal of the run, before its last phase."""
    return changed(processes, lambda body: [*body[:-1], *more, body[-1]])


def bomb(blocks: int, *, window_log: int = 21) -> bytes:
    """A zstd frame without an end: every four bytes become 128 KiB of the same character."""
    window = bytes([(window_log - 10) << 3])
    block = (2**17 << 3 | 1 << 1).to_bytes(3, "little") + b"x"
    return zstd_frames.MAGIC + b"\x00" + window + block * blocks


def _rewrite(
    path: pathlib.Path, change: Callable[[Body], Body], *, run_id: str = building.RUN_ID
) -> None:
    journal = journal_reader.read(path)
    if journal.header is None:
        raise ValueError(f"{path}: expected a file with a header")
    path.unlink()
    building.write(path, change(journal.records), process=journal.header.process, run_id=run_id)
