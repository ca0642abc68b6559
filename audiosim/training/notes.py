"""Notes on a training, kept in its report."""

from collections.abc import Callable


class Notes:
    """Sentences for the report, also shown when they are added."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.said: list[str] = []
        self._say = say

    def add(self, *sentences: str) -> None:
        for sentence in sentences:
            self.said.append(sentence)
            self._say(sentence)
