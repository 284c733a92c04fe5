"""RM3 and keyqueries, by hand."""

import math
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from builder.collection.read import Snapshot
from builder.errors import UsageError
from builder.evaluation.baselines.bm25 import Bm25Index, Bm25Parameters
from builder.evaluation.baselines.expansion import EXPANDED, search_expanded_queries
from builder.evaluation.baselines.feedback import FEEDBACK, read_earlier_feedback
from builder.evaluation.baselines.keyqueries import KeyQueryParameters, find_keyqueries
from builder.evaluation.baselines.rm3 import Rm3Parameters, rm3
from builder.evaluation.baselines.snapshots import search_snapshot_with_expansion

pytest.importorskip("bm25s")
pytest.importorskip("Stemmer")

CORPUS = {"d1": "chat chat noir", "d2": "chat blanc", "d3": "chien noir"}


def index_of(corpus: dict[str, str], *, keep_terms: bool = True) -> Bm25Index:
    batch = pl.DataFrame({"doc_id": list(corpus), "text": list(corpus.values())})
    return Bm25Index([batch], Bm25Parameters("fr"), keep_terms=keep_terms)


def queries(**texts: str) -> pl.DataFrame:
    return pl.DataFrame({"query_id": list(texts), "text": list(texts.values())})


def feedback(*rows: tuple[str, str, int, str]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=FEEDBACK, orient="row")


def expanded_terms(frame: pl.DataFrame, row: int = 0) -> dict[str, float]:
    return dict(zip(frame["terms"][row], frame["weights"][row], strict=True))


JUDGED = feedback(("q", "e1", 2, "chat noir noir rouge"), ("q", "e2", 1, "chien"))


def test_rm3_of_judged_documents() -> None:
    """P(w|R) of noir is 2/3 * 2/3, of chien 1/3, of chat 2/3 * 1/3; rouge is not in the index."""
    index = index_of(CORPUS)
    expanded = rm3(index, queries(q="chat"), JUDGED, Rm3Parameters(fb_terms=2, original_weight=0.5))
    assert expanded["source"].to_list() == ["judged"]
    found = expanded_terms(expanded)
    assert list(found) == ["chat", "noir", "chien"]
    assert found == pytest.approx({"chat": 1 / 2, "noir": 4 / 7 / 2, "chien": 3 / 7 / 2})
    one = rm3(index, queries(q="chat"), JUDGED, Rm3Parameters(fb_docs=1, original_weight=0.25))
    assert expanded_terms(one) == pytest.approx({"noir": 1 / 2, "chat": 1 / 2})
    # a tie of weights keeps the order of the index
    assert list(expanded_terms(one)) == ["chat", "noir"]


def test_the_original_query_keeps_its_repetitions_and_can_have_all_the_weight() -> None:
    index = index_of(CORPUS)
    asked = queries(q="chat chat blanc")
    expanded = rm3(index, asked, JUDGED, Rm3Parameters(original_weight=1))
    assert expanded_terms(expanded) == pytest.approx({"chat": 2 / 3, "blanc": 1 / 3})
    without = rm3(index, queries(q="inconnu"), JUDGED, Rm3Parameters(original_weight=0.9))
    assert expanded_terms(without) == pytest.approx({"noir": 4 / 9, "chien": 3 / 9, "chat": 2 / 9})


def test_rm3_assumes_top_documents_to_be_relevant_where_none_was_judged() -> None:
    """d1 and d2 have the same score for an equal length, so that the larger id is first."""
    index = index_of(CORPUS)
    asked = queries(q="chat", other="chat noir", empty="inconnu")
    expanded = rm3(index, asked, feedback(), Rm3Parameters(fb_docs=1))
    assert expanded["source"].to_list() == ["pseudo", "pseudo", "none"]
    assert expanded_terms(expanded) == pytest.approx({"chat": 0.5 + 0.5 * 2 / 3, "noir": 0.5 / 3})
    assert expanded["terms"][2] is None
    run = search_expanded_queries(index, asked, expanded, tag="x")
    assert run.ranking["query_id"].unique().sort().to_list() == ["other", "q"]
    two = rm3(index, queries(q="chat"), feedback(), Rm3Parameters(fb_docs=2))
    scores = index.scores(index.query_term_ids(pl.Series(["chat"]))[0])
    first, second = (float(score / (scores[0] + scores[1])) for score in scores[:2])
    model = {"chat": first * 2 / 3 + second / 2, "noir": first / 3, "blanc": second / 2}
    expected = {term: weight / 2 + (term == "chat") / 2 for term, weight in model.items()}
    assert expanded_terms(two) == pytest.approx(expected, rel=1e-6)


