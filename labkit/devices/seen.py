"""Record of the values that count as seen by the clients that poll an alias (`devices.polls` has the rule)."""

from __future__ import annotations

Key = tuple[str, str, str]  # product, identity, alias
Mark = tuple[str, str, str, int, int]  # key, timestamp, number of the value

MOST_MARKS = 100  # kept in memory for one alias
MOST_ANSWERS = 5  # answers to polls that named the value's own second, after which the value counts as seen


class SeenValues:
    """Marks of the values that count as seen; and of other values, counts of the answers to polls for their second.

    Marks stay in memory until their alias is written next, there are MOST_MARKS of it, or the lab stops: a mark is not
    worth a commit. A crash forgets those in memory and all counts; a value may then answer once more.

    marks: timestamp → number of the value, of each alias; answers: timestamp → number of the value, answers to it;
    generation: another number once everything was forgotten.
    """

    def __init__(self) -> None:
        self.marks: dict[Key, dict[int, int]] = {}
        self.answers: dict[Key, dict[int, tuple[int, int]]] = {}
        self.generation = 0

    def add(self, key: Key, timestamp: int, number: int) -> None:
        """Mark a value as seen, unless a later one of that second is marked."""
        marks = self.marks.setdefault(key, {})
        if marks.get(timestamp, -1) < number:
            marks[timestamp] = number
        if self.answers.get(key, {}).get(timestamp, (None, 0))[0] == number:
            self.replace(key, timestamp)

    def count_answer(self, key: Key, timestamp: int, number: int) -> None:
        """Count an answer to a poll that named the value's own second."""
        known, count = self.answers.get(key, {}).get(timestamp, (number, 0))
        if known > number or self.marks.get(key, {}).get(timestamp, -1) >= number:
            return  # the value was replaced meanwhile, or is seen
        count = count + 1 if known == number else 1
        if count >= MOST_ANSWERS:
            self.add(key, timestamp, number)
            return
        answers = self.answers.setdefault(key, {})
        answers[timestamp] = number, count
        if len(answers) > MOST_MARKS:
            del answers[next(iter(answers))]  # that value may be answered more often

    def replace(self, key: Key, timestamp: int) -> None:
        """Drop the answers of a value that is replaced or seen."""
        answers = self.answers.get(key)
        if answers is not None and answers.pop(timestamp, None) is not None and not answers:
            del self.answers[key]

    def take_marks(self, key: Key) -> list[Mark]:
        """Remove and return the marks of an alias, to store them."""
        return [(*key, timestamp, number) for timestamp, number in self.marks.pop(key, {}).items()]

    def forget_all(self) -> None:
        """Clear the record: the database was emptied, or the platform lost its power."""
        self.generation += 1
        self.marks.clear()
        self.answers.clear()
