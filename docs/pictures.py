"""Draw the pictures of the manual: `python docs/pictures.py demo`, after `make demo`.

In: the folder of `longeval demo`. Out: `docs/images/*.png` in light colors, as headless Chromium
(`apt-get install chromium`, or `CHROMIUM`) renders the reports and charts of the project.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl
from markupsafe import Markup
from PIL import Image, ImageChops

import builder
from builder.evaluation import (
    AttributedScoreChange,
    EvaluationParameters,
    attribute_score_changes,
    evaluate_paths,
    evaluation_trend_report,
    html_report,
    trend_chart,
)
from builder.reporting.charts import (
    Chart,
    LinearScale,
    format_tick,
    series_color,
)
from builder.reporting.parts import BarSegment, figure, grid, stacked_bars
from builder.reporting.render import read_template_file

IMAGES = Path(__file__).parent / "images"
MEASURE = "nDCG@10"
MARGIN, COLORS, MAX_BYTES = 20, 128, 120_000
CHROMIUM = (
    os.environ.get("CHROMIUM", "chromium"),
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--hide-scrollbars", "--virtual-time-budget=5000"),
)
SECTIONS = {
    "drift-pages": ("pages", 690),
    "drift-queries": ("queries", 590),
    "click-diagnostics": ("clicks", 810),
}
"""Sections of `report.html` and the height at which their pictures end."""


def main(demo: Path) -> None:
    """Draw every picture from the collection of a demo folder."""
    (version,) = (demo / "collection").glob("[0-9]*")
    report = (version / "report.html").read_text("utf-8")
    draw_page(report, "report", 1080, 1000)
    for name, (section, height) in SECTIONS.items():
        draw_body(_section(report, section), name, height)
    with tempfile.TemporaryDirectory() as folder:
        runs = write_runs(version, Path(folder))
        snapshots = sorted((version / "snapshots").iterdir())
        qrels = {snapshot.name: snapshot / "qrels.parquet" for snapshot in snapshots}
        parameters = EvaluationParameters(measures=(MEASURE,), pivot="bm25")
        evaluation = evaluate_paths(qrels, runs, parameters)
        draw_body(_section(html_report(evaluation), "full"), "evaluation", 400)
        draw_page(trend_chart(evaluation_trend_report(evaluation)), "trend", width=700)
        changes = attribute_score_changes(
            qrels, version / "changes/documents.parquet", runs[:1], [MEASURE]
        )
    draw_body(grid(map(attribution_figure, changes)), "attribution")
    draw_body(funnel_figure(version), "funnel")
    draw_explorer(version)


def write_runs(version: Path, folder: Path) -> list[Path]:
    """Write runs of BM25, and of BM25 cut off at five documents, for every snapshot."""
    depths = {"bm25": "1000", "shallow": "5"}
    for name, depth in depths.items():
        command = [sys.executable, "-m", "builder", "baseline", str(version), "--depth", depth]
        subprocess.run([*command, "--out", str(folder / name), "--quiet"], check=True)
    return [folder / name for name in depths]


def attribution_figure(changed: AttributedScoreChange) -> Markup:
    """Draw the change of a mean score and what contributes to it as vertical bars."""
    part = changed.attribution
    bars = {"change": part.change, **part.contributions, "residual": part.statistics_and_system}
    drawing = Chart(f"{changed.system}, {changed.measure}: {' to '.join(changed.pair)}")
    left, right, top, bottom = drawing.plot_area
    values = [value or 0.0 for value in bars.values()]
    scale = LinearScale([*values, 0.0], bottom, top)
    drawing.add_axis(scale, format_tick, is_vertical=True)
    step = (right - left) / len(bars)
    for index, (name, value) in enumerate(zip(bars, values, strict=True)):
        x, y = left + index * step, scale(max(value, 0.0))
        height = scale(min(value, 0.0)) - y
        color = series_color(0 if index else 1)
        drawing.bars.append((x + 8, y, step - 16, height, color, f"{value:.4f}"))
        drawing.labels.append((x + step / 2, bottom + 16, name, "middle", ""))
    drawing.rules.append((left, scale(0.0), right, scale(0.0), "ideal"))
    return drawing.render()


def funnel_figure(version: Path) -> Markup:
    """Draw how many queries of the first snapshot remain after each rule that removed one."""
    first = min((version / "snapshots").iterdir())
    steps = builder.open_collection(version).manifest["selection"][first.name]
    start = steps[0]["remaining"] + steps[0]["left_out"]
    rows = [("distinct queries", [BarSegment("queries", start, "unchanged")])]
    rows += [
        (
            step["rule"].replace("_", " "),
            [
                BarSegment("kept", step["remaining"], "unchanged"),
                BarSegment("removed", step["left_out"], "removed"),
            ],
        )
        for step in steps
        if step["left_out"]
    ]
    return figure(f"Queries of {first.name}, rule by rule", stacked_bars(rows))


def draw_explorer(version: Path) -> None:
    """Draw the list of queries, the query with most changed grades, and an edited page."""
    collection = builder.open_collection(version)
    changed = pl.col("grade_from") != pl.col("grade_to")
    query = _most_frequent(collection.table("qrel_changes").filter(changed), "query_id")
    edited = collection.table("document_changes").filter(band="edited").sort("doc_id")
    page, *pair = edited.select("doc_id", "from_snapshot", "to_snapshot").head(1).collect().row(0)
    versions = "from={}&to={}".format(*pair)
    command = [sys.executable, "-m", "builder", "explore", str(version), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            address = server.stdout.readline().split()[0] if server.stdout else ""
            draw(f"{address}queries?sort=flips", "explore-queries", 700, 1180)
            draw(f"{address}query/{query}", "explore-query", 2210, 1180, top=960)
            draw(f"{address}page/{page}?{versions}", "explore-page", 1500, 1180, top=940)
        finally:
            server.terminate()


def _most_frequent(table: pl.LazyFrame, column: str) -> str:
    """Return the most frequent value of a column, the least of equally frequent ones."""
    counts = table.group_by(column).len().sort("len", column, descending=[True, False])
    return str(counts.head(1).collect()[column].item())


def draw_body(body: Markup | str, name: str, height: int | None = None, width: int = 880) -> None:
    """Draw a part of a report; `height` is where the picture ends, by default below its content."""
    style = read_template_file("report.css")
    main = f"<style>{style} main {{ padding: 10px }}</style><body><main>{body}</main>"
    draw_page(f'<!doctype html><meta charset="utf-8">{main}', name, height, width)


def draw_page(page: str, name: str, height: int | None = None, width: int = 880) -> None:
    """Draw an HTML page; see `draw`."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "page.html")
        source.write_text(page, "utf-8")
        draw(source.as_uri(), name, height, width)


