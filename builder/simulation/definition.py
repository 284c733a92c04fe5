"""Writes the topic table and the definition of a collection that is built from simulated data."""

from collections.abc import Sequence
from itertools import count
from pathlib import Path

from builder.simulation.calendar import Month

TOPIC_HEADER = "topic_id\tlabel\taliases\tlanguage\tsource\n"


def write_topics(out: Path, topics: Sequence[tuple[str, str, str]]) -> None:
    """Write the topic table `topics.tsv`.

    Args:
        out: Output folder.
        topics: Id, label and alias of each topic; the alias may be empty.
    """
    lines = [f"{topic_id}\t{label}\t{alias}\tfr\tsimulated\n" for topic_id, label, alias in topics]
    _write_with_backup(out / "topics.tsv", TOPIC_HEADER + "".join(lines))


def write_definition(
    out: Path,
    name: str,
    snapshots: Sequence[tuple[Month, str, str]],
    *,
    ignore_crawl_interval: bool = False,
    translation: str = "off",
) -> None:
    """Write the collection definition `workflow.toml`.

    Args:
        out: Output folder.
        name: Name of the collection.
        snapshots: Month, log path and crawl path of each snapshot.
        ignore_crawl_interval: Whether to accept pages fetched outside the month of the snapshot.
        translation: `embedded` to translate to English with the bundled model, or `off`.
    """
    languages = 'languages = ["fr", "en"]\n' if translation == "embedded" else ""
    collection = (
        "# Written by `longeval simulate`; every key is explained in docs/reference/definition.md\n"
        f'[collection]\nname = "{name}"\nversion = "0.1.0"\n'
        f'{languages}topics = "topics.tsv"\nlicence = "CC0-1.0"\n'
    )
    sections = [collection]
    if ignore_crawl_interval:
        sections.append('[crawl]\ninterval = "ignore"\n')
    if translation == "embedded":
        sections.append('[translate]\nmodel = "embedded"\n')
    sections += [
        f'[[snapshots]]\nname = "{month.name}"\n'
        f"start = {month.first_day}\nend = {month.next_month.first_day}\n"
        f'log = ["{_escape_toml(log)}"]\ncrawl = ["{_escape_toml(crawl)}"]\n'
        for month, log, crawl in snapshots
    ]
    _write_with_backup(out / "workflow.toml", "\n".join(sections))


def _write_with_backup(path: Path, text: str) -> None:
    """Write a text file; an existing file with other contents is renamed to `<name>.<n>.bak`."""
    if path.exists() and path.read_text("utf-8", errors="replace") != text:
        backups = (path.with_name(f"{path.name}.{number}.bak") for number in count(1))
        path.replace(next(backup for backup in backups if not backup.exists()))
    path.write_text(text, encoding="utf-8")


def _escape_toml(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
