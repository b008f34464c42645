"""Configurations of ours come and go in a file of others; nothing else in it moves."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from actuator.layouts.config_file import with_configs
from actuator.layouts.format import configs_in
from actuator.layouts.named import entries_of, is_ours, name_of
from fleet.errors import InputError, RefusedError

PEOPLES = """\
version: v1
# what the platform team settled on
mig-configs:
  all-disabled:
  - devices: all   # every card
    mig-enabled: false

  nights:
    - devices: [0, 1]
      mig-enabled: true
      mig-devices:
        "1g.10gb": 7
    - devices: [2, 3]
      mig-enabled: false
"""
DAY = entries_of([{"3g.40gb": 1, "4g.40gb": 1}, {"7g.80gb": 1}, None, {}])
NIGHT = entries_of([{"1g.10gb": 7}] * 4)


def with_ours(text, *layouts):
    return with_configs(text, {name_of(entries): entries for entries in layouts}, "config.yaml")


def test_what_people_wrote_stays_as_it_is_to_the_letter():
    edited = with_ours(PEOPLES, DAY)

    assert [line for line in edited.splitlines() if line in PEOPLES.splitlines()] == PEOPLES.splitlines()
    assert DAY == configs_in(edited, "")[name_of(DAY)]


def test_what_is_of_ours_and_not_wanted_any_more_goes():
    assert with_ours(with_ours(PEOPLES, DAY), NIGHT) == with_ours(PEOPLES, NIGHT)


def test_without_any_of_ours_the_file_is_as_it_was():
    assert PEOPLES == with_ours(with_ours(PEOPLES, DAY, NIGHT))


def test_it_is_the_same_the_second_time():
    assert with_ours(PEOPLES, DAY, NIGHT) == with_ours(with_ours(PEOPLES, DAY, NIGHT), DAY, NIGHT)


def test_one_of_ours_that_was_edited_by_hand_stays_to_the_letter():
    edited = with_ours(PEOPLES, DAY).replace("3g.40gb: 1, 4g.40gb: 1", "1g.10gb: 7")
    after = with_ours(edited, NIGHT)

    assert [line for line in after.splitlines() if line in edited.splitlines()] == edited.splitlines()
    assert edited == with_ours(after)


@pytest.mark.parametrize(
    "text",
    [
        "version: v1\nmig-configs: {x: [{devices: all, mig-enabled: false}]}\n",
        '{"version": "v1", "mig-configs": {"x": [{"devices": "all", "mig-enabled": false}]}}',
    ],
)
def test_a_file_that_is_not_in_lines_is_left_alone(text):
    with pytest.raises(RefusedError, match="not a block of its own lines"):
        with_ours(text, DAY)


def test_a_file_that_the_manager_would_not_take_is_said():
    with pytest.raises(InputError, match="version"):
        with_ours("mig-configs:\n  x:\n  - {devices: all, mig-enabled: false}\n", DAY)


CUTS = st.one_of(
    st.none(), st.dictionaries(st.sampled_from(["1g.10gb", "2g.20gb", "1g.10gb+me"]), st.integers(0, 3))
)


@given(cuts=st.lists(CUTS, min_size=1, max_size=8))
def test_entries_say_of_every_card_what_it_is_cut_into(cuts):
    entries = entries_of(cuts)
    told = {index: entry for entry in entries for index in entry["devices"]}

    assert list(range(len(cuts))) == sorted(told)
    for index, cut in enumerate(cuts):
        assert (cut is not None) == told[index]["mig-enabled"]
        assert {p: n for p, n in (cut or {}).items() if n} == told[index]["mig-devices"]
    text = yaml.safe_dump({"version": "v1", "mig-configs": {"x": entries}})
    assert {"x": entries} == configs_in(text, "")


def test_a_name_says_what_is_in_it_and_changes_when_asked_again():
    first = name_of(DAY)

    assert first == name_of(entries_of([{"4g.40gb": 1, "3g.40gb": 1}, {"7g.80gb": 1}, None, {}]))
    assert first != name_of(NIGHT)
    assert first != name_of(DAY, after=first)
    assert first == name_of(DAY, after=name_of(DAY, after=first))


@pytest.mark.parametrize("name", ["all-disabled", "foreslice-day", "nights-a", "my-foreslice-0123456789-a"])
def test_what_people_named_is_theirs(name):
    assert not is_ours(name)


def test_what_we_named_is_ours():
    assert is_ours(name_of(DAY))
