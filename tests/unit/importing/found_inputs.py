"""Inputs that users had, as an import reads them: files by name."""

import pathlib

NEWER_SLICES, DEVICES = (
    pathlib.Path(__file__).with_name(f"{name}.yaml").read_text()
    for name in ("newer_slices", "devices")
)


def written(folder: pathlib.Path, *documents: str) -> list[pathlib.Path]:
    """Return the file with the documents."""
    path = folder / "input.yaml"
    path.write_text("".join(documents))
    return [path]
