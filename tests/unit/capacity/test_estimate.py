"""Capacities and work, measured in full replicas of the reference shape."""

from dataclasses import replace

import numpy as np
import pytest

from capacity.belief import Source
from capacity.catalogue import MODELS
from capacity.estimate import CapacityModel
from capacity.fit import Point, fit
from capacity.sustained import Binding
from fleet.boards import A30_24GB, A100_40GB, A100_80GB, BOARDS, H100_80GB
from fleet.demand import Mix
from fleet.errors import InputError
from fleet.shape import Shape, shapes_of, share_of
from fleet.workload import LatencyTarget, Slo, Workload, WorkloadKey

CHAT, SUMMARIES = Mix(1000.0, 250.0), Mix(2000.0, 30.0)
WHOLE = Shape("h100-80gb")


def workload(model="qwen2.5-7b-bf16", ttft_s=1.0, itl_s=0.060):
    slo = Slo(LatencyTarget(0.95, ttft_s), LatencyTarget(0.95, itl_s))
    return Workload(WorkloadKey("chat", "assistant"), model, slo)


def h100(profile):
    return Shape("h100-80gb", profile)


@pytest.fixture
def model():
    return CapacityModel([H100_80GB])


class TestReference:
    @pytest.mark.parametrize(
        ("boards", "expected"),
        [
            (BOARDS.values(), "gb300-278gb"),
            ([H100_80GB, BOARDS["h200-141gb"]], "h200-141gb"),
            ([BOARDS["rtx-pro-6000-96gb"], H100_80GB], "h100-80gb"),
            ([A30_24GB, A100_40GB, A100_80GB], "a100-80gb"),
            ([A100_40GB, A30_24GB], "a100-40gb"),
            ([A30_24GB], "a30-24gb"),
        ],
    )
    def test_is_the_whole_card_of_the_largest_board(self, boards, expected):
        assert Shape(expected) == CapacityModel(boards).reference(workload())

    def test_does_not_depend_on_the_order_of_the_boards(self):
        forward, backward = (CapacityModel(list(BOARDS.values())[::step]) for step in (1, -1))

        assert forward.reference(workload()) == backward.reference(workload())

    def test_a_model_that_fits_nowhere_is_refused(self):
        with pytest.raises(InputError) as refusal:
            CapacityModel([BOARDS["t4-16gb"]]).reference(workload("qwen2.5-14b-bf16"))

        assert "workload chat/assistant" == refusal.value.where
        assert "model qwen2.5-14b-bf16 fits on none of the boards t4-16gb" == refusal.value.what

    @pytest.mark.parametrize(
        ("name", "boards", "expected"),
        [
            ("llama-3.3-70b-bf16", ["h100-80gb"], Shape("h100-80gb", cards=4)),
            ("llama-3.3-70b-bf16", ["h100-80gb", "h200-141gb"], Shape("h200-141gb", cards=2)),
            ("llama-3.3-70b-fp8", ["h100-80gb", "h200-141gb"], Shape("h200-141gb")),
            ("qwen2.5-14b-bf16", ["a30-24gb"], Shape("a30-24gb", cards=2)),
        ],
    )
    def test_is_as_few_cards_as_hold_the_model_where_no_single_one_does(self, name, boards, expected):
        assert expected == CapacityModel([BOARDS[board] for board in boards]).reference(workload(name))

    def test_models_may_be_others_than_those_of_the_catalogue(self):
        short = replace(MODELS["llama-3.3-70b-bf16"], name="short", max_model_len=8192)
        model = CapacityModel([H100_80GB], {"short": short})

        assert Shape("h100-80gb", cards=2) == model.reference(workload("short"))
        with pytest.raises(InputError, match=r"no model qwen2\.5-7b-bf16"):
            model.reference(workload())

    def test_without_boards_no_model_fits(self):
        with pytest.raises(InputError, match="there are none"):
            CapacityModel([]).reference(workload())

    def test_an_unknown_model_is_refused(self, model):
        with pytest.raises(InputError, match="no model gpt"):
            model.reference(workload("gpt"))