def test_scores_of_an_expanded_query_are_weighted_sums() -> None:
    index = index_of(CORPUS)
    asked = queries(q="chat", plain="noir")
    expanded = pl.DataFrame(
        {
            "query_id": ["q", "plain"],
            "source": ["judged", "none"],
            "terms": [["chat", "noir"], None],
            "weights": [[0.75, 0.25], None],
        }
    )
    run = search_expanded_queries(index, asked, expanded)

    def score(tf: int, length: int) -> float:
        """Every term has a document frequency of 2 of 3; the mean length is 7 / 3."""
        return math.log(1 + 1.5 / 2.5) * tf / (tf + 1.2 * (0.25 + 0.75 * length / (7 / 3)))

    found = {(q, d): value for q, d, _, value in run.ranking.iter_rows()}
    assert found == pytest.approx(
        {
            ("q", "d1"): 0.75 * score(2, 3) + 0.25 * score(1, 3),
            ("q", "d2"): 0.75 * score(1, 2),
            ("q", "d3"): 0.25 * score(1, 2),
            ("plain", "d3"): score(1, 2),
            ("plain", "d1"): score(1, 3),
        },
        rel=1e-6,
    )
    assert (
        index.search(asked)
        .ranking.filter(query_id="plain")
        .equals(run.ranking.filter(query_id="plain"))
    )


def test_documents_without_a_term_of_the_index_are_no_feedback() -> None:
    """rouge is not in the index; of the two others, the first is used."""
    index = index_of(CORPUS, keep_terms=False)
    known = feedback(
        ("q", "e0", 2, "rouge"), ("q", "e1", 1, "chien noir"), ("q", "e2", 1, "blanc"),
        ("p", "e0", 2, "rouge"),
    )  # fmt: skip
    parameters = Rm3Parameters(fb_docs=1, original_weight=0)
    expanded = rm3(index, queries(q="chat"), known, parameters)
    assert expanded.rows() == [("q", "judged", ["noir", "chien"], [0.5, 0.5])]
    assert expanded.schema == pl.Schema(EXPANDED)
    two = rm3(index, queries(q="chat"), known, Rm3Parameters(fb_docs=2, original_weight=0))
    assert expanded_terms(two) == pytest.approx({"blanc": 0.5, "noir": 0.25, "chien": 0.25})


def test_the_ten_best_terms_of_the_ten_best_documents_are_used_unless_numbers_are_given() -> None:
    """Each of eleven documents has its own word and the word of all."""
    words = [f"mot{number:02}" for number in range(11)]
    index = index_of({word: f"{word} chat" for word in words})
    known = feedback(*(("q", word, 1, f"{word} chat") for word in words))
    found = expanded_terms(rm3(index, queries(q="chat"), known))
    assert list(found) == ["chat", *words[:9]]
    # P(chat|R) is 1/2, of ten words 1/20; nine of them remain with chat: 10/19 and 1/19
    assert found["chat"] == pytest.approx(0.5 + 0.5 * 10 / 19)
    assert found["mot08"] == pytest.approx(0.5 / 19)


def test_runs_of_expanded_queries_have_a_tag_and_a_depth() -> None:
    index = Bm25Index(
        [pl.DataFrame({"doc_id": list(CORPUS), "text": list(CORPUS.values())})],
        Bm25Parameters("fr", depth=1),
    )
    expanded = find_keyqueries(index, queries(q="chat", none="le"), feedback())
    run = search_expanded_queries(index, queries(q="chat", none="le"), expanded)
    assert (run.tag, run.depth) == ("expanded", 1)
    with pytest.raises(UsageError, match="the index does not contain document terms"):
        index.document_term_ids(0)
    assert run.ranking.select("query_id", "doc_id").rows() == [("q", "d1")]


