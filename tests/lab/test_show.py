"""Records as a DataFrame."""

from __future__ import annotations

from labkit.control.journal import Entry
from labkit.lab.show import entries_frame


def test_a_frame_has_a_row_for_each_record() -> None:
    detail = {"reason": "unknown path"}
    request = Entry(1, 100_000_000, "request", "p", 1, "GET /", None, 404, 12, detail)
    event = Entry(2, 100_000_000, "event", "p", 2, "data_in", 1, None, None, None)
    frame = entries_frame([request, event])
    assert list(frame.columns) == ["time", "kind", "actor", "summary", "status", "size", "cause", "detail"]
    assert frame.index.tolist() == [1, 2]
    assert frame.time.map(str).tolist() == ["1970-01-01 00:01:40+00:00"] * 2
    assert [str(frame[name].dtype) for name in ("status", "size", "cause")] == ["Int64"] * 3
    assert frame.status.iloc[0] == 404
    assert frame.status.isna().tolist() == [False, True]
    assert frame.cause.iloc[1] == 1
    assert frame.detail.iloc[0] == detail


def test_an_empty_frame_has_its_columns() -> None:
    frame = entries_frame([])
    assert frame.empty
    assert "summary" in frame
    assert str(frame.time.dtype).startswith("datetime64")
