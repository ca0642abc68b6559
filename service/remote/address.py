"""Addresses of a service and of its collections."""

from urllib.parse import parse_qsl, quote, unquote, urlsplit

from audiosim.errors import InputError

COLLECTIONS = "/v1/collections"


def parse_address(text: str) -> tuple[str, str | None, str | None]:
    """Root of the service, and names of the collection and the model in an address; None for those it lacks."""
    try:
        parts = urlsplit(text)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
    except ValueError:
        raise _not_an_address(text) from None
    prefix, collections, collection = parts.path.rstrip("/").partition(COLLECTIONS)
    named = collection[1:] if collections else None
    wrong_name = named is not None and (not named or "/" in named)
    if parts.scheme not in {"http", "https"} or not parts.netloc or wrong_name or set(query) - {"model"}:
        raise _not_an_address(text)
    root = f"{parts.scheme}://{parts.netloc}{prefix}"
    return root, None if named is None else unquote(named), query.get("model")


def path_of(collection: str, *more: str) -> str:
    """Path of a collection of a service, or a path below it."""
    return "/".join([COLLECTIONS, quote(collection, safe=""), *more])


def query_of(model: str | None, cutoff: int | None) -> dict[str, str]:
    """Query that names a model and a cutoff, if given."""
    query = {"model": model, "cutoff": None if cutoff is None else str(cutoff)}
    return {name: value for name, value in query.items() if value is not None}


def _not_an_address(text: str) -> InputError:
    return InputError(
        f"expected the address of a service, such as http://127.0.0.1:8000, or of a collection there, "
        f"http://127.0.0.1:8000/v1/collections/NAME, either with ?model=NAME, got {text!r}"
    )
