"""Marks: changes of a lab, with their times."""

from labkit.core.marks import MAX_MARKS, Mark, Marks


def test_marks_have_their_times_and_the_oldest_are_dropped() -> None:
    now = [0.0]
    marks = Marks(lambda: now[0])
    seen: list[Mark] = []
    stop = marks.watch(seen.append)
    marks.add("restart", "at once")
    now[0] = 5.0
    marks.add("release", "fw")
    assert list(marks) == seen == [Mark(0.0, "restart", "at once"), Mark(5.0, "release", "fw")]
    stop()
    for number in range(MAX_MARKS):
        marks.add("fault", str(number))
    assert len(seen) == 2
    assert len(marks) == MAX_MARKS
    assert next(iter(marks)).text == "0"
    marks.clear()
    assert not len(marks)