ANIMALS = {
    "d1": "chat noir nuit",
    "d2": "chat noir jour",
    "d3": "chat blanc nuit",
    "d4": "chien noir nuit",
    "d5": "chien blanc jour",
}


def test_a_keyquery_ranks_the_relevant_document_first_with_the_fewest_terms() -> None:
    """Only chat + noir + nuit has d1 alone on top; of its parts, each has d1 tied with another."""
    index = index_of(ANIMALS, keep_terms=False)
    known = feedback(("q", "d1", 1, "chat noir nuit"))
    parameters = KeyQueryParameters(top=1, min_results=1)
    expanded = find_keyqueries(index, queries(q="nuit"), known, parameters)
    assert expanded.row(0) == ("q", "judged", ["nuit", "chat", "noir"], [1.0, 1.0, 1.0])
    run = search_expanded_queries(index, queries(q="nuit"), expanded)
    assert run.ranking["doc_id"][0] == "d1"
    # two targets: {d1, d2} share chat + noir, which ties them at rank 2
    both = feedback(("q", "d1", 1, "chat noir nuit"), ("q", "d2", 1, "chat noir jour"))
    expanded = find_keyqueries(
        index, queries(q="chat"), both, KeyQueryParameters(top=2, min_results=1, max_terms=2)
    )
    assert expanded.row(0)[2] == ["chat", "noir"]


def test_relevant_documents_that_a_keyquery_does_not_find_count_nothing() -> None:
    """chat alone ranks d1 first, DCG 1; chat + chien tie d1 and d2 at rank 2, DCG 2 / log2(3)."""
    index = index_of({"d1": "chat", "d2": "chien"}, keep_terms=False)
    known = feedback(("q", "d1", 1, "chat"), ("q", "d2", 1, "chien"))
    parameters = KeyQueryParameters(min_results=1)
    expanded = find_keyqueries(index, queries(q="chat"), known, parameters)
    assert expanded.row(0) == ("q", "judged", ["chat", "chien"], [1.0, 1.0])
    alone = KeyQueryParameters(min_results=1, top=1)
    assert find_keyqueries(index, queries(q="chat"), known, alone).row(0)[2] == ["chat"]
    # mot ties d1, d2 and d3 at rank 3: with 2 / log2(4), it is no better than chat
    index = index_of({"d1": "chat mot", "d2": "chien mot", "d3": "loup mot"}, keep_terms=False)
    known = feedback(("q", "d1", 1, "chat mot"), ("q", "d2", 1, "chien mot"))
    single = KeyQueryParameters(min_results=1, max_terms=1)
    assert find_keyqueries(index, queries(q="chat mot"), known, single).row(0)[2] == ["chat"]


@pytest.mark.parametrize(("least", "terms"), [(4, ["nuit", "chat", "noir"]), (5, None)])
def test_a_keyquery_finds_at_least_so_many_documents(least: int, terms: list[str] | None) -> None:
    """nuit, chat or noir is in all documents but d5."""
    index = index_of(ANIMALS, keep_terms=False)
    known = feedback(("q", "d1", 1, "chat noir nuit"))
    parameters = KeyQueryParameters(top=1, min_results=least)
    assert find_keyqueries(index, queries(q="nuit"), known, parameters)["terms"].to_list() == [
        terms
    ]


def test_a_query_without_a_keyquery_is_unchanged() -> None:
    index = index_of(ANIMALS)
    known = feedback(("q", "d1", 1, "chat noir nuit"))
    for parameters in (
        KeyQueryParameters(
            top=1, min_results=1, max_terms=1
        ),  # every single term ties d1 with others
        KeyQueryParameters(min_results=5),  # at most 5 documents have one of the terms, d5 has none
    ):
        assert find_keyqueries(index, queries(q="nuit"), known, parameters).row(0) == (
            *("q", "none"),
            *(None, None),
        )
    gone = feedback(("q", "removed", 1, "chat noir nuit"))
    assert (
        find_keyqueries(index, queries(q="nuit", p="chat"), gone)["source"].to_list()
        == ["none"] * 2
    )


