"""What one replica sustains on every shape of a card, or why it cannot."""

from dataclasses import replace

import pytest

from capacity.ask import askable, capacity_of
from capacity.belief import Source
from capacity.catalogue import MODELS
from capacity.fit import Point, fit
from capacity.prior import kv_tokens, prior
from capacity.sustained import Binding, sustained_per_s
from fleet.boards import BOARDS, H100_80GB
from fleet.demand import Mix
from fleet.errors import InputError
from fleet.shape import Shape, share_of
from fleet.workload import LatencyTarget, Slo

QWEN, LLAMA = MODELS["qwen2.5-7b-bf16"], MODELS["llama-3.3-70b-bf16"]
CHAT = Mix(1024.0, 256.0)
SLO = Slo(LatencyTarget(0.95, 1.0), LatencyTarget(0.95, 0.060))


def ask(model, board, *names, mix=CHAT, slo=SLO, mechanism="dra"):
    shapes = [Shape(board.id, cards=int(n[:-1])) if n[-1] == "x" else Shape(board.id, n) for n in names]
    return capacity_of(model, board, shapes, mix, slo, mechanism)


def test_slices_and_groups_of_cards_that_nvlink_joins_are_worth_asking_about():
    names = [shape.name for shape in askable(H100_80GB, "dra")]

    assert [
        "whole",
        *(profile.name for profile in H100_80GB.profiles if "me" not in profile.name),
        "2x",
        "4x",
        "8x",
    ] == names
    assert ["whole"] == [shape.name for shape in askable(BOARDS["l4-24gb"], "dra")]
    assert ["whole", "2x"] == [shape.name for shape in askable(BOARDS["a40-48gb"], "dra")]


def test_of_mechanisms_that_share_a_card_shares_are_worth_asking_about():
    assert ["whole", "25/100", "50/100", "75/100"] == [s.name for s in askable(H100_80GB, "kai")]


def test_the_expected_rate_is_that_of_the_prior():
    (answer,) = ask(QWEN, H100_80GB, "3g.40gb")
    law, room = (of(QWEN, H100_80GB, answer.shape) for of in (prior, kv_tokens))

    assert sustained_per_s(law, room, CHAT, SLO).requests_per_s == pytest.approx(answer.requests_per_s)
    assert room == answer.kv_tokens
    assert (Source.PRIOR, None) == (answer.source, answer.obstacle)


def test_answers_come_in_the_order_of_the_shapes_and_do_not_depend_on_one_another():
    names = ("1g.10gb", "whole", "8x", "3g.40gb", "2x")
    together = ask(QWEN, H100_80GB, *names)

    assert together == tuple(ask(QWEN, H100_80GB, name)[0] for name in names)


@pytest.mark.parametrize(
    ("name", "board", "cards", "rate", "low", "binding"),
    [
        # 257 iterations; a request adds 67.8 + 26.2 = 94.0 ms, then 41.7 + 15.0 = 56.7 ms:
        # 0.70 x 256 / (257 x 17.10 ms + 256 x 94.0 ms), 0.70 x 256 / (257 x 10.35 ms + 256 x 56.7 ms)
        ("llama-3.3-70b-bf16", "h100-80gb", "4x", 6.29, 4.37, Binding.COMPUTE),
        ("llama-3.3-70b-bf16", "h100-80gb", "8x", 10.43, 8.38, Binding.COMPUTE),
        # below that cap, where iterations of 60 / 1.41 = 42.5 ms are reached
        ("llama-3.3-70b-bf16", "h200-141gb", "2x", 2.85, 1.71, Binding.COMPUTE_ITL),
        ("llama-3.3-70b-fp8", "h200-141gb", "1x", 2.94, 2.21, Binding.COMPUTE_ITL),
    ],
)
def test_what_llama_70b_sustains(name, board, cards, rate, low, binding):
    (answer,) = ask(MODELS[name], BOARDS[board], cards)

    assert rate == pytest.approx(answer.requests_per_s, abs=0.01)
    assert low == pytest.approx(answer.requests_per_s_low, abs=0.01)
    assert binding is answer.binding


