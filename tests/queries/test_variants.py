from collections.abc import Sequence

import duckdb
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builder.errors import FormatError
from builder.io.tables import Table, table_at
from builder.parameters import (
    SelectionParameters,
    SplitParameters,
    VariantParameters,
    VerdictFilter,
)
from builder.queries import find_variants, query_aliases
from builder.queries.manual_sets import read_manual_sets
from builder.queries.sets import build_variant_sets
from builder.runtime.progress import NoProgress
from builder.text.keys import fold_texts, in_sample, key64
from schemas import Candidates, Variants

NO_SPLIT = SplitParameters(heldout_share=0)
EDIT = VariantParameters(sets="edit")


def candidates(texts: dict[str, int]) -> pl.DataFrame:
    folded = fold_texts(texts)
    return pl.DataFrame(
        {
            "query": [key64(text) for text in folded],
            "text": list(texts),
            "impressions": list(texts.values()),
        },
        schema={"query": pl.UInt64, "text": pl.String, "impressions": pl.UInt32},
    )


def sets_of(  # type: ignore[no-untyped-def]
    texts: dict[str, int],
    params=EDIT,
    split=NO_SPLIT,
    given=None,
    earlier=(),
) -> pl.DataFrame:
    with duckdb.connect() as connection:
        given = read_manual_sets(()) if given is None else given
        sets = build_variant_sets(connection, candidates(texts), given, earlier, params, split)
    return Variants.validate(sets)


def groups(sets: pl.DataFrame) -> set[frozenset[str]]:
    grouped = sets.group_by("variant_set").agg("text")
    return {frozenset(texts) for texts in grouped["text"].to_list()}


def representatives(sets: pl.DataFrame) -> dict[str, str]:
    texts = dict(sets.select("query", "text").rows())
    return {text: texts[of] for text, of in sets.select("text", "representative").rows()}


def test_sets_by_hand() -> None:
    texts = {
        "impôt sur le revenu": 50,
        "revenus impôts": 9,
        "impots revennu": 3,
        "impot revennus": 2,
        "loi travail": 7,
    }
    sets = sets_of(texts)
    assert representatives(sets) == {
        "impôt sur le revenu": "impôt sur le revenu",
        "revenus impôts": "impôt sur le revenu",
        "impots revennu": "impôt sur le revenu",
        "impot revennus": "impôt sur le revenu",
        "loi travail": "loi travail",
    }
    found = {
        text: (origin, similarity)
        for text, similarity, origin in sets.select("text", "similarity", "origin").rows()
    }
    assert found == {
        "impôt sur le revenu": ("itself", 1.0),
        "revenus impôts": ("signature", 1.0),
        "impots revennu": ("edit", pytest.approx(6 / 7)),
        "impot revennus": ("edit", pytest.approx(6 / 7)),
        "loi travail": ("itself", 1.0),
    }
    only = sets_of(texts, VariantParameters(sets="signature"))
    assert len(groups(only)) == 3


def test_a_chain_of_small_differences_does_not_join_its_ends() -> None:
    texts = {"abcdefg": 1, "abcdefgh": 9, "abcdefghi": 2, "abcdefghij": 8}
    sets = sets_of(texts, VariantParameters(sets="edit", threshold=0.85))
    assert groups(sets) == {
        frozenset({"abcdefg", "abcdefgh", "abcdefghi"}),
        frozenset({"abcdefghij"}),
    }


def test_hand_made_sets_join_what_no_rule_would(room) -> None:
    file = room.file("sets.tsv", "# a comment\njob\temploi\n\njob\tBoulot !\nother\teau\n")
    given = read_manual_sets([file])
    sets = sets_of({"boulot": 1, "Emploi": 5, "emplois": 9, "eaux": 3, "eau": 1}, given=given)
    assert groups(sets) == {
        frozenset({"boulot", "Emploi"}),
        frozenset({"emplois"}),
        frozenset({"eau"}),
        frozenset({"eaux"}),
    }
    assert dict(sets.select("text", "origin").rows())["boulot"] == "file"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("job emploi\n", "line 1: expected set<TAB>query"),
        ("\temploi\n", "line 1: expected set<TAB>query, found '\\temploi'"),
        ("a\teau\nb\teaux\tmer\n", "sets.tsv, line 2: expected set<TAB>query, found "),
        ("x" * 90, f"line 1: expected set<TAB>query, found '{'x' * 80}'"),
        ("b\teau\na\tEau\n", "found a query of set 'a' that is already in set 'b'"),
        ("job\t!?\n", "line 1: expected a query with at least one letter or digit"),
        ("a\teau\nb\tEau\n", "found a query of set 'b' that is already in set 'a'"),
        (b"\xff", "expected UTF-8"),
    ],
)
def test_a_faulty_file_of_sets_is_an_error(room, text, message: str) -> None:
    with pytest.raises(FormatError) as error:
        read_manual_sets([room.file("sets.tsv", text)])
    assert message in str(error.value)


