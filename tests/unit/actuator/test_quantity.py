import pytest

from actuator.quantity import amount, milli


@pytest.mark.parametrize(
    ("expected", "quantity"),
    [
        (8, "8"),
        (8, 8),
        (42412802048, "40448Mi"),
        (85899345920, "80Gi"),
        (1_500_000, "1500k"),
        (0, "0"),
        (1, "500m"),
    ],
)
def test_an_amount_is_a_whole_number_that_holds_all_of_a_quantity(expected, quantity):
    assert expected == amount(quantity)


@pytest.mark.parametrize(
    ("expected", "quantity"), [(500, "500m"), (1500, "1.5"), (1, "100u"), (2000, 2), (100, 0.1)]
)
def test_thousandths_are_rounded_up_too(expected, quantity):
    assert expected == milli(quantity)


@pytest.mark.parametrize("read", [amount, milli])
@pytest.mark.parametrize("text", ["", "lots", "1Zi"])
def test_what_is_no_quantity_is_said(read, text):
    with pytest.raises(ValueError, match=r"number format|unknown suffix"):
        read(text)