def test_the_idf_of_a_term() -> None:
    """Of 3 documents, chat and noir are in 2, blanc in 1."""
    index = index_of(CORPUS)
    (terms,) = index.query_term_ids(pl.Series(["chat noir blanc"]))
    expected = [math.log(1 + 1.5 / 2.5)] * 2 + [math.log(1 + 2.5 / 1.5)]
    assert index.idf(terms).tolist() == pytest.approx(expected)
    assert len(index) == 3


def test_candidates_are_the_terms_of_the_query_and_the_most_specific_of_the_documents() -> None:
    """P(w|R) is 1/3 for each term of d5; jour and blanc have df 2, chien too, noir has 3."""
    index = index_of({**ANIMALS, "d6": "jour"})
    known = feedback(("q", "d5", 1, "chien blanc jour"))
    # of chien (df 2), blanc (df 2) and jour (df 3), one candidate: blanc, first in the index
    expanded = find_keyqueries(
        index, queries(q="jour"), known, KeyQueryParameters(fb_terms=1, top=1, min_results=1)
    )
    assert expanded.row(0)[2] == ["jour", "blanc"]


def test_of_equally_probable_terms_the_rarer_is_a_candidate() -> None:
    """chien is in two documents, noir in three. chien + nuit has d4 alone on top."""
    index = index_of(ANIMALS, keep_terms=False)
    known = feedback(("q", "d4", 1, "chien noir nuit"))
    parameters = KeyQueryParameters(fb_terms=1, top=1, min_results=1)
    expanded = find_keyqueries(index, queries(q="nuit"), known, parameters)
    assert expanded.row(0)[2] == ["nuit", "chien"]


def test_only_the_rarest_terms_of_a_long_query_are_candidates() -> None:
    """chat (df 2) ranks d1 first; blanc (df 1) is rarer. A query of 300 terms stays fast."""
    index = index_of(CORPUS)
    known = feedback(("q", "d1", 1, "chat noir"))
    found = [
        find_keyqueries(
            index,
            queries(q="chat blanc"),
            known,
            KeyQueryParameters(fb_terms=n, top=1, min_results=1),
        )
        for n in (1, 2)
    ]
    assert [frame["source"][0] for frame in found] == ["none", "judged"]
    assert found[1]["terms"][0].to_list() == ["chat"]
    words = " ".join(f"mot{number}" for number in range(300))
    long = index_of({**CORPUS, "d4": words})
    (row,) = find_keyqueries(long, queries(q=words), feedback(("q", "d4", 1, words))).rows()
    assert row == ("q", "none", None, None)  # no candidate has ten results


WRONG_RM3 = "RM3: expected fb_docs >= 1, fb_terms >= 1 and original_weight in [0, 1], found "
WRONG_KEYQUERY = "keyqueries: expected parameters >= 1 and max_terms <= 4, found "