class TestCapacity:
    def test_the_reference_carries_one(self, model):
        capacity = model.capacity(workload(), WHOLE, [CHAT, SUMMARIES])

        assert 1.0 == capacity.work
        assert Source.PRIOR is capacity.source

    def test_the_reference_itself_is_in_doubt(self, model):
        """Utilisation binds: alpha, beta, gamma take 0.18, 0.68, 0.14 of a full batch's time, and err apart.

        exp(-1.2816 x 0.15 x hypot(0.18, 0.68, 0.14)) = 0.87.
        """
        capacity = model.capacity(workload(), WHOLE, [CHAT])

        assert Binding.COMPUTE is capacity.binding
        assert 0.869 == pytest.approx(capacity.work_low, abs=0.001)

    @pytest.mark.parametrize(
        ("profile", "work", "work_low", "binding"),
        [
            ("1g.20gb", 0.120, 0.091, Binding.KV),
            ("2g.20gb", 0.127, 0.103, Binding.KV),
            ("3g.40gb", 0.520, 0.421, Binding.COMPUTE),
            ("4g.40gb", 0.540, 0.438, Binding.COMPUTE),
            ("7g.80gb", 1.0, 0.811, Binding.COMPUTE),
        ],
    )
    def test_slices_of_an_h100_by_their_binding_constraint(self, model, profile, work, work_low, binding):
        capacity = model.capacity(workload(), h100(profile), [CHAT])

        assert work == pytest.approx(capacity.work, abs=0.001)
        assert work_low == pytest.approx(capacity.work_low, abs=0.001)
        assert binding is capacity.binding

    @pytest.mark.parametrize("profile", ["1g.20gb", "2g.20gb"])
    def test_small_slices_are_worse_than_their_share_of_the_card(self, model, profile):
        """Weights take the same room on a quarter of the memory as on all of it."""
        assert model.capacity(workload(), h100(profile), [CHAT]).work < 0.6 * 0.25

    def test_a_tight_first_token_rules_out_slices_before_the_whole_card(self, model):
        strict = workload(ttft_s=0.350)

        assert 1.0 == model.capacity(strict, WHOLE, [CHAT]).work
        three = model.capacity(strict, h100("3g.40gb"), [CHAT])
        assert three.work < 0.45
        assert Binding.COMPUTE_TTFT is three.binding
        assert model.capacity(strict, h100("2g.20gb"), [CHAT]) is None

    def test_a_slice_that_may_well_miss_the_slo_has_no_safe_capacity(self, model):
        """The first token of a request alone takes most of the target: the slow law misses it."""
        capacity = model.capacity(workload(ttft_s=0.320), h100("3g.40gb"), [CHAT])

        assert capacity.work > 0
        assert 0.0 == capacity.work_low

    def test_a_shape_without_room_for_the_model_cannot_serve(self, model):
        assert model.capacity(workload(), h100("1g.10gb"), [CHAT]) is None
        assert 0.0 == model.sustained(workload(), h100("1g.10gb"), CHAT)

    def test_the_lowest_of_the_mixes_counts(self, model):
        chat, summaries, both, reversed_ = (
            model.capacity(workload(), h100("3g.40gb"), mixes)
            for mixes in ([CHAT], [SUMMARIES], [CHAT, SUMMARIES], [SUMMARIES, CHAT])
        )

        assert chat.work != summaries.work
        assert min(chat.work, summaries.work) == both.work
        assert min(chat.work_low, summaries.work_low) == both.work_low
        assert both == reversed_

    def test_a_shape_that_cannot_serve_one_of_the_mixes_cannot_serve(self, model):
        short, long = Mix(200.0, 100.0), Mix(9000.0, 100.0)

        assert model.capacity(workload(), h100("2g.20gb"), [short]) is not None
        assert model.capacity(workload(), h100("2g.20gb"), [short, long]) is None

    def test_a_smaller_board_is_measured_against_the_largest(self):
        fleet = CapacityModel([A100_80GB, H100_80GB])

        assert 0.25 < fleet.capacity(workload(), Shape("a100-80gb"), [CHAT]).work < 0.5

    def test_is_sustained_over_sustained(self, model):
        capacity = model.capacity(workload(), h100("3g.40gb"), [CHAT])

        rates = [model.sustained(workload(), shape, CHAT) for shape in (h100("3g.40gb"), WHOLE)]
        assert rates[0] / rates[1] == capacity.work

    def test_a_shape_of_a_board_outside_the_fleet_is_refused(self, model):
        with pytest.raises(InputError) as refusal:
            model.capacity(workload(), Shape("a30-24gb"), [CHAT])

        assert "board a30-24gb is not in the fleet" == refusal.value.what
        assert "use one of h100-80gb" == refusal.value.fix

    def test_a_profile_that_the_board_does_not_offer_is_refused(self, model):
        with pytest.raises(InputError, match=r"no MIG profile 5g\.60gb"):
            model.capacity(workload(), h100("5g.60gb"), [CHAT])

    def test_asking_twice_gives_the_same(self, model):
        first = model.capacity(workload(), h100("3g.40gb"), [CHAT])

        assert first == model.capacity(workload(), h100("3g.40gb"), [CHAT])
        assert first == CapacityModel([H100_80GB]).capacity(workload(), h100("3g.40gb"), [CHAT])

    def test_workloads_with_other_targets_are_kept_apart(self, model):
        loose = model.sustained(workload(ttft_s=1.0), WHOLE, CHAT)

        assert model.sustained(workload(ttft_s=0.150), WHOLE, CHAT) < loose
        assert loose == model.sustained(workload(ttft_s=1.0), WHOLE, CHAT)

    @pytest.mark.parametrize("board", [b for b in BOARDS.values() if b.profiles], ids=lambda board: board.id)
    @pytest.mark.parametrize("name", ["qwen2.5-3b-bf16", "qwen2.5-7b-bf16"])
    def test_no_slice_carries_more_than_the_whole_card(self, board, name):
        model = CapacityModel([board])

        for shape in shapes_of(board):
            capacity = model.capacity(workload(name), shape, [CHAT])
            assert capacity is None or 0 <= capacity.work_low < capacity.work < 1 + 1e-9


