"""Changes of construction: what an organiser, a crawler or the export of a log does otherwise."""

from tests.truth.month import Draw, World, host_of


def lose_pages(world: World, draw: Draw) -> None:
    """The crawl lacks 30 % of its pages."""
    world.crawl = [page for page in world.crawl if draw.random() >= 0.3]


def lose_hosts(world: World, draw: Draw) -> None:
    """The crawl lacks a third of its hosts."""
    hosts = sorted({host_of(page["url"]) for page in world.crawl})
    lost = set(draw.sample(hosts, len(hosts) // 3))
    world.crawl = [page for page in world.crawl if host_of(page["url"]) not in lost]


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
    """The crawl has an English page for every second French one, on the same hosts."""
    for number in range(len(world.crawl) // 2):
        sentences = [
            f"{draw.choice(ENGLISH)} {draw.choice(VERBS)} {draw.choice(OBJECTS)} with number {n}."
            for n in (draw.randrange(10**6) for _ in range(12))
        ]
        first = world.crawl[number]
        url = f"https://{host_of(first['url'])}/english/page-{number}"
        new = {"url": url, "title": f"Page {number}", "text": " ".join(sentences)}
        world.crawl.append({**first, **new})


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


def lower_texts(world: World, _: Draw) -> None:
    """Texts are stored in lower case."""
    for page in world.crawl:
        page["text"] = page["text"].lower()


def shift_clicks(world: World, _: Draw) -> None:
    """The clicks of an impression are recorded for the next one."""
    clicks = [impression["clicks"] for impression in world.log]
    for impression, others in zip(world.log, [clicks[-1], *clicks], strict=False):
        ranks = len(impression["results"])
        impression["clicks"] = [rank for rank in others if rank <= ranks]


def reverse_lists(world: World, _: Draw) -> None:
    """Result lists are recorded from the last result to the first."""
    for impression in world.log:
        impression["results"].reverse()
