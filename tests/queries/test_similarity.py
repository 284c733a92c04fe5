import duckdb
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.queries.signatures import signature_expr, variant_set_id_expr
from builder.queries.similarity import find_near_duplicate_signatures
from builder.text.keys import fold_texts


def sign(text: str, has_french: bool = True) -> str:
    frame = pl.DataFrame({"text": [text]})
    result: str = frame.select(signature_expr(pl.col("text"), has_french)).item()
    return result


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("l'impôt sur le revenu", "Revenus : impôts"),
        ("Qu'est-ce que le CSE ?", "cse"),
        ("c'est quoi un CSE", "le CSE"),
        ("quelle est la durée du congé", "congés durée"),
        ("eau d'Évian", "evian eaux"),
        ("contrat d\u2019apprentissage", "contrats apprentissage"),
        ("prix d\u02bceau", "prix d'eau"),
        ("prix d\uff07eau", "prix d'eau"),
        ("prix de l eau", "prix de l' eau"),
        ("aide a l emploi", "aide emplois"),
        ("aide a la mobilité", "aide mobilité"),
        ("l argent", "argent"),
        ("cours \u00e0 domicile", "cours domicile"),
        ("cours a\u0300 domicile", "Cours, domicile"),
        ("vis-\u00e0-vis", "vis vis"),
        ("qu\u2019il pleuve", "qu il pleuve"),
    ],
)
def test_variants_share_a_signature(one: str, other: str) -> None:
    assert sign(one) == sign(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("vitamine c", "vitamine d"),
        ("hépatite a", "hépatite b"),
        ("gare de l'est", "gare du nord"),
        ("fumer", "ne pas fumer"),
        ("sel", "sans sel"),
        ("avant l'impôt", "après l'impôt"),
        ("iphone 12", "iphone 13"),
        ("vitamine d aliments", "vitamine a aliments"),
        ("vitamine d aliments", "vitamine aliments"),
        ("taille m homme", "taille s homme"),
        ("taille l homme", "taille homme"),
        ("hépatite a vaccin", "vaccin hépatite"),
        ("permis a prix", "prix permis"),
        ("new york news", "new york"),
    ],
)
def test_other_queries_do_not(one: str, other: str) -> None:
    assert sign(one) != sign(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("my son birthday", "my birthday"), ("a l oeuvre", "oeuvre"), ("la tour", "tour")],
)
def test_without_french_all_words_are_content(one: str, other: str) -> None:
    assert sign(one, has_french=False) != sign(other, has_french=False)
    assert sign("Les sons d'eau", has_french=False) == "d eau les son"


def test_function_words_alone_are_content() -> None:
    assert sign("la") == "la"
    assert sign("Le la") == "la le"


def test_ids_of_sets_are_md5_of_the_name() -> None:
    frame = pl.DataFrame({"name": ["impot revenu", None]})
    assert frame.select(variant_set_id_expr(pl.col("name")))["name"].to_list() == [
        "v906410662e6c6042",
        None,
    ]


def distance(a: str, b: str) -> int:
    """Damerau-Levenshtein with adjacent transpositions, by the recurrence (Wagner & Lowrance)."""
    last: dict[str, int] = {}
    most = len(a) + len(b)
    d = {(-1, -1): most}
    for i in range(len(a) + 1):
        d[i, -1], d[i, 0] = most, i
    for j in range(len(b) + 1):
        d[-1, j], d[0, j] = most, j
    for i in range(1, len(a) + 1):
        row = 0
        for j in range(1, len(b) + 1):
            k, m = last.get(b[j - 1], 0), row
            same = a[i - 1] == b[j - 1]
            row = j if same else row
            d[i, j] = min(
                d[i - 1, j - 1] + (not same),
                d[i, j - 1] + 1,
                d[i - 1, j] + 1,
                d[k - 1, m - 1] + (i - k - 1) + 1 + (j - m - 1),
            )
        last[a[i - 1]] = i
    return d[len(a), len(b)]


def naive(signatures: list[str], threshold: float) -> dict[tuple[str, str], float]:
    """Every pair, every word: what `find_near_duplicate_signatures` must find."""
    links: dict[tuple[str, str], float] = {}
    for one in signatures:
        for other in signatures:
            if one == other:
                continue
            a, b = one.split(" "), other.split(" ")
            for i, word in enumerate(a):
                for j, spelling in enumerate(b):
                    if a[:i] + a[i + 1 :] != b[:j] + b[j + 1 :] or word == spelling:
                        continue
                    edits, longest = distance(word, spelling), max(len(word), len(spelling))
                    if (
                        edits <= min(2, (1 - threshold) * longest + 1e-9)
                        and word[0] == spelling[0]
                        and min(len(word), len(spelling)) > 1
                        and not any(c.isdigit() for c in word + spelling)
                    ):
                        similarity = 1 - edits / longest
                        links[one, other] = max(similarity, links.get((one, other), 0))
    return links


words = st.text("abc", min_size=1, max_size=7) | st.sampled_from(
    ["abcabcabcabc", "abccbacabca", "abacabcabcab", "abcabcabcab", "ab1"]
)
drawn = st.lists(words, min_size=1, max_size=3).map(lambda w: " ".join(sorted(set(w))))


@settings(max_examples=40, deadline=None)
@given(st.lists(drawn, unique=True, max_size=25), st.sampled_from([0.5, 0.7, 0.8, 0.9]))
def test_all_near_signatures_are_found_and_no_other(
    signatures: list[str], threshold: float
) -> None:
    with duckdb.connect() as connection:
        series = pl.Series(signatures, dtype=pl.String)
        found = find_near_duplicate_signatures(connection, series, threshold)
    links = {(one, other): similarity for one, other, similarity in found.rows()}
    assert links == pytest.approx(naive(signatures, threshold))
    assert all((other, one) in links for one, other in links), "symmetric"


def test_spellings_by_hand() -> None:
    signatures = fold_texts(
        ["conge maternite", "conge paternite", "congee maternite", "conge matenrite", "maternite"]
    )
    with duckdb.connect() as connection:
        found = find_near_duplicate_signatures(connection, pl.Series(signatures), 0.8)
    assert found.rows() == [
        ("conge matenrite", "conge maternite", pytest.approx(8 / 9)),
        ("conge maternite", "conge matenrite", pytest.approx(8 / 9)),
        ("conge maternite", "congee maternite", pytest.approx(5 / 6)),
        ("congee maternite", "conge maternite", pytest.approx(5 / 6)),
    ]
