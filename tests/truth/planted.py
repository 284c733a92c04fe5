"""Changes of known cause: what an organiser changes, and what the web and its users change.

A change works on the second month of a simulated world: its crawl and its log, as parsed records
in order (`World`), or its definition, as lines that are appended or topics that are struck. Each
draws from a generator of its own, so that the same seed plants the same change.
"""

import random
from collections.abc import Callable
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


@dataclass(frozen=True)
class Cause:
    """One planted change.

    Args:
        name: What happens.
        check: The check that must name it; None for a change of the world.
        change: Changes the raw data of the second month.
        definition: Lines for the definition by which the second month is built.
        struck: Topics that are struck from the list for the second month.
        shifted: Whether judgements are attached to the next query.
    """

    name: str
    check: str | None = None
    change: Callable[[World, Draw], None] | None = None
    definition: str = ""
    struck: int = 0
    shifted: bool = False


def lose_pages(world: World, draw: Draw) -> None:
    """The crawl lacks 30 % of its pages."""
    world.crawl = [page for page in world.crawl if draw.random() >= 0.3]


def lose_hosts(world: World, draw: Draw) -> None:
    """The crawl lacks a third of its hosts."""
    hosts = sorted({_host(page["url"]) for page in world.crawl})
    lost = set(draw.sample(hosts, len(hosts) // 3))
    world.crawl = [page for page in world.crawl if _host(page["url"]) not in lost]


def cut_texts(world: World, _: Draw) -> None:
    """Texts are cut at 400 characters."""
    for page in world.crawl:
        page["text"] = page["text"][:400]


def keep_tags(world: World, _: Draw) -> None:
    """Pages are stored as HTML."""
    for page in world.crawl:
        page["text"] = f"<div><p>{page['text']}</p></div>"


ENGLISH = ("The river", "Our garden", "This town", "A teacher", "The train", "Her brother")
VERBS = ("shows", "follows", "remembers", "opens", "carries", "explains")
OBJECTS = ("the old bridge", "every morning", "a quiet street", "the new school", "some bread")


def add_english(world: World, draw: Draw) -> None:
    """The crawl has as many English pages as 30 % of its French ones."""
    for number in range(len(world.crawl) * 3 // 10):
        sentences = [
            f"{draw.choice(ENGLISH)} {draw.choice(VERBS)} {draw.choice(OBJECTS)} with number {n}."
            for n in (draw.randrange(10**6) for _ in range(12))
        ]
        first = world.crawl[number]
        url = f"https://www.english.example/page-{number}"
        new = {"url": url, "title": f"Page {number}", "text": " ".join(sentences)}
        world.crawl.append({**first, **new})


def halve_clicks(world: World, draw: Draw) -> None:
    """Half of the impressions lose their clicks."""
    for impression in world.log:
        if draw.random() < 0.5:
            impression["clicks"] = []


def drop_clickless(world: World, _: Draw) -> None:
    """The log has only impressions with a click."""
    world.log = [impression for impression in world.log if impression["clicks"]]


def keep_first_click(world: World, _: Draw) -> None:
    """Only the first click of an impression is recorded."""
    for impression in world.log:
        impression["clicks"] = impression["clicks"][:1]


def move_clicks(world: World, _: Draw) -> None:
    """Each click is recorded one rank too low."""
    for impression in world.log:
        ranks = len(impression["results"])
        impression["clicks"] = [rank + 1 for rank in impression["clicks"] if rank < ranks]


def cut_lists(world: World, _: Draw) -> None:
    """The log has only the first five results of an impression."""
    for impression in world.log:
        impression["results"] = impression["results"][:5]
        impression["clicks"] = [rank for rank in impression["clicks"] if rank <= 5]


def weaken(factor: float) -> Callable[[World, Draw], None]:
    """Results attract less: each click stays with a probability."""

    def change(world: World, draw: Draw) -> None:
        for impression in world.log:
            impression["clicks"] = [c for c in impression["clicks"] if draw.random() < factor]

    return change


def add_noise(share: float) -> Callable[[World, Draw], None]:
    """A share of the impressions with clicks has as many clicks on other, random results."""

    def change(world: World, draw: Draw) -> None:
        for impression in world.log:
            clicks, ranks = impression["clicks"], len(impression["results"])
            if clicks and max(clicks) <= ranks and draw.random() < share:
                impression["clicks"] = draw.sample(range(1, ranks + 1), min(len(clicks), ranks))

    return change


def scale_traffic(factor: float) -> Callable[[World, Draw], None]:
    """Fewer impressions, or more of other users."""

    def change(world: World, draw: Draw) -> None:
        world.log = [copy for impression in world.log for copy in _times(impression, factor, draw)]

    return change


def shift_topics(world: World, draw: Draw) -> None:
    """One subject is asked for .08 times as often as before, another five times as often."""
    subjects = sorted({_subject(i) for i in world.log} - {""})
    less, more = draw.sample(subjects, 2)
    factors = {less: 0.08, more: 5.0}
    world.log = [
        copy
        for impression in world.log
        for copy in _times(impression, factors.get(_subject(impression), 1.0), draw)
    ]


def remove_pages(world: World, draw: Draw) -> None:
    """20 % of the pages are gone from the web: from the crawl and from result lists."""
    gone = {page["url"] for page in world.crawl if draw.random() < 0.2}
    world.crawl = [page for page in world.crawl if page["url"] not in gone]
    kept = []
    for impression in world.log:
        stays = [rank for rank, url in enumerate(impression["results"], 1) if url not in gone]
        places = {rank: place for place, rank in enumerate(stays, 1)}
        impression["clicks"] = [places[c] for c in impression["clicks"] if c in places]
        impression["results"] = [impression["results"][rank - 1] for rank in stays]
        if stays:
            kept.append(impression)
    world.log = kept


def rewrite_pages(world: World, draw: Draw) -> None:
    """20 % of the pages are written anew, from sentences of the whole crawl."""
    sentences = [s for page in world.crawl for s in page["text"].split(". ")]
    for page in world.crawl:
        if draw.random() < 0.2:
            page["text"] = ". ".join(draw.choices(sentences, k=draw.randint(6, 18))) + "."


def _times(impression: dict[str, Any], factor: float, draw: Draw) -> Records:
    whole = int(factor) + (draw.random() < factor % 1)
    user = impression.get("user")
    return [
        impression if n == 0 or user is None else {**impression, "user": f"{user}-{n}"}
        for n in range(whole)
    ]


def _host(url: str) -> str:
    return url.split("/")[2] if url.count("/") > 1 else ""


def _subject(impression: dict[str, Any]) -> str:
    parts = impression["results"][0].split("/") if impression["results"] else []
    return parts[3] if len(parts) > 4 else ""


FIXED_PRIOR = '[clicks]\nprior = "beta"\nprior_alpha = 4.0\nprior_beta = 4.0\n'

CAUSES = (
    Cause("30 % of pages missing", "crawl_holds_shown", lose_pages),
    Cause("a third of hosts missing", "hosts_are_crawled", lose_hosts),
    Cause("texts cut at 400 characters", "texts_end_freely", cut_texts),
    Cause("two topics struck", "topics_are_the_same", struck=2),
    Cause("minimum of users 5 -> 20", "floors_stand", definition="[select]\nmin_users = 20\n"),
    Cause("grade thresholds moved", "cuts_stand", definition="[qrels]\ncuts = [0.25, 0.55]\n"),
    Cause("another prior", "priors_stand", definition=FIXED_PRIOR),
    Cause("another click model", "priors_stand", definition='[clicks]\nmodel = "pbm"\n'),
    Cause("qrels shifted by one query", "pages_mention_queries", shifted=True),
    Cause("pages as HTML", "texts_are_read_alike", keep_tags),
    Cause("language filter off", "languages_stand", add_english),
    Cause("impressions without a click left out", "clicks_are_recorded", drop_clickless),
    Cause("only the first click recorded", "clicks_are_recorded", keep_first_click),
    Cause("clicks one rank too low", "clicks_are_recorded", move_clicks),
    Cause("result lists cut at rank 5", "lists_are_recorded", cut_lists),
    Cause("clicks x .5", None, halve_clicks),
    *(Cause(f"attractiveness x {f}", None, weaken(f)) for f in (0.5, 0.6, 0.7)),
    *(Cause(f"noise {s:.0%}", None, add_noise(s)) for s in (0.1, 0.3, 0.7)),
    *(Cause(f"traffic x {f}", None, scale_traffic(f)) for f in (0.33, 0.5, 3.0)),
    Cause("topical shift", None, shift_topics),
    Cause("20 % of pages gone", None, remove_pages),
    Cause("20 % of pages rewritten", None, rewrite_pages),
    Cause("nothing", None),
)
