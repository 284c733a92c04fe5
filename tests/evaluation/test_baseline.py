import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from builder.errors import DataError, MissingExtraError, UsageError
from builder.evaluation.baselines.analyzer import Analyzer
from builder.evaluation.baselines.bm25 import Bm25Index, Bm25Parameters, bm25
from builder.evaluation.baselines.collection_statistics import (
    CollectionStatistics,
    compute_collection_statistics,
)
from builder.evaluation.baselines.snapshots import search_snapshot, snapshot_bm25_statistics
from builder.evaluation.baselines.texts import (
    read_document_texts,
    read_documents,
    read_query_texts,
)
from builder.runtime.progress import NoProgress
from builder.text.keys import strip_accents

pytest.importorskip("bm25s")
pytest.importorskip("Stemmer")


def documents(**texts: str) -> pl.DataFrame:
    return pl.DataFrame({"doc_id": list(texts), "text": list(texts.values())})


def queries(**texts: str) -> pl.DataFrame:
    return pl.DataFrame({"query_id": list(texts), "text": list(texts.values())})


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("fr", "L'eau d’une île l´été", ["eau", "une", "île", "été"]),
        ("fr", "Qu'il s'agit jusqu'à lorsqu'on", ["il", "agit", "à", "on"]),
        ("fr", "aujourd'hui, C'EST l'Œuvre", ["aujourd", "hui", "est", "oeuvre"]),
        ("fr", "vitamine C, cd'l", ["vitamine", "c", "cd", "l"]),
        ("fr", "presqu'île d'Yeu", ["île", "yeu"]),
        ("en", "The dog's bone, they’re here", ["the", "dog", "bone", "they", "here"]),
        ("it", "Dell'acqua c'è un'isola, all'alba", ["acqua", "è", "isola", "alba"]),
        ("de", "l'eau ne` ʼn Æon", ["l", "eau", "ne", "n", "aeon"]),
        ("en", "ﬁn de l`eau’d", ["fin", "de", "l", "eau"]),
        ("fr", "", []),
        ("fr", None, []),
    ],
)
def test_words(language, text: str | None, words: list[str]) -> None:
    texts = pl.Series([text], dtype=pl.String)
    assert Analyzer(language).tokenize(texts).to_list() == [words]


def test_terms_are_stemmed_stopped_and_without_accents() -> None:
    analyzer = Analyzer("fr")
    texts = pl.Series(["Les généraux de la santé", "", "SANTÉ générale, santé"])
    ids = [found.tolist() for found in analyzer.term_ids(texts, add_terms=True)]
    assert analyzer.vocabulary == {"general": 0, "sant": 1}
    assert ids == [[0, 1], [], [1, 0, 1]]
    asked = analyzer.term_ids(pl.Series(["sante general", "inconnu de la"]), add_terms=False)
    assert [found.tolist() for found in asked] == [[1, 0], []]
    assert analyzer.vocabulary == {"general": 0, "sant": 1}


@pytest.mark.parametrize(
    ("language", "text", "terms"),
    [
        ("fr", "Même les maisons à côté", ["maison", "cot"]),
        ("en", "The même houses", ["meme", "hous"]),
        ("de", "die Häuser", ["die", "haus"]),
        ("ja", "the même maisons", ["the", "meme", "maisons"]),
    ],
)
def test_stop_words_and_stems_are_those_of_the_language(
    language: str, text: str, terms: list[str]
) -> None:
    analyzer = Analyzer(language)
    analyzer.term_ids(pl.Series([text]), add_terms=True)
    assert list(analyzer.vocabulary) == terms


def test_a_word_unknown_to_a_query_can_still_enter_with_a_document() -> None:
    analyzer = Analyzer("en")
    assert analyzer.term_ids(pl.Series(["zebra"]), add_terms=False)[0].tolist() == []
    assert analyzer.term_ids(pl.Series(["zebras"]), add_terms=True)[0].tolist() == [0]
    assert analyzer.term_ids(pl.Series(["zebra"]), add_terms=False)[0].tolist() == [0]


def test_accents() -> None:
    assert strip_accents("éàçüñ") == "eacun"
    assert strip_accents("abc") == "abc"
    assert strip_accents("น้ำดื่ม") == "น้ำดื่ม"


