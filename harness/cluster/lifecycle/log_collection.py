"""The logs of a cluster that stays, in one folder."""

import pathlib
import shutil

from harness import writing
from harness.cluster import cluster_records, providers


def collect(entry: cluster_records.ClusterRecord, to: pathlib.Path) -> list[pathlib.Path]:
    """Copy every log into this folder; the files that are there then. StorageError or UnwritableError when it cannot be written."""
    with writing.explained(to):
        to.mkdir(parents=True, exist_ok=True)
        for path in entry.path.glob("*.log"):
            shutil.copy2(path, to)
    providers.of(entry.restored()).collect_logs(entry.request(), to)
    return sorted(path for path in to.rglob("*") if path.is_file())
