"""The golden worlds: small, simulated, and each odd in its own way.

A world is a function from an empty folder to the definition to build; `WORLDS` names them.
"""

import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import builder
from builder import SimulationParameters
from tests.golden import faulty, logs
from tests.golden.logs import Record
from tests.golden.verdicts import add_files

SMALL = SimulationParameters(
    name="golden",
    seed=7,
    snapshots=2,
    documents=160,
    queries=24,
    impressions=1500,
    sentences=4,
    refetched=0.1,
    bot_rate=0.02,
    tracked=0.05,
    malformed_rate=0,
)
NO_EXPORT = "\n[export]\ntrec = false\n"
ADDRESS = "https://core.example/works/{id}"


def few_results(folder: Path) -> Path:
    """Three results a page, an archive as crawl, faulty lines and many programs."""
    text = '[qrels]\nmin_judged = 1\ncuts = [0.2, 0.5]\n[select]\nmatching = "stem"\n'
    changes = {"results_per_page": 3, "snapshots": 3, "crawl_format": "warc"}
    faults = {"malformed_rate": 0.05, "bot_rate": 0.1, "moved": 0.05, "added": 0.2}
    return _simulated(folder, text, **changes, **faults)


def qwant_parquet(folder: Path) -> Path:
    """Parquet as log, Qwant's keys in the crawl, fixed priors and satisfaction in the score."""
    text = '[clicks]\nprior = "beta"\nprior_alpha = 2.0\nprior_beta = 5.0\nlast = "time"\n'
    text += '[qrels]\nscore = "relevance"\ncuts = [0.05, 0.2]\n[log]\nbots = "keep"\n'
    return _simulated(folder, text, log_format="parquet", crawl_format="qwant", malformed_rate=0.03)


def long_forms(folder: Path) -> Path:
    """One row a result in TSV, Parquet and JSON lines; no evidence without a click."""
    definition = _simulated(folder, '[clicks]\nno_click = "skip"\n[qrels]\npolicy = "credible"\n')

    def write(records: list[Record], path: Path) -> Sequence[Path]:
        third = len(records) // 3
        return (
            logs.write_long_tsv(records[:third], path),
            logs.write_long_parquet(records[third : 2 * third], path),
            logs.write_long_json(records[2 * third :], path),
        )

    logs.rewrite(definition, write)
    return definition


def joined_pages(folder: Path) -> Path:
    """Gzip of wide CSV; pages of four results that continue a list, and votes of users."""
    text = '[clicks]\npages = "joined"\nvotes = "user"\n[log]\ntime_unit = "ms"\n'
    text += 'repeats = "keep"\n[log.fields]\ntime = "when"\nuser = "who"\nquery = "q"\n'
    text += 'results = "shown"\nclicks = "clicked_ranks"\n'
    definition = _simulated(folder, text, bot_rate=0.05)
    logs.rewrite(definition, lambda r, path: [logs.write_wide_csv(logs.split_pages(r, 4), path)])
    return definition


def click_objects(folder: Path) -> Path:
    """JSON lines of objects with times of clicks, of which the latest is the last."""
    text = '[clicks]\nlast = "time"\nvotes = "user"\nno_click = "skip"\n[log]\n'
    text += '[log.fields]\ntime = "at"\nuser = "who.id"\nresults = "hits"\n'
    definition = _simulated(folder, text)
    logs.rewrite(definition, lambda records, path: [logs.write_objects(records, path)])
    return definition


def document_ids(folder: Path) -> Path:
    """Ids instead of addresses in log and crawl, flags instead of ranks."""
    text = f'[log]\naddress = "{ADDRESS}"\nclick_form = "flags"\n[crawl]\naddress = "{ADDRESS}"\n'
    definition = _simulated(folder, text + '[select]\nanonymity = "impressions"\n')
    ids = _crawl_of_ids(folder)
    logs.rewrite(definition, lambda records, path: [logs.write_flags(records, path, ids)])
    return definition


def sessions(folder: Path) -> Path:
    """Actions of sessions; their queries are numbers, which match no topic."""
    text = '[log]\nformat = "yandex"\nbot_rate = 50\nbot_alike = 5\n'
    definition = _simulated(folder, text)
    ids = _crawl_of_ids(folder)
    logs.rewrite(definition, lambda records, path: [logs.write_actions(records, path, ids)])
    return definition


def malformed(folder: Path) -> Path:
    """Malformed records of every kind, repeated impressions, programs, a truncated file."""
    definition = _simulated(folder, "[log]\nbot_rate = 30\n", impressions=1800)

    def write(records: list[Record], path: Path) -> Sequence[Path]:
        third = len(records) // 3
        return (
            faulty.write_faulty_json(records[:third], path),
            faulty.write_faulty_parquet(records[third : 2 * third], path),
            faulty.write_truncated(records[2 * third :], path),
        )

    logs.rewrite(definition, write)
    return definition


def malformed_rows(folder: Path) -> Path:
    """Malformed rows of the long format."""
    definition = _simulated(folder, "", impressions=500)
    logs.rewrite(definition, lambda records, path: [faulty.write_faulty_long(records, path)])
    return definition


def malformed_cells(folder: Path) -> Path:
    """Malformed lines of CSV without a header, whose lists are written as Python does."""
    text = '[log]\nformat = "csv"\ncolumns = ["time", "user", "query", "results", "clicks"]\n'
    definition = _simulated(folder, text, impressions=500)
    logs.rewrite(definition, lambda records, path: [faulty.write_faulty_cells(records, path)])
    return definition


def verdicts(folder: Path) -> Path:
    """Filters of queries, users and documents, merged labels, judgements and fitted cuts."""
    definition = _simulated(folder, "")
    add_files(definition)
    return definition


def _simulated(folder: Path, text: str, **changes: object) -> Path:
    """A world with the text appended to its definition."""
    builder.simulate(folder, SimulationParameters.model_validate(SMALL.model_dump() | changes))
    definition = folder / "workflow.toml"
    definition.write_text(definition.read_text("utf-8") + "\n" + text + NO_EXPORT, "utf-8")
    return definition


def _crawl_of_ids(folder: Path) -> dict[str, int]:
    """Replace the addresses in the crawls of a world by numbers; the numbers by address."""
    ids: dict[str, int] = {}
    for path in sorted((folder / "crawls").glob("*.jsonl.gz")):
        pages = logs.read_records(path)
        for page in pages:
            page["url"] = ids.setdefault(page["url"], 1000 + len(ids))
        text = "".join(json.dumps(page) + "\n" for page in pages)
        path.write_bytes(gzip.compress(text.encode(), mtime=0))
    return ids


World = Callable[[Path], Path]
WORLDS: dict[str, tuple[World, str | None]] = {
    "few-results": (few_results, None),
    "qwant-parquet": (qwant_parquet, None),
    "long-forms": (long_forms, None),
    "joined-pages": (joined_pages, None),
    "click-objects": (click_objects, None),
    "document-ids": (document_ids, None),
    "sessions": (sessions, "log"),
    "malformed": (malformed, None),
    "malformed-rows": (malformed_rows, "log"),
    "malformed-cells": (malformed_cells, "log"),
    "verdicts": (verdicts, None),
}
"""Every world by name, and the last stage of its build; None: all."""
