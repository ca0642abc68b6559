"""Names of assessors who typed them: one person's name is one name, in whatever case and form."""

import unicodedata

UNSEEN = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")


def normal_name(said: str) -> str:
    """A name in Unicode's compatibility form (NFKC), without characters that nobody sees, its spaces single."""
    shown = "".join(sign for sign in unicodedata.normalize("NFKC", said) if unicodedata.category(sign) not in UNSEEN)
    return " ".join(shown.split())


def name_key(said: str) -> str:
    """Key that two spellings of one name have in common; case does not count."""
    return unicodedata.normalize("NFKC", normal_name(said).casefold())
