"""`python -m workflows.train_translator STEP`: the steps of the recipe."""

import argparse
import json
import shutil
from pathlib import Path

from workflows.train_translator.config import ModelConfig

CHECKPOINTS = "checkpoints/*.pt"


def main() -> None:
    """Run one step."""
    parser = argparse.ArgumentParser(prog="train_translator", description=main.__doc__)
    parser.add_argument("step", choices=tuple(STEPS))
    parser.add_argument("--data", type=Path, default=Path("../shared/data/parallel"))
    parser.add_argument("--work", type=Path, default=Path("../train"))
    parser.add_argument("--out", type=Path, default=Path("builder/models/fr-en"))
    parser.add_argument("--steps", type=int, default=13000)
    parser.add_argument("--minutes", type=float, help="minutes of training, in place of --steps")
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--fall", type=float, default=0.35)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--tokens", type=int, default=3000)
    parser.add_argument("--save-steps", type=int, default=250)
    parser.add_argument("--start", type=Path, help="an exported model to go on from")
    parser.add_argument("--before", type=Path, help="the model shipped before, for the card")
    parser.add_argument("--pages", type=Path, help="texts in JSON lines, to time beams on")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    try:
        STEPS[arguments.step](arguments)
    except ModuleNotFoundError as error:
        if error.name not in {"torch", "sacrebleu"}:
            raise
        raise SystemExit(f"training needs {error.name}; see its README.md") from None


def _prepare(arguments: argparse.Namespace) -> None:
    from workflows.train_translator.prepare import prepare
    from workflows.train_translator.vocabulary import train_vocabulary

    for corpus, counts in prepare(arguments.data, arguments.work)["corpora"].items():
        print(corpus, counts)
    if arguments.start is not None:
        shutil.copyfile(arguments.start / "shared.spm", arguments.work / "shared.spm")
    else:
        print(train_vocabulary(arguments.work, ModelConfig().vocabulary))


def _pack(arguments: argparse.Namespace) -> None:
    _expect(arguments.work, "pairs.tsv", "prepare")
    from workflows.train_translator.pack import pack

    path = Path("out/train.tar.xz")
    print(f"{path}: {pack(arguments.work, path, arguments.start):,} bytes")


def _weights(arguments: argparse.Namespace) -> None:
    _expect(arguments.work, CHECKPOINTS, "train")
    from workflows.train_translator.train import save_weights

    path = save_weights(arguments.work)
    print(f"{path}: {path.stat().st_size:,} bytes")


def _expect(work: Path, name: str, step: str) -> None:
    """Exit with a message if the output of an earlier step is missing."""
    if not any(work.glob(name)):
        raise SystemExit(f"{work}: no {name}; run the step {step} first")


def _train(arguments: argparse.Namespace) -> None:
    _expect(arguments.work, "pairs.tsv", "prepare")
    import torch

    from workflows.machine import lowest_priority
    from workflows.train_translator.train import Settings, Trainer
    from workflows.train_translator.vocabulary import size

    lowest_priority()
    torch.set_num_threads(arguments.threads)
    names = ("steps", "minutes", "rate", "fall", "tokens", "save_steps", "start")
    settings = Settings(**{name: getattr(arguments, name) for name in names})
    shape = ModelConfig(vocabulary=size(arguments.work / "shared.spm"), dropout=arguments.dropout)
    Trainer(arguments.work, shape, settings).train(lambda line: print(line, flush=True))


def _export(arguments: argparse.Namespace) -> None:
    _expect(arguments.work, CHECKPOINTS, "train")
    from workflows.train_translator.export import average_checkpoints, export

    model = average_checkpoints(arguments.work)
    vocabulary = arguments.work / "shared.spm"
    print(export(model, vocabulary, arguments.work / "float32", None))
    print(export(model, vocabulary, arguments.out, "int8"))


def _evaluate(arguments: argparse.Namespace) -> None:
    _expect(arguments.work, CHECKPOINTS, "train")
    from workflows.train_translator.figures import figures

    found = figures(arguments.work, arguments.out, arguments.data / "test", arguments.before)
    text = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    (arguments.work / "evaluation.json").write_text(text, "utf-8")
    print(text)
    _card(arguments)


def _card(arguments: argparse.Namespace) -> None:
    _expect(arguments.work, "evaluation.json", "evaluate")
    from workflows.train_translator.card import write_card

    figures = json.loads((arguments.work / "evaluation.json").read_text("utf-8"))
    beams = arguments.work / "beams.json"
    figures["beams"] = json.loads(beams.read_text("utf-8")) if beams.exists() else []
    print(write_card(arguments.work, arguments.out, figures))


def _beams(arguments: argparse.Namespace) -> None:
    from workflows.train_translator.beams import measure, read_pages

    folders = {"before": arguments.before, "embedded": arguments.out}
    named = {name: folder for name, folder in folders.items() if folder is not None}
    found = measure(named, read_pages(arguments.pages), arguments.data)
    text = json.dumps(found, indent=1) + "\n"
    (arguments.work / "beams.json").write_text(text, "utf-8")
    print(text)


def _learn(arguments: argparse.Namespace) -> None:
    _expect(arguments.work, "pairs.tsv", "prepare")
    import torch

    from workflows.train_translator.learning import learning_curve

    torch.set_num_threads(arguments.threads)
    learning_curve(arguments.work, arguments.data / "test", lambda line: print(line, flush=True))


STEPS = {
    "prepare": _prepare,
    "pack": _pack,
    "train": _train,
    "weights": _weights,
    "export": _export,
    "beams": _beams,
    "evaluate": _evaluate,
    "card": _card,
    "learn": _learn,
}

if __name__ == "__main__":
    main()
