"""Changes of the world: what sites, users and the search engine do otherwise."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.truth.month import Draw, Records, World, pages_of, subject_of


def halve_clicks(world: World, draw: Draw) -> None:
    """Half of the impressions lose their clicks."""
    for impression in world.log:
        if draw.random() < 0.5:
            impression["clicks"] = []


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
    subjects = sorted({subject_of(i) for i in world.log} - {""})
    less, more = draw.sample(subjects, 2)
    factors = {less: 0.08, more: 5.0}
    world.log = [
        copy
        for impression in world.log
        for copy in _times(impression, factors.get(subject_of(impression), 1.0), draw)
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


def wall_off(world: World, _: Draw) -> None:
    """Two large hosts show the first 300 characters of their texts, and ask for a subscription."""
    for page in pages_of(world, 2):
        page["text"] = f"{page['text'][:300]} Abonnez-vous pour lire la suite de cet article."


def end_hosts(world: World, _: Draw) -> None:
    """Two large hosts end after the month of the log and before the crawl."""
    ended = {page["url"] for page in pages_of(world, 2)}
    world.crawl = [page for page in world.crawl if page["url"] not in ended]


def end_pages(world: World, draw: Draw) -> None:
    """8 % of all pages end after the month of the log and before the crawl."""
    world.crawl = [page for page in world.crawl if draw.random() >= 0.08]


def add_template(world: World, _: Draw) -> None:
    """All pages of five hosts get a menu of 200 words."""
    menu = " ".join(f"rubrique{n}" for n in range(200))
    for page in pages_of(world, 5):
        page["text"] = f"{page['text']}\n{menu}"


def misread_hosts(world: World, _: Draw) -> None:
    """Two large hosts declare a wrong encoding."""
    for page in pages_of(world, 2):
        page["text"] = page["text"].encode().decode("latin-1")


def copy_pages(world: World, _: Draw) -> None:
    """Thirty new hosts copy 200 pages of others."""
    for number, page in enumerate(world.crawl[:200]):
        world.crawl.append({**page, "url": f"https://copie{number % 30}.example/{number}"})


def move_hosts(world: World, _: Draw) -> None:
    """Three large hosts move to another domain."""
    moved = {
        p["url"]: p["url"].replace(".example/", ".nouveau.example/") for p in pages_of(world, 3)
    }
    for page in world.crawl:
        page["url"] = moved.get(page["url"], page["url"])
    for impression in world.log:
        impression["results"] = [moved.get(url, url) for url in impression["results"]]


def ask_one_query(world: World, draw: Draw) -> None:
    """New users ask one query, which accounts for 40 % of all impressions."""
    query, _ = Counter(i["query"] for i in world.log).most_common(30)[-1]
    asked = [impression for impression in world.log if impression["query"] == query]
    for number in range(len(world.log) * 2 // 3):
        world.log.append({**draw.choice(asked), "user": f"viral-{number}"})


def send_bots(world: World, draw: Draw) -> None:
    """500 bots ask a third of all queries, and click on nothing."""
    first = {impression["query"]: impression for impression in world.log}
    asked = sorted(first)
    for number in range(len(world.log) // 2):
        bot = {"user": f"bot-{number % 500}", "clicks": []}
        world.log.append({**first[draw.choice(asked)], **bot})


def lengthen_queries(world: World, _: Draw) -> None:
    """Every third query is spoken to an assistant, with five more words."""
    for impression in world.log:
        if len(impression["query"]) % 3 == 0:
            impression["query"] = f"dis moi s'il te plait {impression['query']}"


def show_own_pages(world: World, draw: Draw) -> None:
    """The engine shows a page of its own, which is not in the crawl, above all results."""
    for impression in world.log:
        own = f"https://verticale.example/{impression['query'].replace(' ', '-')}"
        impression["results"] = [own, *impression["results"][:9]]
        clicks = [rank + 1 for rank in impression["clicks"] if rank < 10]
        impression["clicks"] = [1] if draw.random() < 0.3 else clicks


def answer_queries(world: World, draw: Draw) -> None:
    """The engine answers queries above the results: most clicks on the first rank are lost."""
    for impression in world.log:
        if draw.random() < 0.9:
            impression["clicks"] = [rank for rank in impression["clicks"] if rank > 1]


def _times(impression: dict[str, Any], factor: float, draw: Draw) -> Records:
    whole = int(factor) + (draw.random() < factor % 1)
    user = impression.get("user")
    return [
        impression if n == 0 or user is None else {**impression, "user": f"{user}-{n}"}
        for n in range(whole)
    ]
