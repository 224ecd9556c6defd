"""Known defects of the allocator that show in every interleaving; see `allocator_plays`."""

import pytest

from tests.detection import allocator_plays

pytestmark = pytest.mark.detection


@pytest.mark.parametrize("name", allocator_plays.ROWS)
def test_correct_code_grants_what_there_is(name: str) -> None:
    assert allocator_plays.granted(allocator_plays.ROWS[name]) == allocator_plays.ROWS[name].granted


@pytest.mark.parametrize(
    ("name", "defect"),
    [(name, defect) for name, row in allocator_plays.ROWS.items() for defect in row.defects],
)
def test_a_defect_grants_something_else(name: str, defect: str) -> None:
    assert (
        allocator_plays.granted(allocator_plays.ROWS[name], defect)
        != allocator_plays.ROWS[name].granted
    )
