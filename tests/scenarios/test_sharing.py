"""Every row of the table is one question about sharing a card, with the answer that it must have."""

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import yaml

from actuator.inventory.kai import group_findings, groups_of
from actuator.manifest import key_of
from actuator.objects.restraints import spared_by
from actuator.objects.slices import SliceReader
from actuator.objects.standings import Observer
from allocator.shares.fragmentation import Fragmentation
from allocator.shares.hosts import Host, Hosts, Spot
from allocator.shares.mix import Ask, Mix
from allocator.shares.rule import LeastLoss
from allocator.starts import is_quiet, latest_starts
from capacity.catalogue import MODELS
from capacity.prior import fits
from fleet.boards import BOARDS
from fleet.errors import RefusedError
from fleet.ledgers.footprint import effective_hundredths, is_overused, usable_mib
from fleet.ledgers.kai import (
    Card,
    Share,
    asked_gpus,
    binding_order,
    bound_gpus,
    card_mib,
    cards_needed,
    hundredths_for,
)
from fleet.ledgers.queues import Queue, queues_of
from fleet.ledgers.tenancy import Tenancy, clash
from fleet.mechanism import MECHANISMS, memory_utilization
from fleet.mig import Placement, free_starts, realise
from fleet.shape import share_of
from tests.fakes.manifests import deployment, h100_slices, template

TABLE = yaml.safe_load((Path(__file__).parent / "sharing.yaml").read_text())
H100 = card_mib(81559)


def footprint(row):
    effective = effective_hundredths(row["declared"], row["observed"], row["card"])

    assert row["effective"] == effective
    assert row["overused"] is is_overused(row["declared"], row["observed"], row["card"])
    assert row["beside"] == {other: effective + other <= 100 for other in row["beside"]}


def flag(row):
    for name in row["mechanisms"]:
        assert row["utilization"] == memory_utilization(MECHANISMS[name], row["share"])


def model(row):
    board = BOARDS[row["board"]]

    assert row["shares"] == {
        size: fits(MODELS[row["model"]], board, share_of(board, size)) for size in row["shares"]
    }


def starts(row):
    found = latest_starts(row["durations_s"], row["peak_s"], row["margin_s"])

    assert row["at_s"] == {start.name: start.at_s for start in found}
    assert all(before.ready_at_s <= after.at_s for before, after in pairwise(found))
    assert row["quiet_at_s"] == {at_s: is_quiet(found, at_s) for at_s in row["quiet_at_s"]}


def pod(name, group, namespace):
    return {
        "metadata": {"name": name, "namespace": namespace, "labels": {"runai-gpu-group": group}},
        "spec": {"nodeName": "n1"},
    }


def reservations(row):
    pods = [pod(name, group, "kai-resource-reservation") for name, group in row["reservations"].items()]
    pods += [pod(name, group, "t") for name, group in row["tenants"].items()]
    found = group_findings(groups_of(pods), pods, row.get("binding", ()))

    assert row["findings"] == [finding.code for finding in found]
    assert all(row["says"] in finding.fix for finding in found)


def spared(row):
    """Layouts evict no pod that is spared; of what is refused nothing is ever stepped."""
    assert row["spared"] == spared_by(pod("r", "g", row["namespace"]))
    inventory = SliceReader().read(h100_slices())
    web, held = deployment(namespace=row["namespace"]), [template("mig-3g", namespace=row["namespace"])]
    observer = Observer(inventory, [web], held, [], [])
    if row["refused"] is None:
        assert observer.standing(key_of(web)) is not None
    else:
        with pytest.raises(RefusedError, match=row["refused"]):
            observer.standing(key_of(web))


def kai(row):
    size, share = card_mib(row["label"]), Share(memory_mib=row["memory"])
    queues, bound, card = queues_of([Queue("q", quota=-1, limit=row["limit"])]), 0, Card(size)
    for _ in range(row["count"]):
        if queues.refusal("q", asked_gpus(share, size), fixed=False) is None:
            queues, bound = queues.bind("q", bound_gpus(share, size), fixed=False), bound + 1
        if card.fits(share):
            card = card.take(share)

    assert (row["bound"], row["on_card"]) == (bound, len(card.held))
    assert row.get("portion", share.portion_of(size)) == share.portion_of(size)
    assert row.get("limit_mib", share.limit_mib(row["label"])) == share.limit_mib(row["label"])


