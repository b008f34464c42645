"""What a user is told of workloads that cannot stand as they are asked to."""

from dataclasses import replace

import pytest

from allocator.need import Timing
from fleet.host import Host
from foreslice.terms import gathered, seen_of, terms_of
from tests.builders.deciding import need, workload
from tests.builders.fleet import fleet, key, running, standing
from tests.builders.standby import outlook

ASK = "serving/chat: its own Deployment does not ask for other fault domains"
ONE = "serving/chat: all replicas stand in fault domain a"


@pytest.mark.parametrize(
    ("stands", "is_spread", "says"),
    [
        ("2 x whole", True, [ONE]),
        ("3 x whole", True, []),
        ("1 x whole", True, []),
        ("2 x whole", False, [ASK, ONE]),
        ("3 x whole", False, [ASK]),
    ],
)
def test_what_keeps_a_spread_workload_together_is_said(stands, is_spread, says):
    zones = {f"node-{n}": Host(zone) for n, zone in enumerate("aab")}
    scene = running(fleet(3, 1, hosts=zones), standing("chat", stands))
    (one,) = scene.standings
    own = replace(one, variants=(replace(one.variants[0], is_spread=is_spread),))
    scene = replace(scene, standings=(own,))
    lines = gathered([workload(is_spread=True)], scene)
    assert says == [line.partition(": add")[0] for line in lines]
    assert [] == gathered([workload()], scene)
    assert [] == gathered([workload("gone", is_spread=True)], scene)


def test_what_the_owner_made_beside_it_has_to_ask_for_other_domains_too():
    scene = running(fleet(2), standing("chat", "1 x whole + 1 x 3g.40gb"))
    (one,) = scene.standings
    other, own = one.variants
    for is_beside in (True, False):
        variants = (replace(own, is_spread=True), replace(other, is_base=False, is_beside=is_beside))
        held = replace(scene, standings=(replace(one, variants=variants),))
        line = f"serving/chat: Deployment {other.name} does not ask for other fault domains"
        said = [each.partition(": add")[0] for each in gathered([workload(is_spread=True)], held)]
        assert is_beside == (line in said)


def test_what_of_the_settings_is_left_out_is_said():
    scene = running(fleet(1), standing("chat", "1 x whole", left_out=("variants: a", "variants: b")))
    assert ["serving/chat: variants: a", "serving/chat: variants: b"] == list(seen_of([workload()], scene))


def test_what_must_hold_is_worked_out_of_those_that_are_asked_about():
    chat, code, gone = (key(name) for name in ("chat", "code", "gone"))
    scene = running(fleet(2), standing("chat", "1 x whole"), standing("code", "1 x whole"))
    # Of `code` nothing is known but that it is there: who asks about it fails.
    known = {chat: outlook(work=(0.2, 0.4))}
    needs, timing = {chat: need("chat", 0.5, keep=0.7)}, {chat: Timing(trial_s=77.0)}
    terms = terms_of([workload("chat"), workload("code")], scene, known, needs, {}, timing)

    assert ([chat, code], 2) == (list(terms), len(terms))
    assert (True, True, False) == (chat in terms, code in terms, gone in terms)
    assert (0.7, 77.0) == (terms[chat].need_keep, terms[chat].trial_s)
    assert terms[chat] is terms.get(chat)
    with pytest.raises(KeyError):
        terms[code]
    assert terms.get(gone) is None
