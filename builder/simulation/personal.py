"""Creates query texts with fictitious personal data, such as IBANs with valid check digits."""

from builder.simulation.rng import Rng

FIRST_NAMES = ("camille", "louise", "jules", "adam", "lina", "hugo", "nora", "paul")
LAST_NAMES = ("martin", "petit", "durand", "moreau", "leroy", "garnier", "faure", "lambert")
PERSONAL_DATA_KINDS = ("email", "phone", "iban", "nir", "card", "ip")


def create_personal_data_query(seed: int, index: int) -> tuple[str, str]:
    """Return the text of a query with fictitious personal data, and the kind of data.

    Args:
        seed: Random seed.
        index: Index of the query, which determines the kind of data.
    """
    rng = Rng(seed, index, 77)
    kind = PERSONAL_DATA_KINDS[index % len(PERSONAL_DATA_KINDS)]
    name = f"{rng.choice(FIRST_NAMES)} {rng.choice(LAST_NAMES)}"
    return f"{name} {_create_personal_data(kind, name, rng)}", kind


def _create_personal_data(kind: str, name: str, rng: Rng) -> str:
    if kind == "email":
        return f"{name.replace(' ', '.')}{rng.randrange(100)}@courriel.example"
    if kind == "phone":
        return "06 " + " ".join(f"{rng.randrange(100):02d}" for _ in range(4))
    if kind == "iban":
        return _create_iban(rng)
    if kind == "nir":
        return _create_nir(rng)
    if kind == "card":
        return _create_card_number(rng)
    return f"8.8.{rng.randrange(256)}.{1 + rng.randrange(254)}"


def _create_digits(rng: Rng, count: int) -> str:
    return "".join(str(rng.randrange(10)) for _ in range(count))


def _create_iban(rng: Rng) -> str:
    account = _create_digits(rng, 23)
    check = 98 - int(account + "1527" + "00") % 97
    iban = f"FR{check:02d}{account}"
    return " ".join(iban[i : i + 4] for i in range(0, len(iban), 4))


def _create_nir(rng: Rng) -> str:
    """Return a random French social security number (NIR) with valid check digits."""
    sex, year = 1 + rng.randrange(2), 50 + rng.randrange(50)
    month, department = 1 + rng.randrange(12), 10 + rng.randrange(80)
    number = f"{sex}{year}{month:02d}{department}" + _create_digits(rng, 6)
    return f"{number}{97 - int(number) % 97:02d}"


def _create_card_number(rng: Rng) -> str:
    """Return a random payment card number with a valid Luhn check digit."""
    number = "4" + _create_digits(rng, 14)
    total = sum(sum(divmod(2 * int(d), 10)) for d in number[::2]) + sum(map(int, number[1::2]))
    return f"{number}{-total % 10}"
