"""What holds for every decision, whatever stands and whatever is needed."""

from collections import Counter
from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st

from allocator.decide import additions, plan
from allocator.need import Evidence, Timing, need_of
from allocator.packing.first_fit import pack
from allocator.reshape import states_between
from fleet.boards import BOARDS
from fleet.demand import QUANTILES, WINDOWS_S
from fleet.devices import first_fit, in_order_of_trial, ledger_of
from fleet.mig import Placement, is_legal
from fleet.shape import WHOLE
from fleet.workload import Mode, Router, Tier
from tests.builders.deciding import forecast, need, offers, question, workload
from tests.builders.fleet import BOARD, NOW_S, configuration, fleet, key, request, running, standing

ROUNDING = 1e-8
PROFILES = ("1g.10gb", "2g.20gb", "3g.40gb", "whole")
works = st.integers(0, 40).map(lambda tenths: tenths / 10)
ages = st.none() | st.integers(0, 7200).map(lambda ago_s: NOW_S - ago_s)


@st.composite
def stands(draw, name):
    """A workload with its need: what is asked for, on what evidence, under which limits."""
    router = draw(st.sampled_from(Router))
    counts = draw(st.dictionaries(st.sampled_from(PROFILES), st.integers(1, 3), max_size=2))
    text = " + ".join(f"{n} x {profile}" for profile, n in counts.items())
    up, reactive = draw(works), draw(works)
    one = workload(
        name,
        draw(st.sampled_from(Tier)),
        draw(st.sampled_from([Mode.FORECAST_ONLY, Mode.SCALE_UP_ONLY, Mode.FULL])),
        router,
        floor=draw(st.integers(0, 3)),
        ceiling=draw(st.integers(3, 12)),
    )
    asks = need(
        name,
        max(up, reactive),
        draw(works),
        reactive,
        distrust=draw(st.sampled_from([(), (), ("a pod is not scraped",)])),
    )
    capacities = draw(
        st.dictionaries(st.sampled_from(PROFILES), st.sampled_from([0.07, 0.1, 0.25, 0.4, 1.0]), min_size=1)
    )
    history = {"changed_at_s": draw(ages), "reshaped_at_s": draw(ages)}
    return one, asks, offers(capacities, router), standing(name, text, **history)


@st.composite
def questions(draw, workloads=3):
    """A fleet with up to so many workloads, some running, some still waiting for devices."""
    drawn = [draw(stands(f"w{number}")) for number in range(draw(st.integers(1, workloads)))]
    scene = fleet(draw(st.integers(1, 4)), per_node=2)
    for *_, one in drawn:
        scene = _started(scene, one)
    return question(
        scene,
        [one for one, *_ in drawn],
        [asks for _, asks, *_ in drawn],
        {one.key.name: offered for one, _, offered, _ in drawn},
    )


def _started(scene, one):
    """The fleet after the scheduler placed what fits of a standing; the rest waits."""
    for n in range(len(one.variants), -1, -1):
        try:
            scene = running(scene, replace(one, variants=one.variants[:n]))
        except AssertionError:  # no room for one of them
            continue
        placed = scene.standings[-1]
        whole = replace(placed, variants=(*placed.variants, *one.variants[n:]))
        return replace(scene, standings=(*scene.standings[:-1], whole))
    raise AssertionError


def _copies(scene):
    """Copies that run by node: others prefer their company."""
    variants = (variant for stood in scene.standings for variant in stood.variants if not variant.is_base)
    return Counter(replica.device.node for v in variants for replica in v.replicas if replica.device)


def _placed(scene, decision, goal, copies):
    """Devices for what `goal` has beyond the start, in order of shapes, or `None` where one has no room.

    `copies` by node gets those that are new.
    """
    ledger, devices = ledger_of(scene.pools, scene.allocated), []
    for shape, replicas in goal.counts.items():
        gathers = scene.standing(decision.workload).pods(shape).gathers
        for _ in range(replicas - decision.start.counts.get(shape, 0)):
            order = in_order_of_trial(scene.pools, ledger, copies if gathers else {})
            found = first_fit(order, ledger, request(shape))
            if not found:
                return None
            ledger = ledger.take(*found)
            copies[found[0].node] += gathers
            devices += found
    return devices


def _layouts(devices):
    """Placements by card, read from the memory slices that the devices hold; a whole card is 7g here."""
    layouts = {}
    for device in devices:
        profile = device.profile or "7g.80gb"
        layouts.setdefault(device.gpu, []).append(Placement(profile, min(device.memory_slices)))
    return layouts


def _removed(decision):
    """Shapes of which the goal has fewer than the start."""
    return [s for s, n in decision.start.counts.items() if n > decision.goal.counts.get(s, 0)]


