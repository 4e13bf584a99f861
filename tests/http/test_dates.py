"""HTTP-dates of lab time."""

from email.utils import parsedate_to_datetime

from hypothesis import given
from hypothesis import strategies as st

from labkit.http.head import HttpDate


def test_a_date_is_an_imf_fixdate() -> None:
    assert HttpDate().format(784111777) == "Sun, 06 Nov 1994 08:49:37 GMT"  # the example of RFC 9110 5.6.7


@given(st.lists(st.integers(0, 4_000_000_000)))
def test_each_second_has_its_own_date(seconds: list[int]) -> None:
    dates = HttpDate()
    assert [parsedate_to_datetime(dates.format(second)).timestamp() for second in seconds] == seconds
