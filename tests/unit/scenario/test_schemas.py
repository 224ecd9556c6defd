"""The JSON Schemas of scenario files and cluster profiles that editors read."""

import functools
import tomllib
from typing import Any

import jsonschema
import pytest

from harness.scenario import schemas


def problems(kind: str, document: dict[str, Any]) -> list[str]:
    return [error.message for error in validator(kind).iter_errors(document)]


@functools.cache
def validator(kind: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(schemas.schema(kind))


def scenario(**more: Any) -> dict[str, Any]:
    folder = schemas.SHELVES["scenario"].folder()
    return tomllib.loads((folder / "shared-claims.toml").read_text()) | more


@pytest.mark.parametrize("kind", schemas.SHELVES)
def test_shipped_files_name_their_schema_and_keep_to_it(kind: str) -> None:
    for path in schemas.SHELVES[kind].folder().glob("*.toml"):
        text = path.read_text()
        assert text.splitlines()[0] == f"#:schema ./{schemas.file_name(kind)}", path
        assert problems(kind, tomllib.loads(text)) == [], path


def test_mistakes_are_found_where_they_are() -> None:
    assert "'poolz' was unexpected" in problems("scenario", scenario(poolz={}))[0]
    assert "'many' is not of type 'integer'" in problems(
        "scenario", scenario(pools={"nodes": "many"})
    )


def test_every_form_that_the_loader_takes_is_in_the_schema() -> None:
    for switch in (True, False, {"lease_duration_s": 15}):
        assert problems("scenario", scenario(subject={"leader_election": switch})) == []


@pytest.mark.parametrize("kind", schemas.SHELVES)
def test_every_key_is_explained(kind: str) -> None:
    tables = schemas.schema(kind)["$defs"].values()
    silent = [
        f"{table['title']}.{key}"
        for table in tables
        for key, described in table.get("properties", {}).items()
        if "description" not in described and "const" not in described
    ]
    assert silent == []
    assert all(table.get("description") for table in tables if "properties" in table)
