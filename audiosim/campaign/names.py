"""Names typed by assessors: spellings that differ in case or Unicode form count as one name."""

import unicodedata

UNSEEN = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")


def normal_name(said: str) -> str:
    """A name in Unicode's compatibility form (NFKC), without invisible characters, with single spaces."""
    shown = "".join(sign for sign in unicodedata.normalize("NFKC", said) if unicodedata.category(sign) not in UNSEEN)
    return " ".join(shown.split())


def name_key(said: str) -> str:
    """Key shared by all spellings of a name that differ only in case and form."""
    return unicodedata.normalize("NFKC", normal_name(said).casefold())
