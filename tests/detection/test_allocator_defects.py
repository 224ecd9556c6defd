"""Known defects of the allocator that show in every interleaving; see `allocator_plays`."""

import pytest

from tests.detection import allocator_plays

pytestmark = pytest.mark.detection
ROWS = allocator_plays.ROWS


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_correct_code_grants_what_there_is(row: allocator_plays.Row) -> None:
    assert allocator_plays.granted(row) == row.granted


@pytest.mark.parametrize(
    ("name", "defect"), [(name, defect) for name, row in ROWS.items() for defect in row.defects]
)
def test_a_defect_grants_something_else(name: str, defect: str) -> None:
    assert allocator_plays.granted(ROWS[name], defect) != ROWS[name].granted