@pytest.mark.parametrize(
    ("create", "message"),
    [
        (
            lambda: Rm3Parameters(fb_docs=0),
            WRONG_RM3 + "fb_docs=0, fb_terms=10, original_weight=0.5",
        ),
        (
            lambda: Rm3Parameters(fb_terms=0),
            WRONG_RM3 + "fb_docs=10, fb_terms=0, original_weight=0.5",
        ),
        (
            lambda: Rm3Parameters(1, 1, 1.5),
            WRONG_RM3 + "fb_docs=1, fb_terms=1, original_weight=1.5",
        ),
        (
            lambda: KeyQueryParameters(max_terms=5),
            WRONG_KEYQUERY + "fb_docs=10, fb_terms=10, max_terms=5, top=10, min_results=10",
        ),
        (
            lambda: KeyQueryParameters(top=0),
            WRONG_KEYQUERY + "fb_docs=10, fb_terms=10, max_terms=3, top=0, min_results=10",
        ),
        (
            lambda: index_of(CORPUS, keep_terms=False).document_term_ids(0),
            "BM25: the index does not contain document terms; build it with keep_terms=True",
        ),
    ],
)
def test_wrong_parameters(create: Callable[[], object], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        create()
    assert str(caught.value) == message


def write_snapshot(
    root: Path, name: str, texts: dict[str, str], grades: list[tuple[str, str, int]]
) -> Snapshot:
    snapshot = Snapshot(root, name, len(texts))
    (snapshot.folder / "documents").mkdir(parents=True)
    columns = {"doc_id": list(texts), "title": [None] * len(texts), "text": list(texts.values())}
    schema = {"doc_id": pl.String, "title": pl.String, "text": pl.String}
    path = snapshot.folder / "documents/part-00000.parquet"
    pl.DataFrame(columns, schema=schema).write_parquet(path)
    queries(q1="chat", q2="noir", q3="jour").write_parquet(snapshot.folder / "queries.parquet")
    qrels = {"query_id": pl.String, "doc_id": pl.String, "grade": pl.Int32}
    pl.DataFrame(grades, schema=qrels, orient="row").write_parquet(
        snapshot.folder / "qrels.parquet"
    )
    return snapshot


def test_feedback_of_earlier_snapshots(tmp_path: Path) -> None:
    june = write_snapshot(
        *(tmp_path, "2022-06", {"d1": "chat noir", "d2": "chien", "d9": "nuit"}),
        [("q1", "d1", 1), ("q1", "d2", 0), ("q1", "d9", 2), ("q2", "d2", 1), ("q1", "dx", 1)],
    )
    july = write_snapshot(
        *(tmp_path, "2022-07", {"d1": "chat blanc", "d2": "chien"}),
        [("q1", "d1", 1), ("q2", "d2", 0)],
    )
    august = write_snapshot(tmp_path, "2022-08", ANIMALS, [("q3", "d1", 1)])
    found = read_earlier_feedback([june, july], august, "")
    # the text of July replaces that of June; dx has no text; the judgements of August are not used
    assert found.rows() == [
        ("q1", "d9", 2, "nuit"),
        ("q1", "d1", 1, "chat blanc"),
        ("q2", "d2", 1, "chien"),
    ]
    assert read_earlier_feedback([], august, "").schema == pl.Schema(FEEDBACK)
    release = Snapshot(tmp_path / "release", "2022-05", document_count=0)  # without documents
    release.folder.mkdir(parents=True)
    qrels = pl.read_parquet(june.folder / "qrels.parquet")
    qrels.write_parquet(release.folder / "qrels.parquet")
    assert read_earlier_feedback([release], august, "").is_empty()
    run, expanded = search_snapshot_with_expansion(
        august,
        [june, july],
        Rm3Parameters(original_weight=0),
        Bm25Parameters("fr"),
        suffix="",
        tag="t",
    )
    assert expanded.select("query_id", "source").rows() == [
        *[("q1", "judged"), ("q2", "judged"), ("q3", "pseudo")]
    ]
    assert expanded_terms(expanded) == pytest.approx({"nuit": 2 / 3, "chat": 1 / 6, "blanc": 1 / 6})
    assert run.tag == "t"
    assert run.ranking.filter(query_id="q2")["doc_id"].to_list() == ["d5", "d4"]
    _, keys = search_snapshot_with_expansion(
        *(august, [june, july], KeyQueryParameters(min_results=1, top=2), Bm25Parameters("fr")),
        suffix="",
    )
    # chat + nuit has d1 and d3 on top; d2, relevant to q2, no longer contains chien
    assert keys["source"].to_list() == ["judged", "none", "none"]
    assert keys["terms"][0].to_list() == ["chat", "nuit"]


def test_ids_of_imported_releases_are_aligned_by_their_keys(tmp_path: Path) -> None:
    june = write_snapshot(tmp_path, "2022-06", {"7": "nuit"}, [("q1", "7", 1)])
    july = write_snapshot(tmp_path, "2022-07", {"70": "nuit noire"}, [])
    for snapshot, query_ids, doc_id in ((june, ["q1"], "7"), (july, ["qA", "qB"], "70")):
        rows = [*[("query", q, "key-q") for q in query_ids], ("document", doc_id, "key-d")]
        ids = pl.DataFrame(rows, schema=["kind", "id", "key"], orient="row")
        ids.write_parquet(snapshot.folder / "release_ids.parquet")
    assert read_earlier_feedback([june], july, "").rows() == [
        ("qA", "70", 1, "nuit"),
        ("qB", "70", 1, "nuit"),
    ]
