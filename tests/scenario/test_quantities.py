"""Quantities in the notation of users, and their values in base units."""

import math

import pytest
from aqmlab.base.errors import BadValueError
from aqmlab.scenario import number_text, parameters
from aqmlab.scenario.fields import RateOrShare
from aqmlab.scenario.notation import kind_table, rate_pair
from aqmlab.scenario.quantities import Duration, Rate, Share, Size
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import TypeAdapter


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("40 ms", 40_000_000),
        ("40ms", 40_000_000),
        ("1.5 s", 1_500_000_000),
        ("250us", 250_000),
        ("250 µs", 250_000),
        ("7 ns", 7),
        ("0.5 ns", 0),  # half a nanosecond rounds to even
        ("1e3 ms", 1_000_000_000),
        ("2 min", 120_000_000_000),
        (0, 0),
        ("0", 0),
    ],
)
def test_durations(text, ns):
    assert Duration.parse(text).ns == ns


@pytest.mark.parametrize(
    ("text", "bps"),
    [
        ("12 Mbit/s", 12_000_000),
        ("12mbit", 12_000_000),
        ("12 Mbps", 12_000_000),
        ("1.5mbit", 1_500_000),
        ("500kbit", 500_000),
        ("1 Gbit/s", 10**9),
        ("64 kbits/s", 64_000),
        ("9600 bit/s", 9_600),
    ],
)
def test_rates(text, bps):
    assert Rate.parse(text).bps == bps


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [("300 kB", 300_000), ("64 KiB", 65_536), ("1514 B", 1_514), ("2MB", 2_000_000), (0, 0)],
)
def test_sizes(text, size_bytes):
    assert Size.parse(text).bytes == size_bytes


@pytest.mark.parametrize(
    ("text", "count"), [(490, 490), ("490", 490), ("490 packets", 490), ("2 Flows", 2)]
)
def test_counts(text, count):
    assert number_text.count(text) == count


@pytest.mark.parametrize(
    ("text", "number"), [(0.05, 0.05), ("5 %", 0.05), ("0.05", 0.05), (1, 1.0), ("12.5%", 0.125)]
)
def test_numbers(text, number):
    assert number_text.number(text) == number


@pytest.mark.parametrize(
    ("read", "value", "problem", "hint"),
    [
        (Duration.parse, 5, "`5` is not a duration", 'write the unit, too: "5 ms" or "5 s"'),
        (
            parameters.duration_or_off,
            "5",
            '`5` is not a duration, nor "off"',
            'write the unit, too: "5 ms" or "5 s"',
        ),
        (
            Duration.parse,
            "5 parsecs",
            "`5 parsecs` is not a duration",
            'write a number and a unit, such as "40 ms"',
        ),
        (
            Duration.parse,
            True,
            "`true` is not a duration",
            'write a number and a unit, such as "40 ms"',
        ),
        (Duration.parse, "-1 s", "`-1 s` is negative", "a duration cannot be below zero"),
        (
            Duration.parse,
            "1e99 s",
            "`1e99 s` is too large for a duration",
            "a duration is at most 1000000000 s",
        ),
        (
            Rate.parse,
            "1e99 bit/s",
            "`1e99 bit/s` is too large for a rate",
            "a rate is at most 1000000000 Gbit/s",
        ),
        (
            parameters.duration_or_off,
            "of",
            '`of` is not a duration, nor "off"',
            'write a number and a unit, such as "40 ms"',
        ),
        (
            Rate.parse,
            12,
            "`12` is not a rate",
            'write the unit, too: "12 Mbit/s" or "12 kbit/s"',
        ),
        (Rate.parse, "25 Mb", "`25 Mb` is not a rate", 'did you mean "25 Mbit/s"?'),
        (Rate.parse, "500k", "`500k` is not a rate", 'did you mean "500 kbit/s"?'),
        (
            Rate.parse,
            "25/5 Mbit/s",
            "`25/5 Mbit/s` is two rates where one is wanted",
            'write one, such as "25 Mbit/s"; two, down before up, belong in path.rate',
        ),
        (
            Rate.parse,
            "25/5",
            "`25/5` is two rates where one is wanted",
            'write one, such as "25 Mbit/s"; two, down before up, belong in path.rate',
        ),
        (
            Rate.parse,
            "0 Mbit/s",
            "`0 Mbit/s` is a rate of zero, at which a queue never drains",
            'write a rate above zero, such as "64 kbit/s"',
        ),
        (Rate.parse, "1 MB/s", "`1 MB/s` counts bytes", 'rates are in bits: "12 Mbit/s"'),
        (Size.parse, 300, "`300` is not a size", 'write the unit, too: "300 B" or "300 kB"'),
        (
            number_text.count,
            "300 kB",
            "`300 kB` is not a count",
            'write a whole number, such as 490 or "490 packets"',
        ),
        (
            number_text.count,
            1.5,
            "`1.5` is not a count",
            'write a whole number, such as 490 or "490 packets"',
        ),
        (
            Share.parse,
            5,
            "`5` is not between 0 and 1",
            'for five in a hundred write "5 %"',
        ),
        (number_text.flag, "maybe", "`maybe` is not a switch", "write true or false"),
    ],
)
def test_what_is_refused_and_how(read, value, problem, hint):
    with pytest.raises(BadValueError) as caught:
        read(value)
    assert (caught.value.problem, caught.value.hint) == (problem, hint)


