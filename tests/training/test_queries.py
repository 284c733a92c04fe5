"""Queries of the project's own lexicon: both sides ask for the same, as people type it."""

from itertools import islice

from workflows.train_translator.queries import query_pairs


def test_queries_are_short_lowercase_and_decided_by_a_seed() -> None:
    found = list(query_pairs(3, 2000))
    assert found == list(query_pairs(3, 2000))
    assert found != list(query_pairs(4, 2000))
    assert all(side == side.lower() and len(side) < 80 for pair in found for side in pair)
    assert len(set(found)) > 1000


def test_what_is_asked_and_about_what_is_on_both_sides() -> None:
    prices = [(fr, en) for fr, en in query_pairs(3, 2000) if fr.startswith("prix ")]
    assert len(prices) > 50
    assert all(english.startswith("price of ") for _, english in prices)
    pools = [english for french, english in query_pairs(3, 2000) if "piscine" in french]
    assert pools
    assert all("swimming pool" in english for english in pools)
    assert len(list(islice(query_pairs(3, 2), 5))) == 2