@given(questions())
def test_additions_never_lower_what_is_carried_and_take_away_only_for_something_larger(asked):
    for decision in additions(asked):
        carried = asked.offers[decision.workload].carried
        for state in states_between(decision.start, decision.goal):
            assert carried(decision.start) <= carried(state) + ROUNDING
        if _removed(decision):
            assert carried(decision.goal) > carried(decision.start)
            assert 0.0 == decision.short


@given(questions())
def test_additions_carry_need_up_or_say_exactly_how_much_they_do_not(asked):
    for decision in additions(asked):
        missing = decision.need.up - asked.offers[decision.workload].carried(decision.goal)
        assert abs(max(0.0, missing) - decision.short) <= ROUNDING


@given(questions())
def test_additions_stay_within_the_limit_on_replicas_and_short_ones_say_why(asked):
    limits = {one.key: one.limits for one in asked.workloads}
    for decision in additions(asked):
        most = max(decision.start.replicas, limits[decision.workload].max_replicas)
        assert decision.goal.replicas <= most
        if decision.short > 0 or decision.is_change:
            assert decision.because


@given(questions(workloads=1))
def test_a_workload_that_is_short_could_not_have_had_one_more_replica_that_helps(asked):
    (decision,) = additions(asked)
    (one,) = asked.workloads
    offered = asked.offers[one.key]
    waiting = [v for s in asked.fleet.standings for v in s.variants if len(v.replicas) < v.wanted]
    assume(not waiting)
    if decision.short == 0 or decision.goal.replicas >= one.limits.max_replicas:
        return
    for shape in offered.by_shape:
        larger = decision.goal.plus(shape, 1)
        if offered.carried(larger) > offered.carried(decision.goal) + ROUNDING:
            assert _placed(asked.fleet, decision, larger, _copies(asked.fleet)) is None


@given(questions())
def test_on_evidence_that_is_not_trusted_no_capacity_is_given_up(asked):
    needs = {where: replace(one, distrust=("a pod is not scraped",)) for where, one in asked.needs.items()}
    for decision in plan(replace(asked, needs=needs)):
        carried = asked.offers[decision.workload].carried
        if _removed(decision):
            assert carried(decision.goal) > carried(decision.start)


@given(questions())
def test_a_plan_that_removes_carries_need_keep_at_every_state_on_the_way(asked):
    limits = {one.key: one.limits for one in asked.workloads}
    for decision in plan(asked):
        if _removed(decision):
            carried = asked.offers[decision.workload].carried
            states = [*states_between(decision.start, decision.goal)]
            assert states[-1].counts == decision.goal.counts
            assert carried(decision.goal) >= decision.need.keep - ROUNDING
            # What is short to begin with can only be asked not to get shorter on the way.
            is_short = carried(decision.start) < decision.need.up - ROUNDING
            least = min(carried(decision.start), decision.need.keep) if is_short else decision.need.keep
            assert all(carried(state) >= least - ROUNDING for state in states)
            assert decision.goal.replicas >= limits[decision.workload].min_replicas


@given(questions())
def test_a_plan_removes_nothing_within_the_dwell_times_nor_from_a_workload_that_may_only_grow(asked):
    modes = {one.key: one.mode for one in asked.workloads}
    for decision in plan(asked):
        is_short = asked.offers[decision.workload].short(decision.start, decision.need.up) > 0
        if is_short or not _removed(decision):
            continue
        stood, timing = asked.fleet.standing(decision.workload), asked.timing[decision.workload]
        assert modes[decision.workload] is not Mode.SCALE_UP_ONLY
        assert stood.changed_at_s is None or asked.at_s - stood.changed_at_s >= timing.dwell_s
        if set(decision.goal) != set(decision.start):
            assert stood.reshaped_at_s is None or asked.at_s - stood.reshaped_at_s >= timing.shape_dwell_s


@given(questions())
def test_all_goals_fit_at_once_beside_what_runs_and_every_card_keeps_a_legal_layout(asked):
    acting = {one.key for one in asked.workloads if one.mode.may_add}
    for decisions in (additions(asked), plan(asked)):
        scene = asked.fleet
        waits = any(len(v.replicas) < v.wanted for s in scene.standings for v in s.variants)
        assume(not waits)
        devices, copies = list(scene.allocated), _copies(scene)
        for decision in decisions:
            # One shape at a time is placed exactly as decided; several may have been tried in another order.
            new = [s for s, n in decision.goal.counts.items() if n > decision.start.counts.get(s, 0)]
            assume(len(new) <= 1)
            if decision.workload in acting:
                placed = _placed(replace(scene, allocated=tuple(devices)), decision, decision.goal, copies)
                assert placed is not None, f"{decision.goal} has no room"
                devices += placed
        assert all(is_legal(BOARD, layout) for layout in _layouts(devices).values())


