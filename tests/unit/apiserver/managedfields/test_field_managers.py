"""`metadata.managedFields` after creations, updates and patches."""

from typing import Any

from harness.apiserver.managedfields import field_managers
from harness.apiserver.registry import resource_strategies
from harness.apiserver.scheme import resources

R = resources
Document = dict[str, Any]
NOW = "2026-01-01T00:00:00Z"


def writer(manager: str = "me", **options: Any) -> field_managers.FieldWriter:
    options = {"resource": R.CONFIGMAPS, "manager": manager, "now": NOW} | options
    strategy = resource_strategies.of(options["resource"])
    reset_fields = strategy.reset_fields(options.get("subresource", ""))
    return field_managers.FieldWriter(reset_fields=reset_fields, **options)


def config(entries: list[Document] | None = None, **data: str) -> Document:
    meta = {"name": "c"} | ({"managedFields": entries} if entries is not None else {})
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta} | (
        {"data": data} if data else {}
    )


def created(**data: str) -> list[Document]:
    return field_managers.of_created(config(**data), writer("creator"))


# ---------------------------------------------------------------- updates


def test_the_time_of_an_entry_is_that_of_its_last_gain() -> None:
    old = config(created(a="1", b="1"), a="1", b="1")
    later = writer("creator", now="2027-01-01T00:00:00Z")
    (lost,) = field_managers.after_update(old, config(a="1"), later)
    (gained,) = field_managers.after_update(old, config(a="2", b="1"), later)
    assert (lost["time"], gained["time"]) == (NOW, "2027-01-01T00:00:00Z")


def test_clients_can_rewrite_entries_but_only_into_ones_that_make_sense() -> None:
    entries = created(a="1")
    renamed = [entries[0] | {"manager": "renamed"}]
    old = config(entries, a="1")
    same = config(a="1")
    assert field_managers.after_update(old, config(renamed, **same["data"]), writer()) == renamed
    broken = [entries[0] | {"operation": "Steal"}]
    assert field_managers.after_update(old, config(broken, **same["data"]), writer()) == entries
    through_status = writer(subresource="status")
    assert (
        field_managers.after_update(old, config(renamed, **same["data"]), through_status) == entries
    )


def test_appliers_come_first_then_the_older_ones() -> None:
    entries = [
        {"operation": "Update", "time": "2026-01-01T00:00:01Z", "manager": "b"},
        {"operation": "Apply", "time": "2026-01-01T00:00:09Z", "manager": "z"},
        {"operation": "Update", "time": "2026-01-01T00:00:00Z", "manager": "c"},
    ]
    stored = [
        entry | {"apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {f"f:{number}": {}}}
        for number, entry in enumerate(entries)
    ]
    after = field_managers.after_update(config(stored), config(a="1"), writer("a"))
    assert [entry["manager"] for entry in after] == ["z", "a", "c", "b"]
