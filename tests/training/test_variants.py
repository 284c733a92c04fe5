"""Pairs as people write them: what is rewritten, how often, and that English stays clean."""

from workflows.train_translator.variants import (
    augment,
    strip_final_marks,
    with_sign,
    without_accents,
)

PAIR = ("L'été, l'eau est chaude à Évian.", "In summer the water is warm in Évian.")


def seen(count: int = 2000) -> list[tuple[str, str]]:
    """What becomes of many copies of a pair."""
    return list(augment(iter([PAIR] * count)))


def test_a_seed_decides_what_is_drawn() -> None:
    assert seen() == seen()
    assert seen() != list(augment(iter([PAIR] * 2000), seed=8))


def test_typography_and_accents_change_on_the_french_side_alone() -> None:
    kept = [pair for pair in seen() if not pair[1].islower() and not pair[1].isupper()]
    assert len(kept) == 2000
    assert {strip_final_marks(english) for _, english in kept} == {strip_final_marks(PAIR[1])}
    assert 500 < sum("’" in french for french, _ in kept) < 900
    assert 40 < sum("eau est chaude a Evian" in french for french, _ in kept) < 140
    assert 400 < sum("à Evian" in french for french, _ in kept) < 800


def test_final_marks_are_missing_on_both_sides() -> None:
    bare = [pair for pair in seen() if pair[1] == strip_final_marks(PAIR[1])]
    assert 60 < len(bare) < 200
    assert not any(french.endswith(".") for french, _ in bare)


def test_short_pairs_are_also_queries_and_titles() -> None:
    queries = [
        french for french, english in seen() if english == strip_final_marks(PAIR[1]).lower()
    ]
    assert 200 < len(queries) < 400
    assert "l'été, l'eau est chaude à évian" in queries
    assert "l'ete, l'eau est chaude a evian" in queries
    assert "l ete, l eau est chaude a evian" in queries
    assert ("L'ÉTÉ, L'EAU EST CHAUDE À ÉVIAN", strip_final_marks(PAIR[1]).upper()) in seen()
    long = [(PAIR[0] * 2, PAIR[1] * 2)] * 500
    assert len(list(augment(iter(long)))) == 500


def test_without_accents() -> None:
    assert without_accents("Œuvre naïve, ça va où ?") == "OEuvre naive, ca va ou ?"
    assert strip_final_marks("Quoi ?!") == "Quoi"


def test_prices_have_the_euro_sign_on_both_sides_or_neither() -> None:
    assert with_sign("Ça coûte 10 dollars.", "It costs 10 dollars.") == (
        "Ça coûte 10 €.",
        "It costs €10.",
    )
    assert with_sign("une amende de 60 000 $", "a fine of $60,000") == (
        "une amende de 60 000 €",
        "a fine of €60,000",
    )
    kept = ("Donne-lui 5 dollars.", "Give him five dollars.")
    assert with_sign(*kept) == kept
