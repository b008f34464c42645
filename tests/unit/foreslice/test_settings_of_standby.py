"""Settings of the standby pool: off unless they are there, and what cannot work is said where it stands."""

from contextlib import closing

import pytest

from fleet.errors import InputError
from fleet.shape import Shape
from foreslice.compose import surroundings_of
from foreslice.settings.load import load

GOOD = """\
version: v1
metrics: {source: embedded}
cluster: {kind: embedded}
workloads:
  - name: chat
    model: qwen2.5-7b-bf16
    slo: {ttft: {p95: 1s}}
"""


def written(tmp_path, text):
    path = tmp_path / "settings.yaml"
    path.write_text(GOOD + text)
    return path


def test_without_them_there_is_no_pool(tmp_path):
    assert load(written(tmp_path, "")).standby is None


def test_two_numbers_are_enough(tmp_path):
    terms = load(written(tmp_path, "standby: {slices: 4, host_memory_gib: 500}\n")).standby.terms()
    assert (Shape("h100-80gb"), 4, 8, 120.0) == (terms.shape, terms.slices, terms.sleepers, terms.lasts_s)


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        ("standby.profile: must be one of whole, 1g.10gb", "profile: 5g.10gb"),
        (
            "standby: 7 contexts of 1.2 GiB leave less than half of 1g.10gb: give fewer sleepers",
            "profile: 1g.10gb",
        ),
        ("standby.engine: must be one of vllm", "engine: tgi"),
        ("standby.sleepers: must be greater than or equal to 2", "sleepers: 1"),
    ],
)
def test_what_cannot_work_is_said_where_it_stands(tmp_path, expected, said):
    with pytest.raises(InputError, match=r".") as raised:
        load(written(tmp_path, f"standby: {{slices: 4, host_memory_gib: 500, {said}}}\n"))
    assert expected in str(raised.value)


@pytest.mark.parametrize(
    ("tiers", "expected"),
    [("[gold]", "standby.tiers[0]: must be 'economy'"), ("[]", "standby.tiers: must not")],
)
def test_tiers_that_are_wrong_are_one_line(tmp_path, tiers, expected):
    with pytest.raises(InputError, match=r".") as raised:
        load(written(tmp_path, f"standby: {{slices: 4, host_memory_gib: 500, tiers: {tiers}}}\n"))
    assert expected in str(raised.value)
    assert 1 == str(raised.value).count("standby.tiers")


def test_without_a_cluster_a_pool_is_only_reckoned_with(tmp_path):
    path = tmp_path / "settings.yaml"
    alone = GOOD.replace("embedded}\ncluster: {kind: embedded}", "file, path: x.csv}\ncluster: {kind: none}")
    path.write_text(alone + "standby: {slices: 4, host_memory_gib: 500}\n")
    (tmp_path / "x.csv").write_text(
        "timestamp,series,namespace,pod,model_name,value\n60,vllm:num_requests_running,default,chat-0,chat,1\n"
    )
    settings = load(path)
    with closing(surroundings_of(settings, tmp_path)) as around:
        assert (4, None) == (settings.standby.slices, around.pool)
