"""The recipe of the embedded translator: what it learns from, and that its export is faithful."""

import gzip
import json
import sys
import tomllib
from pathlib import Path

import pytest

from builder.simulation import generate_sentence_pairs
from builder.text.keys import fold_texts
from workflows.train_translator import ordinary as judged
from workflows.train_translator import points
from workflows.train_translator.__main__ import main
from workflows.train_translator.card import write_card
from workflows.train_translator.prepare import (
    HERE,
    everyday_pairs,
    held_out_sentences,
    ngrams,
    prepare,
    rejection_reason,
)
from workflows.train_translator.vocabulary import encode, read, train_vocabulary

CORPORA = [
    corpus["file"] for corpus in tomllib.loads((HERE / "sources.toml").read_text())["corpus"]
]
EVERYDAY = CORPORA.index("train.tatoeba_many.tsv.gz")
HELD_OUT = "Un chat noir dort toujours dans le petit jardin"


def _write(path: Path, pairs: list[tuple[str, str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(f"{fr}\t{en}\n" for fr, en in pairs)


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Prepared pairs of small corpora."""
    folder = tmp_path_factory.mktemp("recipe")
    pairs = list(dict.fromkeys(generate_sentence_pairs(99, 600)))
    for number, name in enumerate(CORPORA):
        _write(folder / "data" / name, pairs[number :: len(CORPORA)])
    bad = [
        (f"{HELD_OUT} près de la maison.", "Something else entirely, near the house it is."),
        ("Que fais-tu demain ?", "What are you up to?"),
        (
            held_out_sentences()[0],
            "Easy recipe of a chocolate cake: heat the oven to 180 degrees first.",
        ),
        ("Paris", "Paris"),
        ("12 %", "12 per cent"),
        ("Un mot", "One word and then many more that nobody wrote in French at all"),
        pairs[EVERYDAY + 2 * len(CORPORA)],
    ]
    _write(folder / "data" / CORPORA[EVERYDAY], [*pairs[EVERYDAY :: len(CORPORA)], *bad])
    _write(
        folder / "data/test/a.tsv.gz",
        [(f"{HELD_OUT}.", "A cat."), ("Quoi ?", "what are you up to")],
    )
    _write(folder / "data/valid.b.tsv.gz", pairs[:20])
    prepare(folder / "data", folder / "work")
    return folder / "work"


def test_what_is_not_trained_on_and_why(work: Path) -> None:
    account = json.loads((work / "prepared.json").read_text())["corpora"]
    counts = account[CORPORA[EVERYDAY]]
    assert {k: v for k, v in counts.items() if k not in {"read", "taken"}} == {
        "shares_text_with_a_test_set": counts["shares_text_with_a_test_set"],
        "copied": 1,
        "no_letters": 1,
        "length_ratio": 1,
        "duplicate": 1,
    }
    assert all(c["read"] == sum(c.values()) - c["read"] for c in account.values())
    sides = {side for pair in read(work / "pairs.tsv") for side in pair}
    assert not any(HELD_OUT in side for side in sides)
    assert "Que fais-tu demain ?" not in sides
    assert not set(held_out_sentences()) & sides
    assert not {fr for fr, _ in read(work / "validation.tsv")} & sides


def test_overlap_of_long_and_short_texts() -> None:
    assert len(ngrams("un deux trois quatre cinq six sept huit neuf")) == 2
    assert ngrams("Un deux, TROIS !") == {"= un deux trois"}
    assert ngrams("un deux") == set()
    assert rejection_reason(("un mot", "a word"), 60) is None


def test_every_pair_is_in_pieces_without_unknown(work: Path, tmp_path: Path) -> None:
    lines = (work / "pairs.tsv").read_text("utf-8").splitlines(keepends=True)[::40]
    assert len(lines) > 1000
    assert not {"Ł", "ź"} & {*"".join(lines)}
    (tmp_path / "pairs.tsv").write_text("".join(lines), "utf-8")
    vocabulary = train_vocabulary(tmp_path, 700)
    encoded = encode(iter([("Ça coûte 3 € à Łódź.", "It costs 3 € in Łódź.")]), vocabulary, 99)
    assert 0 not in [*encoded.sources.pieces, *encoded.targets.pieces]
    assert encoded.sources.pieces[-1] == encoded.targets.pieces[-1] == 2


def test_the_card_has_every_test_set(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    smaller = {"width": 128, "parameters": 2_750_000, "pairs": 18_027, "validation": 4.728}
    smaller |= {"bleu": {"newstest2014": 2.26, "flores_devtest": 2.2}, "beam": {}}
    (tmp_path / "learning.jsonl").write_text(json.dumps(smaller) + "\n")
    monkeypatch.setattr(points, "CURVE", tmp_path / "learning.jsonl")
    (tmp_path / "judged.tsv").write_text(f"{held_out_sentences()[0]}\tnew\tunusable\n")
    monkeypatch.setattr(judged, "JUDGED", tmp_path / "judged.tsv")
    scores = {"a": {"sentences": 2, "bleu": 1.5, "chrf": 20.0}}
    point = {"seconds": 60.0, "step": 1234, "epoch": 3, "pairs": 7, "validation": 4.5}
    point["validation_character"] = 1.2
    (work / "curve.jsonl").write_text(json.dumps(point) + "\n")
    figures = {
        "shape": {"encoder": 6, "decoder": 2, "width": 256, "vocabulary": 8000},
        "parameters": 8_900_000,
        "averaged": 4,
        "int8": {"scores": scores, "signature": "s"},
        "beam": {"scores": scores, "beam_size": 4},
        "float32": {"scores": {"a": {**scores["a"], "bleu": 1.25}}},
        "faithful": {"same": 199, "sentences": 200},
        "validation_before": 0.61234,
        "beams": [{"model": "m", "beam_size": 2, "seconds_a_page": 0.05, "scores": {}}],
        "ordinary": {"before": ["old"] * 40, "after": ["new"] * 40},
    }
    text = write_card(work, tmp_path, figures).read_text()
    assert "| 128 | 2.8 M | 18,027 | 4.73 | 2.3 |  | 2.2 |  |" in text
    assert "| 256 | 8.9 M | " in text
    assert "| a | 2 | 1.5 | 20.0 | 1.5 | 20.0 |" in text
    assert "at most\n0.25" in text or "at most 0.25" in text.replace("\n", " ")
    assert "Europarl is " in text
    assert "1.0 minutes" in text
    assert "1,234 steps, 3 whole epochs" in " ".join(text.split())
    assert "0.6123" in text
    assert "| m | 2 | 50 |  |  |" in text
    assert f"| {held_out_sentences()[0]} | old | ~~new~~ |" in text
    for name in ("Open Government Licence", "CC BY 2.0 FR", "BSD 3-Clause", "CC0"):
        assert name in text


def test_shares_of_pairs_are_nested() -> None:
    pytest.importorskip("torch")
    from workflows.train_translator.learning import sample

    lines = [f"phrase {n}\tsentence {n}\n" for n in range(4000)]
    eighth, quarter = (list(sample(iter(lines), one_in)) for one_in in (8, 4))
    assert 400 < len(eighth) < 600
    assert set(eighth) < set(quarter)
    assert list(sample(iter(lines), 1)) == lines


@pytest.mark.parametrize(
    ("step", "told"),
    [
        ("train", "no pairs.tsv; run the step prepare first"),
        ("pack", "no pairs.tsv; run the step prepare first"),
        ("export", "no checkpoints/*.pt; run the step train first"),
        ("evaluate", "no checkpoints/*.pt; run the step train first"),
        ("card", "no evaluation.json; run the step evaluate first"),
        ("learn", "no pairs.tsv; run the step prepare first"),
    ],
)
def test_a_step_says_which_comes_before_it(
    step: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["train_translator", step, "--work", str(tmp_path)])
    with pytest.raises(SystemExit) as end:
        main()
    assert str(end.value) == f"{tmp_path}: {told}"


def test_everyday_pairs_share_no_four_words_with_the_ordinary_sentences() -> None:
    pairs = list(everyday_pairs())
    held_out = {gram for text in fold_texts(held_out_sentences()) for gram in _runs_of_four(text)}
    assert len(pairs) > 10_000
    assert held_out
    assert all(french and english for french, english in pairs)
    for text in fold_texts([french for french, _ in pairs]):
        assert held_out.isdisjoint(_runs_of_four(text)), text


def _runs_of_four(text: str) -> set[str]:
    words = text.split()
    return {" ".join(words[start : start + 4]) for start in range(len(words) - 3)}
