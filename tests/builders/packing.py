"""Stocks, asks and packing problems with sane defaults."""

from allocator.packing.problem import Ask, Problem, Stock
from fleet.boards import H100_80GB
from fleet.shape import Shape, share_of
from fleet.workload import Limits, Router
from tests.builders.fleet import key

PROFILES = ("1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb")

WORKS = {"1g.10gb": 0.1, "2g.20gb": 0.25, "3g.40gb": 0.45, "4g.40gb": 0.5, "whole": 1.0}
"""Work per replica where a slice carries a little less than its part of the card."""


def stock(domain="", board=H100_80GB, **more):
    """Cards without limit at a price of 1."""
    return Stock(board, domain, **more)


def shapes(works, board=H100_80GB):
    """Work by shape, from work by profile, or by hundredths of a card where those are shares."""
    return {
        share_of(board, name) if isinstance(name, int) else Shape(board.id, name): work
        for name, work in works.items()
    }


def ask(name="chat", work=0.5, works=None, router=Router.LEAST_LOADED, floor=0, ceiling=1000, **more):
    """A workload that takes any slice."""
    table = shapes(WORKS if works is None else works)
    return Ask(key(name), work, table, router, Limits(floor, ceiling), **more)


def problem(*asks, stocks=None, **more):
    """A problem on one unlimited stock of H100 where none is given."""
    return Problem(stocks or (stock(),), asks, **more)