def test_scores_are_those_of_the_formula() -> None:
    corpus = {"d1": "chat chat noir", "d2": "chat blanc", "d3": "chien"}
    run = bm25([documents(**corpus)], queries(q="chat"), Bm25Parameters(k1=1.2, b=0.75))
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    expected = {
        name: idf * tf / (tf + 1.2 * (1 - 0.75 + 0.75 * length / 2))
        for name, tf, length in (("d1", 2, 3), ("d2", 1, 2))
    }
    found = dict(run.ranking.select("doc_id", "score").rows())
    assert found == pytest.approx(expected, rel=1e-6)
    assert run.ranking["doc_id"].to_list() == ["d1", "d2"]


def test_scores_by_the_statistics_of_another_collection_are_those_of_the_formula() -> None:
    corpus = {"d1": "chat chat noir", "d2": "chat blanc", "d3": "chien"}
    earlier = CollectionStatistics(10, 5.0, {"chat": 4})
    asked = queries(q="chat", unknown="blanc")
    run = bm25([documents(**corpus)], asked, Bm25Parameters(k1=1.2, b=0.75), statistics=earlier)
    idf = {"chat": math.log(1 + (10 - 4 + 0.5) / 4.5), "blanc": math.log(1 + 10.5 / 0.5)}
    expected = {
        ("q", "d1"): idf["chat"] * 2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 5)),
        ("q", "d2"): idf["chat"] / (1 + 1.2 * (0.25 + 0.75 * 2 / 5)),
        ("unknown", "d2"): idf["blanc"] / (1 + 1.2 * (0.25 + 0.75 * 2 / 5)),
    }
    found = {
        (q, d): score for q, d, score in run.ranking.select("query_id", "doc_id", "score").rows()
    }
    assert found == pytest.approx(expected, rel=1e-6)
    none = bm25([documents(**corpus)], asked, Bm25Parameters(k1=0.0), statistics=earlier)
    assert none.ranking["score"].to_list() == pytest.approx(
        [idf["chat"], idf["chat"], idf["blanc"]], rel=1e-6
    )


def test_other_mean_lengths_change_k1_and_b_by_hand() -> None:
    """The summands k1 (1 - b) = 0.9 and k1 b 4 / 8 = 0.3 add up to 1.2."""
    own, other = CollectionStatistics(3, 4.0, {}), CollectionStatistics(9, 8.0, {})
    assert other.rescale_parameters(own, 1.5, 0.4) == pytest.approx((1.2, 0.25))