@pytest.mark.parametrize(
    ("name", "board", "cards", "why"),
    [
        ("llama-3.3-70b-bf16", "h100-80gb", "1x", "weights of 131.4 GiB do not fit in 70.2 GiB"),
        ("llama-3.3-70b-bf16", "h200-141gb", "1x", "weights of 131.4 GiB do not fit in 124.9 GiB"),
        (
            "llama-3.3-70b-fp8",
            "h100-80gb",
            "1x",
            "context of 131072 tokens does not fit, there is room for 8249",
        ),
    ],
)
def test_where_llama_70b_does_not_start(name, board, cards, why):
    (answer,) = ask(MODELS[name], BOARDS[board], cards)

    assert why == answer.obstacle
    assert (0.0, 0.0, None) == (answer.requests_per_s, answer.requests_per_s_low, answer.binding)


def test_with_a_shorter_longest_sequence_llama_70b_runs_on_two_cards_short_of_room():
    (answer,) = ask(replace(LLAMA, max_model_len=8192), H100_80GB, "2x")

    assert 1.33 == pytest.approx(answer.requests_per_s, abs=0.01)
    assert Binding.KV is answer.binding


def test_requests_longer_than_the_engine_takes_are_refused():
    (answer,) = ask(QWEN, H100_80GB, "whole", mix=Mix(32_700.0, 100.0))

    assert "requests of 32800 tokens are longer than the engine takes (32768)" == answer.obstacle


def test_no_target_gives_way():
    """One request alone takes 30 ms to its first token, and the queue model allows 1/3.5 of a p95."""
    (answer,) = ask(QWEN, H100_80GB, "whole", slo=Slo(LatencyTarget(0.95, 0.050)))

    assert 0.0 == answer.requests_per_s
    assert Binding.COMPUTE_TTFT is answer.binding
    assert answer.obstacle is None


def test_a_share_beside_busy_neighbours_carries_less_than_a_slice_of_its_own():
    """Half of an H100 as 4g.40gb, and as a share in time slices."""
    (cut,) = ask(QWEN, H100_80GB, "4g.40gb")
    (shared,) = capacity_of(QWEN, H100_80GB, [share_of(H100_80GB, 50)], CHAT, SLO, "hami")

    assert shared.requests_per_s < cut.requests_per_s
    assert shared.requests_per_s_low < cut.requests_per_s_low


def test_a_share_of_a_mechanism_that_makes_none_is_refused():
    with pytest.raises(InputError, match="mechanism dra makes no shares"):
        capacity_of(QWEN, H100_80GB, [share_of(H100_80GB, 50)], CHAT, SLO)


@pytest.mark.parametrize("board", BOARDS.values(), ids=lambda board: board.id)
def test_every_card_has_an_answer_for_a_small_model(board):
    small = MODELS["qwen2.5-3b-awq"]
    answers = capacity_of(small, board, askable(board, "dra"), CHAT, Slo(e2e=LatencyTarget(0.95, 60.0)))

    whole = answers[0]
    assert 0 < whole.requests_per_s_low < whole.requests_per_s


def test_what_was_measured_on_one_shape_corrects_the_others():
    """Half a card was 30 % slower than its prior at every load: the whole one carries less, too."""
    half, whole = Shape("h100-80gb", "3g.40gb"), Shape("h100-80gb")
    law = prior(QWEN, H100_80GB, half).slower(1.3)
    points = [
        Point(half, CHAT, batch, law.itl_ms(CHAT.prompt_tokens, CHAT.output_tokens, batch), None, 1000.0)
        for batch in (1.0, 4.0, 16.0, 64.0)
    ]
    measured = fit(points, {half: prior(QWEN, H100_80GB, half)}, imported=True)

    before = capacity_of(QWEN, H100_80GB, [half, whole], CHAT, SLO)
    after = capacity_of(QWEN, H100_80GB, [half, whole], CHAT, SLO, fitted=measured)

    shares = [now.requests_per_s / was.requests_per_s for was, now in zip(before, after, strict=True)]
    assert 1 / 1.3 == pytest.approx(shares[0], rel=0.03)
    assert 0.8 < shares[1] < 0.95
    assert after[0].requests_per_s_low / after[0].requests_per_s > 0.93
    assert [Source.IMPORT] * 2 == [answer.source for answer in after]