def order(row):
    assert row["bound"] == [share.portion for share in binding_order(map(Share, row["given"]), H100)]


def need(row):
    hundredths = hundredths_for(row["need"], row["label"])

    assert (row["hundredths"], row["usable"]) == (hundredths, usable_mib(row["label"]))
    assert row["together"] is (2 * hundredths <= 100)


def mig(row):
    board, asked = BOARDS[row["board"]], row["profiles"]
    layout = realise(board, {profile: asked.count(profile) for profile in asked})

    assert row["layout"] == [str(placement) for placement in sorted(layout, key=lambda p: p.start)]
    if "descending_order_of_starts" in row:
        assert row["descending_order_of_starts"] == list(free_starts(board, frozenset(), asked[0]))


def left(row):
    board = BOARDS[row["board"]]

    assert row["left"] == {
        start: [
            len(free_starts(board, frozenset({Placement(row["profile"], start)}), other))
            for other in row["of"]
        ]
        for start in row["left"]
    }


def fragments(row):
    mix = Mix({Ask(1, milli, 0, 0): weight for milli, weight in row["mix"].items()})
    measure = Fragmentation(mix, ["any"])
    hosts = Hosts([Host(gpus=len(row["free"]), product="any", cpu_milli=0, memory_mib=0)])
    for card, free in enumerate(row["free"]):
        hosts.take(Spot(0, (card,)), Ask(1, 1000 - free, 0, 0))
    ways = [hosts.idle[0] - row["place"] * (np.arange(len(row["free"])) == card) for card in range(2)]
    spot = LeastLoss(mix, hosts).spot(hosts, Ask(1, row["place"], 0, 0))

    seen = measure.expected(np.array([hosts.idle[0], *ways]), np.zeros(3, int), np.zeros(3, int))
    assert [row["before"], *row["after"]] == pytest.approx(list(seen))
    assert (row["card"], row["fullest"]) == (spot.gpus[0], int(np.argmin(row["free"])))
    placed = {}
    for card in (row["card"], row["fullest"]):
        trial = hosts.idle[0] - row["place"] * (np.arange(2) == card)
        placed[card] = all(_take_best_fit(trial, milli) for milli in row["then"])
    assert {row["card"]: True, row["fullest"]: False} == placed


def _take_best_fit(idle, milli):
    fitting = [card for card in range(len(idle)) if idle[card] >= milli]
    if fitting:
        idle[min(fitting, key=lambda card: idle[card])] -= milli
    return bool(fitting)


def cards(row):
    share, size = Share(memory_mib=row["memory"]), card_mib(row["label"])

    assert row["cards"] == cards_needed([share] * row["count"], size)
    # KAI's node-scale-adjuster: 0.1 GPU for a request by memory, else the sum of the shares.
    assert row["by_memory"] == math.ceil(row["count"] * 0.1)
    assert row["by_fraction"] == math.ceil(row["count"] * asked_gpus(share, size))


def meeting(row):
    said = clash([Tenancy(*held) for held in row["held"]], Tenancy(*row["new"]), is_mig=row["is_mig"])

    assert row["rule"] in said


ASKED = {
    "footprint": footprint,
    "flag": flag,
    "model": model,
    "starts": starts,
    "reservations": reservations,
    "spared": spared,
    "kai": kai,
    "order": order,
    "need": need,
    "mig": mig,
    "left": left,
    "fragments": fragments,
    "cards": cards,
    "clash": meeting,
}


@pytest.mark.parametrize("row", TABLE, ids=[row["case"] for row in TABLE])
def test_the_table_of_sharing(row):
    ASKED[row["ask"]](row)


def test_every_case_has_its_own_name_and_every_question_is_asked():
    assert len(TABLE) == len({row["case"] for row in TABLE})
    assert set(ASKED) == {row["ask"] for row in TABLE}