def test_a_set_keeps_its_id_and_representative_over_snapshots() -> None:
    first = sets_of({"emploi stable": 9, "emplois stables": 5, "emploi stabble": 1})
    later = sets_of({"emplois stabbles": 90, "emplois stables": 95}, earlier=[first])
    assert later["variant_set"].unique().to_list() == first["variant_set"].unique().to_list()
    assert set(representatives(later).values()) == {"emplois stables"}
    assert dict(later.select("text", "origin").rows())["emplois stabbles"] == "earlier"
    back = sets_of({"emploi stable": 1, "emplois stables": 95}, earlier=[first, later])
    assert set(representatives(back).values()) == {"emploi stable"}


@pytest.mark.parametrize("place", range(3))
def test_a_representative_is_kept_whichever_key_is_the_smallest(place: int) -> None:
    """The representative of the earlier snapshot remains, however frequent the others are."""
    texts = sorted(["loi travail", "lois travail", "travail loi"], key=lambda text: key64(text))
    first = sets_of({text: 9 if n == place else 1 for n, text in enumerate(texts)})
    later = sets_of({text: 1 if n == place else 9 for n, text in enumerate(texts)}, earlier=[first])
    assert later.select("text", "origin", "similarity").rows() == [
        (text, "itself" if n == place else "signature", 1.0) for n, text in enumerate(texts)
    ]
    assert set(representatives(later).values()) == {texts[place]}


def test_the_earliest_representative_is_kept() -> None:
    """`lois travail` led the set in the first snapshot, `loi travail` in the second."""
    first, second = (sets_of({text: 1}) for text in ("lois travail", "loi travail"))
    both = {"loi travail": 9, "lois travail": 1}
    assert set(representatives(sets_of(both, earlier=[first, second])).values()) == {"lois travail"}
    assert set(representatives(sets_of(both, earlier=[second, first])).values()) == {"loi travail"}


def test_sets_of_files_and_of_earlier_snapshots_absorb_more_frequent_spellings(room) -> None:
    """They are absorbed by none, not even by another of them."""
    given = read_manual_sets([room.file("sets.tsv", "cook\trecette\ncook\tgratin\n")])
    sets = sets_of({"recette": 1, "recete": 90, "rectte": 2}, given=given)
    assert groups(sets) == {frozenset({"recette", "recete", "rectte"})}
    assert set(representatives(sets).values()) == {"recette"}
    earlier = sets_of({"recete": 1})
    sets = sets_of({"recette": 90, "recete": 1, "rectte": 2}, earlier=[earlier])
    assert set(sets["variant_set"]) == set(earlier["variant_set"])
    assert set(representatives(sets).values()) == {"recete"}
    sets = sets_of({"recette": 1, "recete": 90}, given=given, earlier=[earlier])
    assert groups(sets) == {frozenset({"recette"}), frozenset({"recete"})}


def test_an_absorbed_spelling_does_not_stop_later_leaders() -> None:
    texts = {"recette": 9, "recete": 8, "commune": 7, "comune": 6, "pain": 5}
    assert groups(sets_of(texts)) == {
        frozenset({"recette", "recete"}),
        frozenset({"commune", "comune"}),
        frozenset({"pain"}),
    }


@pytest.mark.parametrize("words", [("recette", "recete"), ("commune", "comune")])
def test_of_spellings_as_frequent_the_smaller_id_leads(words: tuple[str, str]) -> None:
    ids = {sets_of({word: 5})["variant_set"].item(): word for word in words}
    sets = sets_of(dict.fromkeys(words, 5))
    assert sets["variant_set"].unique().to_list() == [min(ids)]
    assert set(representatives(sets).values()) == {ids[min(ids)]}


@pytest.mark.parametrize("other", ["v0000000000000000", "vffffffffffffffff"])
def test_a_set_that_kept_the_id_of_its_signature_comes_first(other: str) -> None:
    """Of two earlier queries with equal signatures, one was in a set with another id."""
    earlier = sets_of({"recette": 9, "recettes": 1})
    (own,) = earlier["variant_set"].unique()
    for moved in ("recette", "recettes"):
        changed = pl.when(pl.col("text") == moved).then(pl.lit(other)).otherwise("variant_set")
        before = earlier.with_columns(
            changed.alias("variant_set"), representative=pl.col("query"), origin=pl.lit("itself")
        )
        later = sets_of({"des recettes": 1}, earlier=[before])
        assert later["variant_set"].to_list() == [own]


