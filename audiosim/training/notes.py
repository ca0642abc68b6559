"""Sentences about a training that its report keeps."""

from collections.abc import Callable


class Notes:
    """Sentences for the report, also shown as they arise."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.said: list[str] = []
        self._say = say

    def add(self, *sentences: str) -> None:
        for sentence in sentences:
            self.said.append(sentence)
            self._say(sentence)
