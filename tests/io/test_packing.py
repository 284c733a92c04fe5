"""Things that follow each other are put together up to a size."""

from hypothesis import given
from hypothesis import strategies as st

from builder.io.batching import batch_by_size


def test_what_fits_is_together_and_what_is_too_large_alone() -> None:
    sizes = [3, 4, 3, 1, 20, 0, 2, 10]
    places = list(batch_by_size(range(len(sizes)), sizes.__getitem__, 10))
    assert places == [[0, 1, 2], [3], [4], [5, 6], [7]]
    assert list(batch_by_size([], sizes.__getitem__, 10)) == []


@given(st.lists(st.integers(0, 9)), st.integers(1, 20))
def test_nothing_is_lost_and_no_list_could_take_the_next(sizes: list[int], most: int) -> None:
    found = list(batch_by_size(range(len(sizes)), sizes.__getitem__, most))
    assert [place for some in found for place in some] == list(range(len(sizes)))
    totals = [sum(sizes[place] for place in some) for some in found]
    assert all(total <= max(most, *sizes) for total in totals)
    for total, following in zip(totals, found[1:], strict=False):
        assert total
        assert total + sizes[following[0]] > most
