"""The model card, from figures alone: what the model is, learned from, scores, and is not for.

In: `prepared.json`, `curve.jsonl` and the figures of a model (`figures.py`), `sources.toml`, and
the models of `learning.jsonl` beside it. Out: the text of `README.md` in the model's folder.
"""

import json
import tomllib
from pathlib import Path
from typing import Any

from workflows.train_translator.ordinary import rows, usable
from workflows.train_translator.points import BEAM_SETS, SETS, points

HERE = Path(__file__).parent
GENERATED = ("everyday", "generated", "queries")
"""Sections of `sources.toml` about text that the project makes itself."""


def write_card(work: Path, folder: Path, figures: dict[str, Any]) -> Path:
    """Write the card of a model.

    Args:
        work: Work folder of the training.
        folder: The model's folder.
        figures: As of `figures.py`, and `beams`: rows of `beams.py`.
    """
    prepared = json.loads((work / "prepared.json").read_text("utf-8"))
    curve = [json.loads(line) for line in (work / "curve.jsonl").read_text("utf-8").splitlines()]
    template = (HERE / "card.template.md").read_text("utf-8")
    text = template.format(
        **figures["shape"],
        **_learned(prepared, curve),
        **_measured(figures),
        megabytes=sum(path.stat().st_size for path in folder.iterdir()) / 1e6,
        learning="\n".join(_learning([*points(), _point(figures, prepared["corpora"], curve)])),
    )
    path = folder / "README.md"
    path.write_text(text, encoding="utf-8")
    return path


def _learned(prepared: dict[str, Any], curve: list[dict[str, Any]]) -> dict[str, Any]:
    """What the model learned from, and how training went."""
    account, words = prepared["corpora"], prepared["words"]
    parliament = sum(count for name, count in words.items() if "europarl" in name)
    return {
        "sources": "\n".join(_sources(account, words)),
        "parliament": parliament / max(sum(words.values()), 1),
        "overlap": sum(c.get("shares_text_with_a_test_set", 0) for c in account.values()),
        "minutes": curve[-1]["seconds"] / 60,
        "seen": curve[-1]["pairs"],
        "curve": "\n".join(
            f"| {p['seconds'] / 60:.0f} | {p['pairs']:,} | {p['validation']:.3f} "
            f"| {p['validation_character']:.4f} |"
            for p in curve
        ),
    }


def _measured(figures: dict[str, Any]) -> dict[str, Any]:
    """How well the model translates, how fast, and how faithful its conversion is."""
    scores, exact = figures["int8"]["scores"], figures["float32"]["scores"]
    searched, ordinary = figures["beam"]["scores"], figures["ordinary"]
    before = ordinary.get("before", [""] * len(ordinary["after"]))
    return {
        "parameters": figures["parameters"] / 1e6,
        "averaged": figures["averaged"],
        "beam": figures["beam"]["beam_size"],
        "signature": f"sacrebleu `{figures['int8']['signature']}`.",
        "scores": "\n".join(
            f"| {name} | {s['sentences']:,} | {s['bleu']:.1f} | {s['chrf']:.1f} "
            f"| {searched[name]['bleu']:.1f} | {searched[name]['chrf']:.1f} |"
            for name, s in scores.items()
        ),
        "same": figures["faithful"]["same"],
        "compared": figures["faithful"]["sentences"],
        "int8": max(abs(scores[name]["bleu"] - exact[name]["bleu"]) for name in exact),
        "exact": ", ".join(exact),
        "before": "an unknown number of"
        if figures["validation_before"] is None
        else f"{figures['validation_before']:.4f}",
        "beams": "\n".join(_beams(figures["beams"])),
        "ordinary": "\n".join(rows(before, ordinary["after"])),
        "usable": usable(ordinary["after"]),
        "usable_before": usable(before),
    }


def _beams(found: list[dict[str, Any]]) -> list[str]:
    """Rows of the beam widths: model, width, time for a page, scores where there are some."""
    return [
        f"| {row['model']} | {row['beam_size']} | {1000 * row['seconds_a_page']:.0f} | "
        + " | ".join(
            f"{row['scores'][name][kind]:.1f}" if name in row["scores"] else ""
            for name in BEAM_SETS
            for kind in ("bleu", "chrf")
        )
        + " |"
        for row in found
    ]


def _point(
    figures: dict[str, Any], account: dict[str, Any], curve: list[dict[str, Any]]
) -> dict[str, Any]:
    """The model of the card as a point of the learning curve."""
    return {
        "width": figures["shape"]["width"],
        "parameters": figures["parameters"],
        "pairs": sum(counts.get("taken", 0) for counts in account.values()),
        "validation": curve[-1]["validation"],
        **{
            kind: {name: score["bleu"] for name, score in figures[of]["scores"].items()}
            for kind, of in (("bleu", "int8"), ("beam", "beam"))
        },
    }


def _learning(models: list[dict[str, Any]]) -> list[str]:
    """Rows of the learning curve over data and size; sets without a score have none in a row."""
    rows = []
    for model in models:
        scores = " | ".join(
            f"{model[kind][name]:.1f}" if name in model[kind] else ""
            for name in SETS
            for kind in ("bleu", "beam")
        )
        rows.append(
            f"| {model['width']} | {model['parameters'] / 1e6:.1f} M | {model['pairs']:,} "
            f"| {model['validation']:.2f} | {scores} |"
        )
    return rows


def _sources(account: dict[str, Any], words: dict[str, int]) -> list[str]:
    """Rows of the sources: pairs taken, share of the English words of an epoch, name and terms."""
    config = tomllib.loads((HERE / "sources.toml").read_text("utf-8"))
    total = max(sum(words.values()), 1)
    named = [(c["file"], c) for c in config["corpus"]] + [
        (name, config[name]) for name in GENERATED
    ]
    return [
        f"| {account[file].get('taken', 0):,} | {words[file] / total:.1%} | {source['name']} "
        f"| {source['terms']} |"
        for file, source in named
    ]
