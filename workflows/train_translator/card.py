"""The model card, from figures alone: what the model is, learned from, scores, and is not for.

In: `prepared.json`, `curve.jsonl` and the evaluation of a model, `sources.toml`, and the models of
`learning.jsonl` beside it. Out: the text of `README.md` in the model's folder.
"""

import json
import tomllib
from pathlib import Path
from typing import Any

from workflows.train_translator.points import SETS, points

HERE = Path(__file__).parent


def write_card(work: Path, folder: Path, figures: dict[str, Any]) -> Path:
    """Write the card of a model.

    Args:
        work: Work folder of the training.
        folder: The model's folder.
        figures: `shape`, `parameters`, `int8`, `beam`, `float32` (evaluations), `faithful`,
            `averaged`.
    """
    account = json.loads((work / "prepared.json").read_text("utf-8"))["corpora"]
    curve = [json.loads(line) for line in (work / "curve.jsonl").read_text("utf-8").splitlines()]
    scores = figures["int8"]["scores"]
    exact = figures["float32"]["scores"]
    searched = figures["beam"]["scores"]
    template = (HERE / "card.template.md").read_text("utf-8")
    text = template.format(
        **figures["shape"],
        parameters=figures["parameters"] / 1e6,
        megabytes=sum(path.stat().st_size for path in folder.iterdir()) / 1e6,
        sources="\n".join(_sources(account)),
        overlap=sum(counts.get("shares_text_with_a_test_set", 0) for counts in account.values()),
        minutes=curve[-1]["seconds"] / 60,
        seen=curve[-1]["pairs"],
        averaged=figures["averaged"],
        beam=figures["beam"]["beam_size"],
        signature=f"sacrebleu `{figures['int8']['signature']}`.",
        scores="\n".join(
            f"| {name} | {s['sentences']:,} | {s['bleu']:.1f} | {s['chrf']:.1f} "
            f"| {searched[name]['bleu']:.1f} | {searched[name]['chrf']:.1f} |"
            for name, s in scores.items()
        ),
        same=figures["faithful"]["same"],
        compared=figures["faithful"]["sentences"],
        int8=max(abs(scores[name]["bleu"] - exact[name]["bleu"]) for name in scores),
        curve="\n".join(
            f"| {p['seconds'] / 60:.0f} | {p['pairs']:,} | {p['validation']:.3f} |" for p in curve
        ),
        learning="\n".join(_learning([*points(), _point(figures, account, curve)])),
    )
    path = folder / "README.md"
    path.write_text(text, encoding="utf-8")
    return path


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


def _sources(account: dict[str, Any]) -> list[str]:
    config = tomllib.loads((HERE / "sources.toml").read_text("utf-8"))
    lines = [
        f"| {account[corpus['file']].get('taken', 0):,} | {corpus['name']} | {corpus['terms']} |"
        for corpus in config["corpus"]
    ]
    made = config["generated"]
    return [*lines, f"| {account['generated']['taken']:,} | {made['name']} | {made['terms']} |"]