class TestShares:
    @pytest.mark.parametrize(("mechanism", "work"), [("hami", 0.46), ("mps", 0.51)])
    def test_a_half_beside_a_busy_half_carries_about_half(self, model, mechanism, work):
        """Per iteration it waits longer, but a full engine multiplies most of the time."""
        shared = replace(workload(), mechanism=mechanism)

        assert work == pytest.approx(model.capacity(shared, share_of(H100_80GB, 50), [CHAT]).work, abs=0.01)

    def test_each_mechanism_is_answered_on_its_own(self, model):
        half = share_of(H100_80GB, 50)
        first, other = (
            model.capacity(replace(workload(), mechanism=name), half, [CHAT]) for name in ("hami", "mps")
        )

        assert first.work < other.work


class TestRelaxed:
    LONG = Mix(30_000.0, 250.0)

    def test_what_the_reference_keeps_does_not_give_way(self, model):
        assert () == model.relaxed(workload(), [CHAT, SUMMARIES])

    def test_the_terms_that_a_lone_request_misses_give_way(self, model):
        """30,000 tokens take 0.8 s alone; 2 ms are less than reading the weights."""
        assert ("TTFT",) == model.relaxed(workload(ttft_s=0.1), [CHAT, self.LONG])
        assert ("TTFT", "ITL") == model.relaxed(workload(ttft_s=0.1, itl_s=0.002), [self.LONG])

    def test_one_mix_is_enough(self, model):
        assert () == model.relaxed(workload(ttft_s=0.2), [CHAT])
        assert ("TTFT",) == model.relaxed(workload(ttft_s=0.2), [CHAT, self.LONG])


class TestWork:
    def test_is_requests_over_what_the_reference_sustains(self, model):
        sustained = model.sustained(workload(), WHOLE, CHAT)

        work = model.work(workload(), np.array([sustained, 3.0]), np.full(2, 1000.0), np.full(2, 250.0))

        assert [1.0, 3.0 / sustained] == pytest.approx(work.tolist())

    def test_longer_requests_are_more_work(self, model):
        requests = np.ones(3)

        work = model.work(
            workload(), requests, np.array([500.0, 1000.0, 6000.0]), np.array([250.0, 250.0, 250.0])
        )

        assert work[0] < work[1] < work[2]

    def test_no_requests_are_no_work_even_if_nobody_knows_their_tokens(self, model):
        work = model.work(workload(), np.zeros(2), np.array([np.nan, 1000.0]), np.array([np.nan, 250.0]))

        assert [0.0, 0.0] == work.tolist()

    def test_what_is_unknown_stays_unknown(self, model):
        requests = np.array([np.nan, 2.0, 2.0, 2.0])
        prompts, outputs = np.array([1000.0, np.nan, 1000.0, 1000.0]), np.array([250.0, 250.0, np.nan, 250.0])

        work = model.work(workload(), requests, prompts, outputs)

        assert [True, True, True, False] == np.isnan(work).tolist()

    def test_an_empty_history_has_no_work(self, model):
        assert [] == model.work(workload(), np.array([]), np.array([]), np.array([])).tolist()

    def test_mixes_within_the_same_two_digits_are_the_same_work(self, model):
        work = model.work(workload(), np.ones(2), np.array([1010.0, 1100.0]), np.array([251.0, 260.0]))

        assert work[0] == work[1]

    def test_a_prompt_that_no_card_answers_in_time_is_bounded_work(self, model):
        """The reference takes 0.8 s for 30,000 tokens alone; no number of replicas can make that 0.1 s."""
        strict = workload(ttft_s=0.1)

        work = model.work(strict, np.ones(2), np.array([1000.0, 30_000.0]), np.array([250.0, 250.0]))

        assert 10 * work[0] < work[1] < 100 * work[0]
        assert 1.0 == model.capacity(strict, WHOLE, [Mix(30_000.0, 250.0)]).work

    def test_the_bound_of_a_target_that_gave_way_stays_in_proportion(self, model):
        """A slower law has its target slower as well: by no more than all parameters together, 1 / 1.21."""
        capacity = model.capacity(workload(ttft_s=0.1), WHOLE, [Mix(30_000.0, 250.0)])

        assert 0.885 == pytest.approx(capacity.work_low, abs=0.001)

    def test_a_mean_beyond_the_longest_sequence_counts_as_that(self, model):
        work = model.work(workload(), np.ones(2), np.array([32_000.0, 90_000.0]), np.array([768.0, 50_000.0]))

        assert np.isfinite(work).all()
        assert work[0] == pytest.approx(work[1], rel=0.5)


