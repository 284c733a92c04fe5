"""Definitions drawn by seed, and worlds to build by them: what a person may write, at its extremes.

A world of a few documents is built by one definition, and by another one into the same folder. That
must be byte for byte what the second alone makes in an empty folder, with other memory and threads,
and have no error. A definition or a world that is refused is told in one line. Values are drawn
from the bounds of the parameters themselves, so that a new parameter is drawn, too.
"""

import json
import random
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic.fields import FieldInfo

import builder
from builder import LongEvalError, SimulationParameters
from builder.parameters import StageParameters

SKIPPED = {"verdicts", "translate"}
"""Sections that need files, or take long."""
GIVEN: dict[str, tuple[Any, ...]] = {
    "log.time_zone": ("UTC", "Europe/Paris", "Asia/Kathmandu"),
    "crawl.time_zone": ("UTC", "America/St_Johns"),
    "documents.sample_seed": ("", "é\"\\\n'x"),
    "split.seed": ("", "é\"\\\n'x"),
    "qrels.cuts": ([0.01, 1.0], [0.3, 0.31]),
    "qrels.shares": ([0.5, 0.3, 0.2], [0.98, 0.01, 0.01]),
    "select.stop_lists": (["stop.txt"],),
    "documents.deny": (["deny.txt"],),
    "documents.allow": (["deny.txt"],),
}
"""Values of parameters that are no number and no choice."""
FILES = {"stop.txt": "prix\nConseil\n", "deny.txt": "le-dossier.example\n"}
WRITTEN = {"log.click_form", "log.time_unit", "crawl.time_unit", "crawl.format"}
"""What says how files are written: it is not drawn."""
MOST = 10**6
OFTEN = 0.25
"""How often a parameter is not its default."""

Sections = dict[str, dict[str, Any]]


def draw_definition(draw: random.Random) -> Sections:
    """Sections with some of their parameters."""
    found: Sections = {}
    for section, field in StageParameters.model_fields.items():
        if section in SKIPPED:
            continue
        for name, inner in type(field.default).model_fields.items():
            values = _values(f"{section}.{name}", inner)
            if values and draw.random() < OFTEN:
                found.setdefault(section, {})[name] = draw.choice(values)
    return found


def _values(key: str, field: FieldInfo) -> list[Any]:
    """What a parameter may be; nothing where it is not drawn."""
    if key in WRITTEN:
        return []
    return [*GIVEN.get(key, ()), *_of_kind(field.annotation, field.metadata, field.default)]


def _of_kind(kind: Any, metadata: list[Any], default: Any) -> list[Any]:
    """The extremes of a kind of values, and some between them."""
    if get_origin(kind) is Literal:
        return list(get_args(kind))
    if get_origin(kind) in (Union, UnionType):
        inner = next(each for each in get_args(kind) if each is not type(None))
        metadata = [*metadata, *getattr(inner, "__metadata__", ())]
        for each in list(metadata):
            metadata += getattr(each, "metadata", ())
        kind = getattr(inner, "__origin__", inner)
    if kind is bool:
        return [True, False]
    if kind not in (int, float):
        return []
    step = 1 if kind is int else 1e-3
    low, high = 0, MOST
    for bound in metadata:
        low = bound.ge if isinstance(bound, Ge) else low
        low = bound.gt + step if isinstance(bound, Gt) else low
        high = bound.le if isinstance(bound, Le) else high
        high = bound.lt - step if isinstance(bound, Lt) else high
    middle = low if default is None else default
    drawn = (low, low + step, low + 5 * step, middle / 2, 2 * middle, high)
    return sorted({kind(value) for value in drawn if low <= value <= high})


def draw_world(draw: random.Random) -> SimulationParameters:
    """A world of a few documents."""
    rates = ("added", "removed", "edited", "moved", "refetched", "reshuffled", "variants")
    rates += ("off_topic", "personal_rate", "bot_rate", "anonymous", "tracked", "malformed_rate")
    return SimulationParameters(
        seed=draw.randrange(MOST),
        snapshots=draw.choice((1, 2, 3)),
        documents=draw.choice((2, 10, 60, 300)),
        queries=draw.choice((2, 10, 40)),
        impressions=draw.choice((5, 100, 3000)),
        results_per_page=draw.choice((1, 3, 10, 30)),
        sentences=draw.choice((1, 3, 12)),
        crawl_format=draw.choice(("jsonl", "qwant", "warc")),
        log_format=draw.choice(("jsonl", "parquet")),
        **{name: draw.choice((0.0, 0.3, 1.0)) for name in rates if draw.random() < OFTEN},
    )


def try_all(count: int, first: int = 0) -> dict[str, int]:
    """How the definitions of some seeds ended: `built` or `refused`; see `try_definition`."""
    return dict(Counter(try_definition(seed) for seed in range(first, first + count)))


def try_definition(seed: int) -> str:
    """How the definitions of a seed ended.

    Raises:
        AssertionError: what was built is not the same twice, or has errors; or a crash.
    """
    try:
        with TemporaryDirectory() as name:
            return _tried(Path(name), random.Random(seed))
    except Exception as error:
        raise AssertionError(f"definition {seed}: {error!r}") from error


def _tried(folder: Path, draw: random.Random) -> str:
    world = folder / "world"
    try:
        builder.simulate(world, draw_world(draw))
    except LongEvalError:
        return "refused"
    for name, text in FILES.items():
        (world / name).write_text(text)
    plain = (world / "workflow.toml").read_text("utf-8")
    _build(world, plain, draw, folder / "used")
    definition = draw_definition(draw)
    outs = (folder / "used", folder / "fresh")
    used, fresh = (_build(world, plain, draw, out, definition) for out in outs)
    names = used.keys() | fresh.keys()
    differ = sorted(name for name in names if used.get(name) != fresh.get(name))
    assert not differ, differ
    if not fresh:
        return "refused"
    errors = [found for found in builder.validate(folder / "fresh") if found.severity == "error"]
    assert not errors, errors
    return "built"


def _build(
    world: Path, plain: str, draw: random.Random, out: Path, definition: Sections | None = None
) -> dict[str, bytes]:
    """The files of a version that was built, but for the manifest; none where it is refused."""
    for section, values in (draw_definition(draw) if definition is None else definition).items():
        lines = (f"{name} = {json.dumps(value)}\n" for name, value in values.items())
        plain += f"\n[{section}]\n{''.join(lines)}"
    (world / "workflow.toml").write_text(plain, "utf-8")
    memory, threads = draw.choice(("256MiB", "2GiB")), draw.choice((1, 2))
    try:
        report = builder.build(
            world / "workflow.toml", out, allow_empty=True, memory=memory, threads=threads
        )
    except LongEvalError:
        return {}
    assert report.version is not None
    files = (path for path in report.version.rglob("*") if path.is_file())
    found = {str(path.relative_to(report.version)): path.read_bytes() for path in files}
    del found["manifest.json"]
    return found