@given(questions())
def test_the_same_question_has_the_same_answer_in_whatever_order_workloads_are_given(asked):
    turned = replace(asked, workloads=asked.workloads[::-1])
    assert additions(asked) == additions(turned)
    assert plan(asked) == plan(turned)
    assert plan(asked) == plan(asked)


@given(questions(workloads=1), st.dictionaries(st.sampled_from(PROFILES), st.integers(1, 3), max_size=2))
def test_the_goal_of_an_unfinished_plan_is_kept_or_grown_and_what_it_still_lacks_is_said(asked, counts):
    (stood,), (offered,) = asked.fleet.standings, asked.offers.values()
    under_way = configuration(" + ".join(f"{n} x {profile}" for profile, n in counts.items()))
    moving = replace(asked.fleet, standings=(replace(stood, moving_to=under_way),))
    (decision,) = additions(replace(asked, fleet=moving))

    assert all(n <= decision.goal.counts.get(shape, 0) for shape, n in under_way.counts.items())
    missing = decision.need.up - offered.carried(decision.goal)
    assert abs(max(0.0, missing) - decision.short) <= ROUNDING
    assert (decision,) == plan(replace(asked, fleet=moving))


@given(questions(workloads=1))
def test_what_was_added_is_not_added_again(asked):
    (decision,) = additions(asked)
    (stood,) = asked.fleet.standings
    assume(all(len(v.replicas) == v.wanted for v in stood.variants))
    new = [shape for shape, n in decision.goal.counts.items() if n > decision.start.counts.get(shape, 0)]
    assume(len(new) <= 1)  # several shapes may be created in another order, and room depends on it
    grown = standing(decision.workload.name, str(decision.goal))
    added = replace(
        stood,
        variants=(
            *(replace(v, wanted=decision.goal.counts.get(v.shape, 0)) for v in stood.variants),
            *(v for v in grown.variants if v.shape in new and stood.variant(v.shape) is None),
        ),
    )
    assert added.wanted.counts == decision.goal.counts
    (again,) = additions(replace(asked, fleet=replace(asked.fleet, standings=(added,))))
    assert not again.is_change
    assert again.short == decision.short


@given(questions())
def test_without_a_forecast_the_counterfactual_is_the_answer_to_the_need_without_it(asked):
    """Asked one by one: others' forecasts do take room."""
    for one in asked.workloads:
        alone = replace(asked, workloads=(one,))
        blind = {where: each.without_forecast() for where, each in asked.needs.items()}
        (decision,), (without,) = plan(alone), plan(replace(alone, needs=blind))
        assert without.goal.counts == decision.without_forecast.counts


@given(
    st.sampled_from([*BOARDS.values()]),
    st.lists(st.integers(0, 9), min_size=7, max_size=7),
    st.integers(0, 3),
)
def test_packing_holds_exactly_the_counts_in_legal_layouts_on_a_sane_number_of_cards(board, numbers, whole):
    named = zip(board.profiles, numbers, strict=False)
    counts = {profile.name: n for profile, n in named if not profile.media_extension}
    cards = pack(board, counts | {WHOLE: whole})
    held = [placement.profile for layout in cards for placement in layout]

    assert all(is_legal(board, layout) for layout in cards)
    assert {name: n for name, n in counts.items() if n} == {name: held.count(name) for name in set(held)}
    assert whole == sum(not layout for layout in cards)
    slices = sum(board.profile(name).memory_slices * n for name, n in counts.items())
    assert -(-slices // board.grid) <= len(cards) - whole <= len(held)


peaks = st.fixed_dictionaries({(window_s, q): works for window_s in WINDOWS_S for q in QUANTILES})
unknown_or_work = st.none() | works


@given(unknown_or_work, unknown_or_work, peaks, st.sampled_from(Tier), st.integers(0, 1800))
def test_missing_data_never_lowers_a_need_below_its_forecast_and_always_forbids_removal(
    reactive, quiet_peak, table, tier, age_s
):
    seen = Evidence(reactive, quiet_peak, (), forecast(peaks=table), age_s)
    got = need_of(key("chat"), "default-scheduler", tier, seen, Timing())

    assert max(got.forecast_up, reactive or 0.0) == got.up
    assert max(got.up, got.forecast_keep, quiet_peak or 0.0) == got.keep
    assert (reactive is None or quiet_peak is None) == bool(got.distrust)


@given(works, works, works, works, works, st.sampled_from(Tier))
def test_need_grows_with_the_present_the_quiet_time_and_the_forecast(now, quiet, level, more, extra, tier):
    def ask(reactive, quiet_peak, peak):
        seen = Evidence(reactive, quiet_peak, (), forecast(level=peak))
        return need_of(key("chat"), "default-scheduler", tier, seen, Timing())

    less, grown = ask(now, quiet, level), ask(now + more, quiet + extra, level + more)
    assert less.up <= grown.up
    assert less.keep <= grown.keep
    assert less.up <= less.keep
