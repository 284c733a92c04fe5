"""The files that make a world buildable: the topic table and the workflow definition."""

from collections.abc import Sequence
from pathlib import Path

from builder.simulation.calendar import Month

HEADER = "topic_id\tlabel\taliases\tlanguage\tsource\n"


def write_topics(out: Path, topics: Sequence[tuple[str, str, str]]) -> None:
    """Write `topics.tsv` from (id, label, aliases)."""
    lines = [
        f"{identifier}\t{label}\t{aliases}\tfr\tsimulated\n"
        for identifier, label, aliases in topics
    ]
    (out / "topics.tsv").write_text(HEADER + "".join(lines), encoding="utf-8")


def write_definition(
    out: Path,
    name: str,
    snapshots: Sequence[tuple[Month, str, str]],
    *,
    any_page_time: bool = False,
    translation: str = "off",
) -> None:
    """Write `workflow.toml`.

    Args:
        out: The world's folder.
        name: Name of the collection.
        snapshots: Month, path of the log and path of the crawl of each snapshot.
        any_page_time: Whether pages may have been fetched outside their month.
        translation: `embedded` for English by the model that is shipped.
    """
    languages = 'languages = ["fr", "en"]\n' if translation == "embedded" else ""
    head = (
        "# Written by `longeval simulate`; every key is explained in docs/reference/definition.md\n"
        f'[collection]\nname = "{name}"\nversion = "0.1.0"\n'
        f'{languages}topics = "topics.tsv"\nlicence = "CC0-1.0"\n'
    )
    parts = [head]
    if any_page_time:
        parts.append('[crawl]\ninterval = "ignore"\n')
    if translation == "embedded":
        parts.append('[translate]\nmodel = "embedded"\n')
    parts += [
        f'[[snapshots]]\nname = "{month.name}"\n'
        f"start = {month.first_day}\nend = {month.next.first_day}\n"
        f'log = ["{_toml(log)}"]\ncrawl = ["{_toml(crawl)}"]\n'
        for month, log, crawl in snapshots
    ]
    (out / "workflow.toml").write_text("\n".join(parts), encoding="utf-8")


def _toml(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