def draw(address: str, name: str, height: int | None, width: int, top: int = 0) -> None:
    """Render an address in Chromium and write it as a PNG of few colors.

    Args:
        address: URL of the page.
        name: Name of the picture, without `.png`.
        height: Height in pixels; None for the height of the content.
        width: Width in pixels.
        top: Pixels to cut off at the top.

    Raises:
        ValueError: the picture has more than `MAX_BYTES` bytes.
    """
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "page.png")
        window = (f"--window-size={width},{height or 1200}", f"--user-data-dir={folder}/profile")
        shot = (*CHROMIUM, *window, f"--screenshot={target}", address)
        subprocess.run(shot, check=True, capture_output=True)
        image = Image.open(target).convert("RGB")
    image = image.crop((0, top, width, height or _content_end(image) + MARGIN))
    path = IMAGES / f"{name}.png"
    image.quantize(COLORS, Image.Quantize.MAXCOVERAGE).save(path, optimize=True)
    if path.stat().st_size > MAX_BYTES:
        raise ValueError(f"{path}: expected at most {MAX_BYTES} bytes, found {path.stat().st_size}")


def _content_end(image: Image.Image) -> int:
    """Return the row below the last pixel that differs from the background."""
    background = Image.new("RGB", image.size, image.getpixel((0, image.height - 1)))
    box = ImageChops.difference(image, background).getbbox()
    return box[3] if box else image.height


def _section(page: str, name: str) -> str:
    """Return a section of a report as HTML."""
    found = re.search(rf'<section id="{name}".*?</section>', page, re.DOTALL)
    if found is None:
        raise ValueError(f"expected a section {name!r} in the report, found none")
    return found[0]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
