"""Scrapes and answers as people have them, each with the only right reading of it.

The texts are made up, in the names, types and bucket bounds that these engines export
(tests/data/cases/README.md says whose).
"""

from pathlib import Path

import pytest

from fleet.demand import DemandOrigin
from fleet.errors import InputError
from fleet.signal import Distribution, Signal
from predictor.engines import shipped
from predictor.inspection.inspect import inspected
from predictor.inspection.scrape import parsed

CASES = Path(__file__).parents[1] / "data" / "cases"


def read(name, engine=None):
    path = CASES / name
    text = path.read_text(encoding="utf-8")
    return inspected(parsed(text, str(path)), shipped().values(), shipped().get(engine))


def only(name, engine=None):
    [producer] = read(name, engine).producers
    return producer


def values(producer, *signals):
    return [producer.signals[signal].value for signal in signals]


def p95(producer, distribution):
    quantile = producer.distributions[distribution].quantiles[0.95]
    assert not quantile.is_censored
    return quantile.value


class TestVllm:
    def test_v0_names_a_ratio_perc(self):
        vllm = only("vllm-v0.prom")
        assert ("vllm", "v0") == (vllm.engine.name, vllm.version)
        assert [0.7125, 14, 3] == values(vllm, Signal.KV_USE, Signal.RUNNING, Signal.WAITING)
        assert ("vllm:gpu_cache_usage_perc",) == vllm.signals[Signal.KV_USE].series

    def test_v0_aborted_requests_are_among_the_840_that_ended(self):
        assert [840 - 5, 5] == values(only("vllm-v0.prom"), Signal.COMPLETIONS, Signal.FAILURES)

    def test_v0_latencies(self):
        vllm = only("vllm-v0.prom")
        assert pytest.approx(0.975) == p95(vllm, Distribution.TTFT)
        assert pytest.approx(0.075667, abs=1e-6) == p95(vllm, Distribution.ITL)
        assert pytest.approx(11.0) == p95(vllm, Distribution.E2E)

    def test_v1_after_the_old_names_were_removed(self):
        vllm = only("vllm-v1-new.prom")
        assert "v1-new" == vllm.version
        assert [0.481, 24, 0] == values(vllm, Signal.KV_USE, Signal.RUNNING, Signal.WAITING)

    def test_per_token_and_per_request_latency_are_two_things(self):
        vllm = only("vllm-v1-new.prom")
        itl, tpot = (vllm.distributions[one] for one in (Distribution.ITL, Distribution.TPOT))
        assert (pytest.approx(0.0220), pytest.approx(0.0248)) == (itl.mean, tpot.mean)
        assert pytest.approx(0.049964, abs=1e-6) == p95(vllm, Distribution.ITL)
        assert pytest.approx(0.049306, abs=1e-6) == p95(vllm, Distribution.TPOT)

    def test_what_was_offered_is_what_ended_and_what_is_still_there(self):
        assert (840 + 14 + 3, DemandOrigin.ENDINGS) == only("vllm-v0.prom").offered


class TestTgi:
    def test_counters_have_no_total_and_no_model(self):
        tgi = only("tgi.prom")
        assert ({}, [12, 28]) == (tgi.labels, values(tgi, Signal.WAITING, Signal.RUNNING))
        assert ("tgi_request_count",) == tgi.signals[Signal.ARRIVALS].series

    def test_who_was_turned_away_was_demand(self):
        tgi = only("tgi.prom")
        assert (5200, DemandOrigin.ENGINES) == tgi.offered
        assert [5110, 70, 20] == values(tgi, Signal.COMPLETIONS, Signal.REFUSALS, Signal.FAILURES)

    def test_latencies(self):
        tgi = only("tgi.prom")
        assert pytest.approx(0.040852, abs=1e-6) == p95(tgi, Distribution.TPOT)
        assert pytest.approx(11.483488, abs=1e-6) == p95(tgi, Distribution.E2E)

    def test_time_to_first_token_is_not_measured_and_has_a_declared_stand_in(self):
        tgi = only("tgi.prom")
        assert Distribution.TTFT not in tgi.distributions
        assert tgi.absent["ttft"].startswith("not exported")
        assert pytest.approx(1.321228, abs=1e-6) == tgi.stand_ins[Distribution.TTFT][0.95]

    def test_the_fullness_of_its_batch_is_that_of_its_cache(self):
        assert [pytest.approx(41230 / 131072)] == values(only("tgi.prom"), Signal.KV_USE)


class TestDynamoFrontend:
    def test_what_was_started_is_demand(self):
        dynamo = only("dynamo-frontend.prom")
        assert (10450, DemandOrigin.ROUTER) == dynamo.offered
        assert [10000, 120, 64] == values(dynamo, Signal.COMPLETIONS, Signal.REFUSALS, Signal.FAILURES)

    def test_what_waits_for_its_first_token_is_in_flight_already(self):
        dynamo = only("dynamo-frontend.prom")
        assert [266] == values(dynamo, Signal.IN_FLIGHT)
        assert "inside in_flight" in dynamo.absent["waiting"]

    def test_latencies_and_lengths(self):
        dynamo = only("dynamo-frontend.prom")
        assert pytest.approx(1.6875) == p95(dynamo, Distribution.TTFT)
        assert pytest.approx(0.037658, abs=1e-6) == p95(dynamo, Distribution.ITL)
        assert (2900, 210) == (
            dynamo.distributions[Distribution.PROMPT_LENGTH].mean,
            dynamo.distributions[Distribution.OUTPUT_LENGTH].mean,
        )


