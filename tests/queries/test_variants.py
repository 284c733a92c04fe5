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
        ("\temploi\n", "line 1: expected set<TAB>query"),
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
