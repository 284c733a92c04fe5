"""What commands print of translations and labelled posts that are given, whole."""

import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from builder.cli.classification import classification
from builder.cli.options import OutputFormat
from builder.cli.translation import _print_model_properties, _print_summary
from builder.runtime.ledger import RowLedger
from tests.cli.test_cli import Captured, run


def test_models_are_described_with_their_settings_and_samples(capsys: Captured) -> None:
    properties = {"kind": "CTranslate2", "examples": {"un": "one", "été": "summer"}}
    _print_model_properties(dict(properties), OutputFormat.TEXT)
    described = "property  value\nkind      CTranslate2\n"
    samples = "\nun\n  one\n\nété\n  summer\n"
    assert capsys.readouterr().out == described + samples
    _print_model_properties({**properties, "definition": "[translate]"}, OutputFormat.TEXT)
    section = "\nAdd to the collection definition:\n\n[translate]\n"
    assert capsys.readouterr().out == described + section + samples
    _print_model_properties(dict(properties), OutputFormat.JSON)
    assert json.loads(capsys.readouterr().out) == properties


@pytest.mark.parametrize("out", [None, Path("b.txt")])
def test_flags_of_translations_are_counted(out: Path | None, capsys: Captured) -> None:
    sentences = [SimpleNamespace(flags=flags) for flags in (("b", "a"), ("a",), ())]
    translations: list[Any] = [
        SimpleNamespace(sentences=sentences[:2]),
        SimpleNamespace(sentences=sentences[2:]),
    ]
    _print_summary(translations, out)
    table = "flag  sentences\na             2\nb             1\n"
    expected = (f"wrote b.txt: 2 texts, 3 sentences\n{table}", "") if out else ("", table)
    assert capsys.readouterr() == expected
    _print_summary(translations[1:], out)
    assert capsys.readouterr() == ("wrote b.txt: 1 text, 1 sentence\n" if out else "", "")


KAPPA = SimpleNamespace(value=0.51234, reason="")
NO_ALPHA = SimpleNamespace(value=None, reason="no pair has two labels")


def test_agreement_of_annotators_is_printed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Captured
) -> None:
    report = SimpleNamespace(
        pairs=pl.DataFrame({"first": ["ann"], "second": ["bob"], "kappa": [0.25]}),
        posts=1200,
        annotators=["ann"],
        fleiss=KAPPA,
        krippendorff=NO_ALPHA,
    )
    monkeypatch.setattr(
        "builder.tasks.classification.measure_agreement_in_files", lambda files: report
    )
    assert run("classification", "agreement", tmp_path / "ann.tsv") == 0
    assert capsys.readouterr().out.splitlines() == [
        "first  second   kappa",
        "ann    bob     0.2500",
        "1,200 posts, 1 annotator",
        "Fleiss' kappa 0.5123",
        "Krippendorff's alpha undefined (no pair has two labels)",
    ]


@pytest.mark.parametrize("rebuilt", [True, False])
@pytest.mark.parametrize("unused", [{}, {"b": 1, "a": 1200}])
def test_a_build_of_posts_tells_what_was_not_used(
    rebuilt: bool,
    unused: dict[str, int],
    monkeypatch: pytest.MonkeyPatch,
    capsys: Captured,
) -> None:
    report = SimpleNamespace(
        splits=pl.DataFrame({"split": ["train"], "posts": [7]}),
        ledger=RowLedger("posts", 9, 7, Counter({"bad_time": 2})),
        unused_labels=unused,
        rebuilt=rebuilt,
        folder="posts/0.1.0",
    )
    monkeypatch.setattr("builder.tasks.classification.build_classification", lambda *_: report)
    assert run("classification", "build", "p.toml", "--out", "posts") == 0
    told = "human labels of 1,201 posts were not used (b 1, a 1,200)"
    assert capsys.readouterr().out.splitlines() == [
        "split  posts",
        "train      7",
        "9 posts = 7 kept + 2 rejected (bad_time 2)",
        *([told] if unused else []),
        "published posts/0.1.0" if rebuilt else "nothing to do: posts/0.1.0",
    ]
    assert run("classification", "build", "p.toml", "--out", "posts", "--quiet") == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("reasons", "text"),
    [((), "skip  up to date\n"), (("not built yet", "new"), "run   not built yet; new\n")],
)
def test_a_build_of_posts_is_explained(
    reasons: tuple[str, ...], text: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(
        "builder.tasks.classification.classification_rebuild_reasons", lambda *_: reasons
    )
    assert run("classification", "build", "p.toml", "--out", "posts", "--explain") == 0
    assert capsys.readouterr().out == text


@pytest.mark.parametrize(
    ("count", "code", "end"), [(0, 0, "no findings"), (1, 1, "1 finding"), (2, 1, "2 findings")]
)
def test_findings_in_posts_exit_with_one(
    count: int, code: int, end: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    from builder.collection.checks import Finding

    finding = Finding("CL101", "error", "t.tsv", "m", 1, (), "f")
    monkeypatch.setattr(
        "builder.tasks.classification.validate_classification", lambda folder: [finding] * count
    )
    assert run("classification", "validate", "posts") == code
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == count + 1
    assert lines[-1] == end


def test_the_baseline_of_posts_counts_its_predictions(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr("builder.tasks.classification.run_classification_baseline", lambda *_: 1200)
    assert run("classification", "baseline", "posts", "--out", "p.tsv") == 0
    assert capsys.readouterr().out == "wrote 1,200 predictions to p.tsv\n"
    assert classification.info.name == "classification"
