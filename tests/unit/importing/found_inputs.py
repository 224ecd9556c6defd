"""Inputs that users had, as an import reads them: files by name."""

import pathlib

NEWER_SLICES, DEVICES = (
    pathlib.Path(__file__).with_name(f"{name}.yaml").read_text()
    for name in ("newer_slices", "devices")
)
PODS = (
    "{restartPolicy: Never, containers: [{name: c, image: i, resources: {claims: [{name: g}]}}], "
    "resourceClaims: [{name: g, resourceClaimTemplateName: one-gpu}]}"
)


def workload(kind: str, name: str, spec: str, *, version: str = "apps/v1", owner: str = "") -> str:
    """Return a document; `owner`: the `Kind name` of what has made the object."""
    made_by = ""
    if owner:
        of_kind, of_name = owner.split()
        made_by = (
            f", ownerReferences: [{{apiVersion: v1, kind: {of_kind}, name: {of_name}, uid: u}}]"
        )
    metadata = f"{{name: {name}, namespace: ml{made_by}}}"
    return f"\n---\napiVersion: {version}\nkind: {kind}\nmetadata: {metadata}\nspec: {spec}\n"


def written(folder: pathlib.Path, *documents: str) -> list[pathlib.Path]:
    """Return the file with the documents."""
    path = folder / "input.yaml"
    path.write_text("".join(documents))
    return [path]