def test_a_query_keeps_its_set_if_it_is_published_without_its_apostrophe() -> None:
    """`prix d eau` is not known to be `prix d'eau`; the next snapshots keep both sets apart."""
    first = sets_of({"prix d'eau": 9, "prix eau": 5})
    (kept,) = first["variant_set"].unique()
    later = sets_of({"prix d eau": 9, "prix: d, eaux": 3}, earlier=[first])
    found = dict(later.select("text", "variant_set").rows())
    assert found["prix d eau"] == kept != found["prix: d, eaux"]
    last = sets_of({"prix d eau": 1, "d eaux prix": 2, "prix eaux": 1}, earlier=[first, later])
    assert dict(last.select("text", "variant_set").rows()) == {
        "prix d eau": kept,
        "d eaux prix": found["prix: d, eaux"],
        "prix eaux": kept,
    }


def test_single_letters_that_may_be_names_distinguish_queries() -> None:
    texts = {
        "vitamine d aliments": 9,
        "vitamine a aliments": 8,
        "vitamine aliments": 8,
        "taille m homme": 7,
        "taille s homme": 7,
        "new york": 6,
        "new york news": 6,
    }
    assert groups(sets_of(texts)) == {frozenset({text}) for text in texts}


words = st.sampled_from(
    ["emploi", "emplois", "emplloi", "empolis", "voyage", "voyages", "voyagge", "de", "eau", "2022"]
)
logs = st.dictionaries(st.lists(words, min_size=1, max_size=3).map(" ".join), st.integers(1, 9))


def unfolded(texts: dict[str, int]) -> dict[str, int]:
    """Candidates differ after folding."""
    return dict(zip(fold_texts(texts), texts.values(), strict=True))


@settings(max_examples=15, suppress_health_check=list(HealthCheck), deadline=None)
@given(logs, logs, st.randoms())
def test_no_query_changes_side_and_no_set_straddles(some: dict, more: dict, random) -> None:
    """Adding queries may enlarge sets, but each query's set stays on one side for ever."""
    split = SplitParameters(heldout_share=0.5)
    some, more = unfolded(some), unfolded(more)
    few, many = sets_of(some, split=split), sets_of({**more, **some}, split=split)
    sides = [
        dict(
            sets.select(
                "text", in_sample("variant_set", split.heldout_share, split.seed).alias("side")
            ).rows()
        )
        for sets in (few, many)
    ]
    assert sides[0].items() <= sides[1].items()
    later = sets_of({**some, **more}, split=split, earlier=[few])
    kept = dict(few.select("text", "variant_set").rows())
    again = dict(later.select("text", "variant_set").rows())
    assert kept.items() <= again.items(), "a later snapshot keeps every set"
    shuffled = list({**more, **some}.items())
    random.shuffle(shuffled)
    assert sets_of(dict(shuffled), split=split).equals(many), "order does not matter"


def run(  # type: ignore[no-untyped-def]
    room,
    shown: Sequence,
    params: VariantParameters,
    files=(),
    notes: Sequence[str] = (),
    has_french: bool = True,
    select: SelectionParameters | None = None,
    verdicts: Table | None = None,
    filters: Sequence[VerdictFilter] = (),
) -> tuple[Table, Table]:
    log = room.log(shown)
    texts = {text for text, _, _ in shown}
    rows = [
        {
            "query": key64(text),
            "text": text,
            "topics": [f"t{len(text) % 2}"],
            "impressions": sum(t == text for t, _, _ in shown),
            "users": len({u for t, u, _ in shown if t == text}),
            "clicks": sum(len(c) for t, _, c in shown if t == text),
            "variant_set": None,
        }
        for text in texts
    ]
    out = room.out()
    ledger = find_variants(
        out,
        candidates=room.table("candidates", rows),
        impressions=log["impressions"],
        earlier=(),
        params=params,
        split=NO_SPLIT,
        limits=room.limits,
        progress=NoProgress(),
        files=files,
        has_french=has_french,
        select=select or SelectionParameters(),
        verdicts=verdicts,
        filters=filters,
    )
    ledger.check("variants")
    assert (ledger.rows_in, ledger.notes) == (len(texts), list(notes))
    kept = table_at(out, "kept_candidates", Candidates)
    assert kept.scan().collect().height == ledger.rows_out
    return kept, table_at(out, "variants", Variants)


SHOWN = [
    ("loi travail", 1, (1,)),
    ("loi travail", 2, ()),
    ("loi travail", 3, (2, 3)),
    ("lois travail", 3, (1,)),
    ("lois travail", 4, ()),
    ("eau", 1, ()),
]