class TestNim:
    def test_names_without_a_prefix_are_not_guessed(self):
        told = read("nim.prom")
        assert () == told.producers
        assert any("name engine nim" in line for line in told.doubtful)

    def test_once_it_is_named_it_is_read_and_a_narrower_match_asked_for(self):
        nim = only("nim.prom", "nim")
        assert [0.334, 18, 2, 256] == values(
            nim, Signal.KV_USE, Signal.RUNNING, Signal.WAITING, Signal.REQUEST_LIMIT
        )
        assert pytest.approx(0.664773, abs=1e-6) == p95(nim, Distribution.TTFT)
        assert pytest.approx(0.052156, abs=1e-6) == p95(nim, Distribution.ITL)
        assert any("namespace or pod" in line for line in nim.doubtful)


class TestDcgm:
    def test_use_is_that_of_each_instance(self):
        devices = read("dcgm-mig.prom").devices.devices
        use = {device.tenants: device.signals[Signal.GPU_USE].value for device in devices}
        assert {
            ("llm/embed-0",): 0.112,
            ("llm/rerank-0",): 0.981,
            ("llm/chat-mig-0",): 0.553,
            ("llm/chat-whole-0",): 0.861,
            (): 0.0,
        } == use

    def test_the_free_instance(self):
        [free] = [device for device in read("dcgm-mig.prom").devices.devices if not device.tenants]
        assert ("GPU-00000000-0000-4000-8000-000000000000", "11", "1g.10gb") == (
            free.card,
            free.slice,
            free.profile,
        )

    def test_power_is_that_of_the_card_and_is_not_added_up_over_its_instances(self):
        cards = read("dcgm-mig.prom").devices.cards
        assert 990.1 == pytest.approx(sum(card.signals[Signal.GPU_POWER].value for card in cards))

    def test_memory_is_in_bytes(self):
        used = [
            device.signals[Signal.GPU_MEMORY_USED].value for device in read("dcgm-mig.prom").devices.devices
        ]
        assert 2310 * 2**20 in used

    def test_labels_of_an_older_release(self):
        [device] = read("dcgm-mig-old.prom").devices.devices
        assert ("node-a", "2", 0.553) == (device.node, device.slice, device.signals[Signal.GPU_USE].value)

    def test_a_profile_that_is_none_is_left_out_and_said(self):
        assert ["1 series with a profile that is none are left out: DCGM_FI_DEV_SM_CLOCK <<<NULL>>>"] == list(
            read("dcgm-mig-old.prom").doubtful
        )

    def test_the_missing_utilisation_of_instances_is_not_read_as_idle(self):
        text = (CASES / "dcgm-mig.prom").read_text(encoding="utf-8")
        text = text.replace("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_OTHER") + (
            'DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-00000000-0000-4000-8000-000000000000",hostname="node-a",'
            'GPU_I_ID="7",GPU_I_PROFILE="1g.10gb"} 0\n'
        )
        told = inspected(parsed(text, "text"), shipped().values())
        use = [
            device.signals[Signal.GPU_USE].value
            for device in told.devices.devices
            if Signal.GPU_USE in device.signals
        ]
        assert [0.87] == use
        assert any("cut into slices" in line for line in told.doubtful)


ERRORS = {
    "error-400.json": "ask for less at once",
    "error-422.json": "ask for a shorter range or fewer series",
    "error-503.json": "ask again later, for a shorter range",
}


class TestAnswers:
    def test_a_counter_that_restarted_inside_the_window(self):
        """Not 240 (last less first), not 3000 (rises only), and not 1240 (the counter itself)."""
        tokens = only("counter-reset.json").signals[Signal.OUTPUT_TOKENS]
        assert (3040, 90, 1) == (tokens.increase, tokens.over_s, tokens.resets)
        assert pytest.approx(33.777778, abs=1e-6) == tokens.increase / tokens.over_s

    def test_two_replicas_of_a_scraper_count_once(self):
        """Not 7.0 (all of them), and not 3.5 (half): one replica has lost a target."""
        told = read("ha-replicas.json")
        assert 4.0 == sum(value for _, value in told.answers)
        assert ("taken once of several that differ in prometheus_replica only",) == told.doubtful

    @pytest.mark.parametrize("name", ["partial-thanos.json", "partial-victoriametrics.json"])
    def test_half_of_the_data_is_incomplete(self, name):
        told = read(name)
        assert (False, 210) == (told.is_complete, told.answers[0][1])
        assert told.doubtful[0].startswith("incomplete, may add and never remove: ")

    def test_a_hint_is_no_warning(self):
        told = read("info-only.json")
        assert (True, 430, ()) == (told.is_complete, told.answers[0][1], told.doubtful)
        assert 1 == len(told.scrape.infos)

    @pytest.mark.parametrize(("name", "fix"), ERRORS.items(), ids=ERRORS)
    def test_an_error_is_no_data_and_says_what_to_do(self, name, fix):
        with pytest.raises(InputError, match=fix):
            read(name)
