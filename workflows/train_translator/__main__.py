"""`python -m workflows.train_translator STEP`: the steps of the recipe, one after the other."""

import argparse
import json
import shutil
from pathlib import Path

from workflows.train_translator.shape import Shape

CHECKPOINTS = "checkpoints/*.pt"


def main() -> None:
    """Run one step."""
    parser = argparse.ArgumentParser(prog="train_translator", description=main.__doc__)
    parser.add_argument("step", choices=tuple(STEPS))
    parser.add_argument("--data", type=Path, default=Path("../shared/data/parallel"))
    parser.add_argument("--work", type=Path, default=Path("../train"))
    parser.add_argument("--out", type=Path, default=Path("builder/models/fr-en"))
    parser.add_argument("--steps", type=int, default=13000)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--start", type=Path, help="an exported model to go on from")
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
    print(train_vocabulary(arguments.work, Shape().vocabulary))


def _expect(work: Path, name: str, step: str) -> None:
    """End where a file of an earlier step is not there."""
    if not any(work.glob(name)):
        raise SystemExit(f"{work}: no {name}; run the step {step} first")


def _train(arguments: argparse.Namespace) -> None:
    _expect(arguments.work, "pairs.tsv", "prepare")
    import torch

    from workflows.train_translator.train import Settings, Trainer

    torch.set_num_threads(arguments.threads)
    if arguments.start is not None:
        shutil.copyfile(arguments.start / "shared.spm", arguments.work / "shared.spm")
    settings = Settings(steps=arguments.steps, rate=arguments.rate, start=arguments.start)
    Trainer(arguments.work, Shape(), settings).train(lambda line: print(line, flush=True))


def _export(arguments: argparse.Namespace) -> None:
    _expect(arguments.work, CHECKPOINTS, "train")
    from workflows.train_translator.export import averaged, export

    model = averaged(arguments.work)
    vocabulary = arguments.work / "shared.spm"
    print(export(model, vocabulary, arguments.work / "float32", None))
    print(export(model, vocabulary, arguments.out, "int8"))


def _evaluate(arguments: argparse.Namespace) -> None:
    _expect(arguments.work, CHECKPOINTS, "train")
    from dataclasses import asdict

    from workflows.train_translator.card import write_card
    from workflows.train_translator.evaluate import BEAM, evaluate, faithful
    from workflows.train_translator.export import AVERAGED, averaged
    from workflows.train_translator.train import checkpoints

    model, tests = averaged(arguments.work), arguments.data / "test"
    figures = {
        "shape": asdict(model.shape),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "averaged": min(AVERAGED, len(checkpoints(arguments.work))),
        "int8": evaluate(arguments.out, tests),
        "beam": evaluate(arguments.out, tests, beam_size=BEAM),
        "float32": evaluate(arguments.work / "float32", tests, "float32"),
        "faithful": faithful(model, arguments.work / "float32", tests),
    }
    text = json.dumps(figures, indent=1) + "\n"
    (arguments.work / "evaluation.json").write_text(text, "utf-8")
    print(text, write_card(arguments.work, arguments.out, figures))


def _learn(arguments: argparse.Namespace) -> None:
    _expect(arguments.work, "pairs.tsv", "prepare")
    import torch

    from workflows.train_translator.learning import learn

    torch.set_num_threads(arguments.threads)
    learn(arguments.work, arguments.data / "test", lambda line: print(line, flush=True))


STEPS = {
    "prepare": _prepare,
    "train": _train,
    "export": _export,
    "evaluate": _evaluate,
    "learn": _learn,
}

if __name__ == "__main__":
    main()