@given(st.integers(0, 10**18))
def test_what_is_written_reads_back(amount):
    assert Duration.parse(str(Duration(amount))) == Duration(amount)
    assert Size.parse(str(Size(amount))) == Size(amount)
    assert number_text.count(amount) == amount
    if amount:
        assert Rate.parse(str(Rate(amount))) == Rate(amount)


@given(st.floats(0, 1))
@example(1e-10)
@example(5e-324)
def test_shares_read_back_as_percentages(part):
    assert str(Share(part)).endswith(" %")
    assert Share.parse(str(Share(part))) == Share(part)


@given(st.floats(0, 1, exclude_min=True))
@example(1e-10)
def test_a_share_of_a_rate_reads_back(part):
    text = str(Share(part))
    assert TypeAdapter(RateOrShare).validate_python(text) == Share(part)
    assert rate_pair(text) == (text, text)


ANYTHING = st.one_of(
    st.text(),
    st.from_regex(r"[-+]?\d*\.?\d*([eE][-+]?\d+)?\s*[a-zA-Zµ%/]*", fullmatch=True),
    st.integers(),
    st.floats(),
    st.booleans(),
    st.none(),
    st.lists(st.integers()),
)


@given(ANYTHING)
def test_any_value_is_read_or_refused(value):
    for read in (*parameters.READERS.values(), Share.parse):
        try:
            read(value)
        except BadValueError as problem:
            assert problem.problem


def test_a_count_beyond_all_measure_is_too_large():
    for text in (99999999999999999999, "99999999999999999999", 10**2_000):
        with pytest.raises(BadValueError, match="is too large for a count") as caught:
            number_text.count(text)
        assert caught.value.hint == f"a count is at most {number_text.LARGEST}"


@pytest.mark.parametrize("text", ["memory_limit=4 GB", 'memory_limit="4 GB"'])
def test_a_unit_stands_beside_its_number_in_a_text(text):
    with pytest.raises(BadValueError) as caught:
        kind_table(f"fq_codel {text}")
    assert caught.value.hint == "write `memory_limit=4GB`, without a space"


@pytest.mark.parametrize("zero", [-0.0, "-0", "-0.0", "-0 %", "-1e-400"])
def test_the_negative_zero_is_zero(zero):
    for share in (Share.parse(zero), Share(-0.0)):
        assert str(share) == "0 %" and math.copysign(1.0, share.fraction) == 1.0
    assert str(number_text.number(zero)) == "0.0"