class Counter:
    """What a progress display is told."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def start(self, label: str, total: int | None, unit: str) -> None:
        self.told.append((label, total, unit))

    def advance(self, count: int) -> None:
        self.told.append(count)

    def finish(self) -> None:
        self.told.append("end")


def test_progress_counts_documents(tmp_path: Path) -> None:
    parts, asked = snapshot(tmp_path)
    counter = Counter()
    search_snapshot(parts, asked, progress=counter)
    snapshot_bm25_statistics([parts[0], parts[0], parts[1]], progress=counter)
    bm25([documents(a="eau", b="feu"), documents(c="eau")], queries(q="eau"), progress=counter)
    assert counter.told == [
        *(("index", None, "documents"), 1, 1, "end"),
        *(("statistics", None, "documents"), 1, 1, 1, "end"),
        *(("index", None, "documents"), 2, 1, "end"),
    ]


def test_texts_of_a_snapshot_are_titles_and_bodies(tmp_path: Path) -> None:
    parts, asked = snapshot(tmp_path)
    texts = [frame.rows() for frame in read_documents(parts, "")]
    assert texts == [[("d1", "Eau\nchaude")], [("d2", "Feu\nfroid")]]
    assert [frame.rows() for frame in read_documents(parts[1:], "_en")] == [[("d2", "cold fire")]]
    assert read_query_texts(asked, "_en").rows() == [("q1", "water"), ("q2", "fire")]
    found = read_document_texts(parts, pl.Series(["d2", "d3"]), "")
    assert found.rows() == [("d2", "Feu\nfroid")]
    untranslated = pl.DataFrame(
        {"doc_id": ["d1", "d2"], "title": None, "text": [None, "feu"]},
        schema=dict.fromkeys(("doc_id", "title", "text"), pl.String),
    )
    untranslated.write_parquet(parts[0])
    assert [frame.rows() for frame in read_documents(parts[:1], "")] == [
        [("d1", ""), ("d2", "feu")]
    ]
    untranslated.clear().write_parquet(parts[0])
    assert sum(frame.height for frame in read_documents(parts[:1], "")) == 0


def test_a_batch_without_documents_adds_nothing_to_statistics() -> None:
    batches = [documents(a="chat noir"), documents(a="chat").clear(), documents(b="chat")]
    found = compute_collection_statistics(batches, Analyzer("fr"), NoProgress())
    assert (found.documents, found.mean_length) == (2, 1.5)
    assert found.frequencies == {"chat": 2, "noir": 1}


def test_statistics_of_a_snapshot(tmp_path: Path) -> None:
    parts, _ = snapshot(tmp_path)
    assert snapshot_bm25_statistics(parts) == CollectionStatistics(
        2, 2.0, {"eau": 1, "chaud": 1, "feu": 1, "froid": 1}
    )
    assert snapshot_bm25_statistics(parts, Bm25Parameters("en")).mean_length == 2.0
    assert snapshot_bm25_statistics([parts[0], parts[0]]).frequencies == {"eau": 2, "chaud": 2}
    with pytest.raises(DataError, match="BM25: expected documents with index terms, found none"):
        snapshot_bm25_statistics([])


def test_own_statistics_change_no_score(tmp_path: Path) -> None:
    parts, asked = snapshot(tmp_path)
    own = search_snapshot(parts, asked)
    again = search_snapshot(parts, asked, statistics=snapshot_bm25_statistics(parts))
    assert again.ranking["score"].to_list() == pytest.approx(own.ranking["score"].to_list())
    assert again.ranking.drop("score").equals(own.ranking.drop("score"))


def test_search_over_batches_keeps_only_matches_and_breaks_ties() -> None:
    parts = [documents(a="l'eau", b="le feu"), documents(c="l'eau", d="la terre")]
    asked = queries(q1="de l'eau", q2="feu terre", q3="de la", q4="inconnu")
    run = bm25(parts, asked, Bm25Parameters(depth=1), tag="mine")
    assert run.ranking.select("query_id", "doc_id").rows() == [("q1", "c"), ("q2", "d")]
    assert (run.tag, run.depth) == ("mine", 1)
    assert bm25(iter(parts), asked, Bm25Parameters(depth=1), tag="mine").ranking.equals(run.ranking)


def test_words_that_carry_nothing_find_nothing() -> None:
    assert bm25([documents(a="le la les")], queries(q="le")).ranking.is_empty()
    assert bm25([documents(a="eau")], queries()).ranking.is_empty()


def test_wrong_documents() -> None:
    with pytest.raises(DataError, match="expected documents to search"):
        bm25([], queries(q="eau"))
    with pytest.raises(DataError, match="expected unique document ids"):
        bm25([documents(a="eau"), documents(a="feu")], queries(q="eau"))
    with pytest.raises(UsageError, match="expected a run depth of at least 1, found 0"):
        Bm25Parameters(depth=0)
    for k1, b in ((-0.1, 0.5), (1.0, -0.1), (1.0, 1.1)):
        with pytest.raises(UsageError) as caught:
            Bm25Parameters(k1=k1, b=b)
        assert str(caught.value) == (
            f"BM25: expected k1 >= 0 and b in [0, 1], found k1={k1}, b={b}"
        )
    for k1, b in ((0.0, 0.0), (0.0, 1.0)):
        Bm25Parameters(k1=k1, b=b)
    assert Bm25Parameters() == Bm25Parameters("fr", 1.2, 0.75, 1000)


def test_the_best_documents_are_in_the_order_of_trec_eval() -> None:
    """Documents b and c are equal as 32-bit floats, and c comes before b; 0 scores nothing."""
    index = Bm25Index([documents(a="eau", b="eau", x="feu", c="eau", d="eau")])
    scores = np.array([0.5, 0.7 + 1e-9, 0.0, 0.7, 0.9])
    assert index.top_documents(scores, 9).tolist() == [4, 3, 1, 0]
    assert index.top_documents(np.array([0.5, 0.7, 0.0, 0.7, 0.9]), 2).tolist() == [4, 3]
    assert index.top_documents(np.zeros(5), 2).tolist() == []
    tied = np.array([0.5, 0.7, 0.5, 0.2, -1.0])
    assert index.top_hits("q", tied).rows() == [
        *(("q", "a", 0.5), ("q", "b", 0.7), ("q", "x", 0.5), ("q", "c", 0.2))
    ]
    two = Bm25Index([documents(a="eau", b="eau", x="feu", c="eau")], Bm25Parameters(depth=2))
    assert two.top_hits("q", tied[:4])["doc_id"].to_list() == ["a", "b", "x"]
    assert two.top_hits("q", np.array([0.5, 0.7, 0.0, 0.0]))["doc_id"].to_list() == ["a", "b"]


def snapshot(folder: Path) -> tuple[list[Path], Path]:
    columns = {
        "doc_id": ["d1", "d2"],
        "title": ["Eau", "Feu"],
        "text": ["chaude", "froid"],
        "title_en": ["Water", None],
        "text_en": ["warm", "cold fire"],
    }
    parts = []
    for number, part in enumerate(pl.DataFrame(columns).iter_slices(1)):
        parts.append(folder / f"part-{number}.parquet")
        part.write_parquet(parts[-1])
    asked = {"query_id": ["q1", "q2"], "text": ["eau", "froid"], "text_en": ["water", "fire"]}
    pl.DataFrame(asked).write_parquet(folder / "queries.parquet")
    return parts, folder / "queries.parquet"


@pytest.mark.parametrize("language", ["fr", "en"])
def test_a_snapshot_is_searched_in_either_language(tmp_path: Path, language) -> None:
    run = search_snapshot(*snapshot(tmp_path), Bm25Parameters(language))
    assert run.ranking.select("query_id", "doc_id").rows() == [("q1", "d1"), ("q2", "d2")]


def test_a_snapshot_that_was_not_translated(tmp_path: Path) -> None:
    parts, asked = snapshot(tmp_path)
    pl.read_parquet(asked).with_columns(text_en=pl.lit(None, pl.String)).write_parquet(asked)
    with pytest.raises(DataError) as caught:
        search_snapshot(parts, asked, Bm25Parameters("en"))
    assert str(caught.value) == (
        f"{asked}: expected text in every row of column text_en, found nulls; the snapshot was not "
        "translated"
    )
    snapshot(tmp_path)
    pl.read_parquet(parts[1]).with_columns(text_en=pl.lit(None, pl.String)).write_parquet(parts[1])
    with pytest.raises(DataError, match=r"part-1.parquet: expected text in column text_en"):
        search_snapshot(parts, asked, Bm25Parameters("en"))
    with pytest.raises(UsageError, match="cannot read Parquet file"):
        search_snapshot([tmp_path / "absent.parquet"], asked)
    with pytest.raises(UsageError, match="expected a Parquet file, found none"):
        search_snapshot(parts, tmp_path / "absent.parquet")


@pytest.mark.parametrize("module", ["bm25s", "Stemmer"])
def test_a_missing_package_says_what_to_install(module: str, monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(MissingExtraError, match=r"longeval-builder\[baseline\]"):
        bm25([documents(a="eau")], queries(q="eau"))


def test_bm25_finds_what_is_relevant_and_shuffled_judgements_do_not(make_qrels) -> None:
    pytest.importorskip("pytrec_eval")
    from builder.evaluation.evaluator import evaluate
    from builder.evaluation.parameters import EvaluationParameters

    themes = [f"mot{i}" for i in range(40)]
    corpus = {
        f"d{i:03}": f"page {themes[i % 40]} commune {themes[(i * 7) % 40]}" for i in range(400)
    }
    run = bm25([documents(**corpus)], queries(**{f"q{i}": word for i, word in enumerate(themes)}))
    relevant = [(f"q{i % 40}", f"d{i:03}", 1) for i in range(400)]
    shuffled = [(f"q{(i * 11 + 3) % 40}", f"d{i:03}", 1) for i in range(400)]
    means = {}
    for name, rows in (("true", relevant), ("shuffled", shuffled)):
        qrels = {"2022-06": make_qrels(rows)}
        evaluation = evaluate(
            qrels, {"bm25": {"2022-06": run}}, EvaluationParameters(("P@10",), resamples=0)
        )
        means[name] = evaluation.effectiveness["value"][0]
    assert means["true"] > 0.5
    assert means["shuffled"] < 0.15
