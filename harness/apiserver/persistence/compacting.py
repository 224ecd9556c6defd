"""Snapshots: the log begins anew, so that neither it nor a restart grows for ever.

A new log begins at once; the snapshot of the moment at which it begins is written beside the work in small steps. Until it is
whole the older generation is what counts.
"""

import asyncio
import os
from collections.abc import Sequence

from harness.apiserver import resources, storing
from harness.apiserver.persistence import changes, directories, records

Tables = Sequence[tuple[resources.ResourceType, Sequence[storing.Stored]]]
STEP_OBJECTS = 100
"""Written at a time: well below a millisecond."""


async def write_snapshot(
    directory: directories.DataDirectory, version: int, tables: Tables
) -> None:
    """Write every object as it was at a version; OSError when it cannot be written."""
    path = directory.snapshot(version)
    unfinished = path.with_suffix(directories.UNFINISHED)
    encoder, count = records.Encoder(), 0
    with unfinished.open("wb") as file:
        file.write(encoder.line(changes.begin(version)))
        for resource, objects in tables:
            for index in range(0, len(objects), STEP_OBJECTS):
                step = objects[index : index + STEP_OBJECTS]
                payloads = [changes.write(resource, "ADDED", stored) for stored in step]
                file.writelines([encoder.line(payload) for payload in payloads])
                count += len(step)
                await asyncio.sleep(0)
        file.write(encoder.line(changes.end(count)))
        file.flush()
        await asyncio.to_thread(os.fsync, file.fileno())
    unfinished.rename(path)
    directory.sync()
