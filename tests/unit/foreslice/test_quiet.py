"""What was needed within the quiet time."""

from allocator.need import Timing
from foreslice.quiet import Quiet
from tests.builders.deciding import need
from tests.builders.fleet import key

CHAT, TIMING = key("chat"), {key("chat"): Timing(quiet_s=60.0)}


def kept(quiet, up, at_s):
    return quiet.kept({CHAT: need(up=up, keep=0.3)}, TIMING, at_s)[CHAT]


def test_nothing_goes_that_was_needed_within_the_quiet_time():
    quiet = Quiet()
    for at_s, up in ((0, 0.9), (10, 0.5), (20, 0.7)):
        quiet.note({CHAT: need(up=up)}, TIMING, at_s)

    found = [kept(quiet, 0.2, at_s) for at_s in (59, 60, 79, 80)]
    assert [0.9, 0.7, 0.7, 0.3] == [one.keep for one in found]
    assert [0.9, 0.7, 0.7, 0.0] == [one.quiet_up for one in found]
    assert {0.2} == {one.up for one in found}


def test_a_new_process_keeps_what_the_evidence_says():
    assert 0.3 == kept(Quiet(), 0.2, 0.0).keep
