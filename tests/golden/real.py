"""Golden worlds of real data in ../shared; only hashes of them are kept here.

`real-crawl` is a part of real crawls under simulated users, `tiangong` are click models on
TianGong-ST's log. Both are skipped where there is no ../shared.
"""

import ast
import gzip
import itertools
import json
from pathlib import Path

import builder
from builder import SimulationParameters
from builder.clicks import estimate_from_log
from builder.parameters import ClickParameters

SHARED = Path(__file__).parents[3] / "shared" / "data"
PAGES = 300
MODELS = {
    "sdbn": {},
    "sdbn-votes": {"votes": "user", "no_click": "skip", "prior": "beta"},
    "dbn": {},
    "dcm": {},
    "cascade": {},
    "pbm": {},
    "global-ctr": {},
    "rank-ctr": {},
    "document-ctr": {},
    "dbn-pyclick": {},
}
"""Parameters of each run of a click model, by the model's name, or that with `-votes`."""
ITERATIONS = 10


def real_crawl(folder: Path) -> Path:
    """The first pages of two real crawls, under simulated users."""
    crawls = []
    for month in ("2022-06", "2022-09"):
        path = folder / f"{month}.jsonl.gz"
        with gzip.open(SHARED / f"crawl/{month}-30.jsonl.gz") as file:
            path.write_bytes(gzip.compress(b"".join(itertools.islice(file, PAGES)), mtime=0))
        crawls.append(path)
    builder.simulate_over_crawls(
        folder, crawls, SimulationParameters(queries=30, impressions=2000, seed=9)
    )
    definition = folder / "workflow.toml"
    text = definition.read_text("utf-8").replace(f"{folder.resolve().as_posix()}/", "")
    text += "\n[documents]\nsample_share = 1.0\n[export]\ntrec = false\n"
    definition.write_text(text, "utf-8")
    return definition


def run_models(out: Path) -> None:
    """Write the pairs of every run of `MODELS` on TianGong-ST's log to a folder of its name."""
    out.mkdir()
    log = _as_log(out / "log.jsonl")
    for name, values in MODELS.items():
        pairs = out / name / "pair_statistics.parquet"
        params = ClickParameters.model_validate({**values, "iterations": ITERATIONS})
        model = name.removesuffix("-votes")
        estimate_from_log(log, model, pairs, params=params)


def _as_log(out: Path) -> Path:
    """The pages of the training part as JSON lines."""
    source = SHARED / "click-logs/train_per_query_quid.txt"
    with out.open("w", encoding="utf-8") as file:
        for line in source.read_text("utf-8").splitlines():
            session, query, results, _, clicks = line.split("\t")[:5]
            flags = ast.literal_eval(clicks)
            record = {
                "user": session,
                "query": query,
                "results": [str(doc) for doc in ast.literal_eval(results)],
                "clicks": [rank for rank, flag in enumerate(flags, 1) if flag],
            }
            file.write(json.dumps(record) + "\n")
    return out