def test_shapes_solved_together_are_as_if_each_were_asked_alone():
    """Some hold the model, some do not, and each has its own covariance: no question answers for another."""
    shapes, mixes = list(shapes_of(H100_80GB)), [CHAT, SUMMARIES]
    together = CapacityModel([H100_80GB]).capacities(workload(), shapes, mixes)
    alone = {
        shape: capacity
        for shape in shapes
        if (capacity := CapacityModel([H100_80GB]).capacity(workload(), shape, mixes)) is not None
    }

    assert 1 < len(together) < len(shapes)
    assert alone == together


def slower(by):
    """What is learnt of engines that take so many times as long as their prior says."""
    law, _ = CapacityModel([H100_80GB]).unmeasured(workload(), WHOLE)
    took_ms = [by * law.itl_ms(CHAT.prompt_tokens, CHAT.output_tokens, batch) for batch in (1.0, 8.0, 64.0)]
    points = [
        Point(WHOLE, CHAT, batch, itl_ms, None, 1000.0)
        for batch, itl_ms in zip((1.0, 8.0, 64.0), took_ms, strict=True)
    ]
    return fit(points, {WHOLE: law})


def test_what_is_learnt_of_a_workload_takes_the_place_of_what_was_and_moves_nobody_else(model):
    ours, other = workload(), replace(workload(), key=WorkloadKey("chat", "other"))
    before = model.capacity(other, WHOLE, [CHAT])
    assert before == model.capacity(ours, WHOLE, [CHAT])
    for by in (1.5, 1.2):
        fresh = CapacityModel([H100_80GB])
        for one in (fresh, model):
            one.learn(ours.key, slower(by))
        assert fresh.capacity(ours, WHOLE, [CHAT]) == model.capacity(ours, WHOLE, [CHAT]) != before
    assert before == model.capacity(other, WHOLE, [CHAT])


def test_workloads_solved_together_are_as_if_each_were_asked_alone():
    """Other targets, models, mixes and what was learnt of one: no row answers for another, in any batch."""
    ours, other = workload(), replace(workload(ttft_s=0.2), key=WorkloadKey("chat", "other"))
    twin = replace(ours, key=WorkloadKey("chat", "twin"))
    model = next(name for name in MODELS if name != ours.model)
    large = replace(ours, key=WorkloadKey("chat", "large"), model=model)
    shapes = list(shapes_of(H100_80GB))
    asks = [(one, shapes, [CHAT, SUMMARIES, Mix(700.0, 90.0)]) for one in (ours, other, twin, large)]
    together = CapacityModel([H100_80GB])
    together.learn(ours.key, slower(1.5))
    together.solve(asks)

    for one, of, mixes in asks:
        alone = CapacityModel([H100_80GB])
        if one is ours:
            alone.learn(ours.key, slower(1.5))
        assert alone.capacities(one, of, mixes) == together.capacities(one, of, mixes)


def test_what_is_learnt_after_solving_together_counts(model):
    """What was solved ahead is of the law that was held then."""
    ours = workload()
    model.solve([(ours, [WHOLE], [CHAT])])
    before = model.capacity(ours, WHOLE, [CHAT])
    model.learn(ours.key, slower(1.5))

    assert model.capacity(ours, WHOLE, [CHAT]).work_low < before.work_low
