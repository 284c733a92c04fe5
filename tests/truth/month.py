"""The raw data of one simulated month, and what its records say."""

import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

Records = list[dict[str, Any]]
Draw = random.Random


@dataclass
class World:
    """The raw data of one month.

    Args:
        crawl: Pages of the crawl.
        log: Impressions.
    """

    crawl: Records
    log: Records


def host_of(url: str) -> str:
    """Host of a URL; empty if it has none."""
    return url.split("/")[2] if url.count("/") > 1 else ""


def largest_hosts(world: World, count: int) -> list[str]:
    """The hosts with the most pages in the crawl."""
    pages = Counter(host_of(page["url"]) for page in world.crawl)
    return [host for host, _ in pages.most_common(count)]


def pages_of(world: World, hosts: int) -> Records:
    """The pages of the largest hosts."""
    largest = set(largest_hosts(world, hosts))
    return [page for page in world.crawl if host_of(page["url"]) in largest]


def subject_of(impression: dict[str, Any]) -> str:
    """Subject of the first result, by its URL; empty if there is none."""
    parts = impression["results"][0].split("/") if impression["results"] else []
    return parts[3] if len(parts) > 4 else ""