def test_merged_counts_by_hand(room) -> None:
    """User 3 typed both forms and counts once."""
    kept, variants = run(room, SHOWN, VariantParameters())
    rows = kept.scan().select("text", "topics", "impressions", "users", "clicks").collect()
    assert sorted(rows.rows()) == [
        ("eau", ["t1"], 1, 1, 0),
        ("loi travail", ["t0", "t1"], 5, 4, 4),
    ]
    assert kept.scan().collect()["variant_set"].null_count() == 0
    aliases = query_aliases({"2022-06": variants}).collect()
    assert aliases.select("snapshot", "alias", "origin").rows() == [
        ("2022-06", "lois travail", "signature")
    ]
    assert aliases["query_id"][0] == f"q{key64('loi travail'):016x}"
    assert aliases["alias_id"][0] == f"q{key64('lois travail'):016x}"


def test_sets_are_merged_whichever_key_is_the_smallest(room) -> None:
    """In each set, another of the keys (of low, middle and high value) is the representative."""
    for place, frequent in (("metz", 0), ("brest", 1), ("nantes", 2)):
        shown = []
        spellings = [f"loi {place}", f"lois {place}", f"{place} loi"]
        texts = sorted(spellings, key=lambda text: key64(text))
        for number, text in enumerate(texts):
            shown += [(text, user, ()) for user in range(6 if number == frequent else 4)]
        kept, variants = run(room, shown, VariantParameters())
        rows = kept.scan().select("text", "impressions", "users").collect()
        assert rows.rows() == [(texts[frequent], 14, 6)]
        listed = query_aliases({"2022-06": variants, "2022-07": variants}).collect()
        assert sorted(listed.select("snapshot", "alias", "origin").rows()) == [
            (snapshot, text, "signature")
            for snapshot in ("2022-06", "2022-07")
            for text in sorted({*texts} - {texts[frequent]})
        ]


def users_by_text(kept: Table) -> dict[str, int]:
    return dict(kept.scan().select("text", "users").collect().rows())


def test_users_whom_a_verdict_excludes_are_not_counted(room) -> None:
    """Users 2 and 4 are bots: only users 1 and 3 typed a form of `loi travail`."""
    bots = [
        {
            "kind": "user",
            "key": number,
            "label": "bot",
            "source": "s",
            "version": "1",
            "score": 1.0,
        }
        for number in (2, 4)
    ]
    filters = [VerdictFilter(name="bots", kind="user", label="bot")]
    verdicts = room.table("verdicts", bots)
    kept, _ = run(room, SHOWN, VariantParameters(), verdicts=verdicts, filters=filters)
    assert users_by_text(kept) == {"eau": 1, "loi travail": 2}


def test_users_of_sets_are_summed_if_impressions_count_as_users(room) -> None:
    select = SelectionParameters(anonymity="impressions")
    kept, _ = run(room, SHOWN, VariantParameters(), select=select)
    assert users_by_text(kept) == {"eau": 1, "loi travail": 3 + 2}


def test_queries_of_files_that_match_no_query_are_noted(room) -> None:
    text = "law\tLoi travail !\n\nlaw\tlegislation\nlaw\tLégislation\nwater\teau # main\n"
    note = (
        "queries of variants.files that match no selected query of this snapshot: 2 (sets.tsv, "
        "line 3; sets.tsv, line 5); if they should be variants, write each query as users type it, "
        "and write comments on lines of their own that start with #"
    )
    files = [room.file("sets.tsv", text)]
    run(room, SHOWN, VariantParameters(files=("sets.tsv",)), files, [note])


@pytest.mark.parametrize(("has_french", "kept"), [(True, 1), (False, 2)])
def test_words_are_ignored_only_in_collections_with_french(room, has_french, kept) -> None:
    shown = [("my son birthday", 1, ()), ("my birthday", 2, (1,))]
    found, _ = run(room, shown, VariantParameters(), has_french=has_french)
    assert found.scan().collect().height == kept


def test_sets_without_merging_keep_every_query(room) -> None:
    kept, variants = run(room, SHOWN, VariantParameters(merge="none"))
    rows = kept.scan().select("text", "impressions", "users", "clicks").collect()
    assert sorted(rows.rows()) == [
        ("eau", 1, 1, 0),
        ("loi travail", 3, 3, 3),
        ("lois travail", 2, 2, 1),
    ]
    assert variants.scan().collect()["variant_set"].n_unique() == 2


def test_without_sets_every_query_stands_for_itself(room) -> None:
    kept, variants = run(room, SHOWN, VariantParameters(sets="off"))
    assert kept.scan().collect()["variant_set"].null_count() == 3
    rows = variants.scan().collect()
    assert (rows["query"] == rows["representative"]).all()
    assert query_aliases({"2022-06": variants}).collect().is_empty()
