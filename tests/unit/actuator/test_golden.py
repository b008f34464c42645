"""What foreslice writes for other programs: to the letter, and as their own format has it."""

import pytest
import yaml
from jsonschema import Draft202012Validator

from actuator.kube.nodes import NodeDoor
from actuator.layouts.config_file import with_configs
from actuator.layouts.named import entries_of, name_of, other_of
from actuator.mechanisms.dra import Ask, claim_template, request_of
from actuator.objects.holds import rule_of, toleration
from fleet.boards import H100_80GB
from fleet.devices import DeviceRequest
from fleet.holds import Hold
from fleet.shape import Shape
from fleet.workload import WorkloadKey
from simulator.mig_manager import Fault
from tests.builders.golden import KINDS, format_of, mutations_of, objects_of, text_of
from tests.fakes.layouts import Site
from tests.fakes.slicing import PEOPLES, SlicingSite

CHAT = WorkloadKey("serving", "chat")
HALVES = [{"3g.40gb": 1, "4g.40gb": 1}, {"3g.40gb": 1, "4g.40gb": 1}, {"1g.10gb": 7}, None, {}]
MUTATIONS = [(kind, mutation) for kind in KINDS for mutation in mutations_of(kind)]


class Wire:
    """An API server that keeps what was sent to it."""

    def __init__(self):
        self.sent = []

    def request(self, _method, _path, body=None, **_):
        self.sent.append(body)
        return {}


class WiredSite(Site):
    """A node under the MIG manager whose marks also go through the door to a real API server."""

    def __init__(self, **site):
        super().__init__(**site)
        self.wire = Wire()
        self.door = NodeDoor(self.wire, "gpu-operator", "layouts", lambda: None)

    def mark(self, node, labels, notes, *, is_held):
        self.door.mark(node, labels, notes, is_held=is_held)
        super().mark(node, labels, notes, is_held=is_held)


def refusals(kind, body):
    """What the format of a kind has against an object."""
    return Draft202012Validator(format_of(kind)).iter_errors(body)


def manager_file():
    """The golden file, ours taken out of it and put in again."""
    entries = entries_of(HALVES)
    first = name_of(entries)
    people = with_configs(text_of("mig-manager-config"), {}, "golden")
    return with_configs(people, {first: entries, other_of(first): entries}, "golden")


def node_patches():
    """All marks of a change that the manager leaves half done and that is taken back."""
    site = WiredSite(faults=[Fault.WEDGED])
    site.until_quiet()
    return site.wire.sent


def claim_templates():
    cards = DeviceRequest("gpu", count=2, sharing=("resource.kubernetes.io/pcieRoot", "productName"))
    whole = Ask("gpus", cards, (toleration(CHAT),))
    half = Shape("h100-80gb", "3g.40gb")
    return [
        claim_template("serving", H100_80GB, half, Ask("gpu", request_of(H100_80GB, half))),
        claim_template("serving", H100_80GB, Shape("h100-80gb", cards=2), whole),
    ]


def taint_rules():
    until_s = 1_800_000_000.0
    return [rule_of(Hold(("gpu-node-1", "gpu-0-mig-3g40gb-9-4"), CHAT, "a replica on 3g.40gb", until_s))]


def plugin_configs():
    """The configs that foreslice makes of one of people's, there and back to whole cards."""
    site = SlicingSite("renamed")
    site.until_quiet(4)
    site.until_quiet(2)
    site.until_quiet(1)
    found = {}
    for _, texts in site.written:
        found |= {text: None for name, text in texts.items() if name not in PEOPLES}
    return [yaml.safe_load(text) for text in found]


WRITTEN = {
    "claim-templates": claim_templates,
    "device-plugin-config": plugin_configs,
    "device-taint-rule": taint_rules,
    "mig-manager-config": lambda: [yaml.safe_load(manager_file())],
    "node-patches": node_patches,
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_is_the_golden_file(kind):
    assert objects_of(kind) == WRITTEN[kind]()


def test_the_managers_file_is_the_golden_one_to_the_letter():
    assert text_of("mig-manager-config") == manager_file()


@pytest.mark.parametrize("kind", KINDS)
def test_the_golden_file_names_what_it_satisfies_and_has_ten_mutations(kind):
    assert "Satisfies: " in text_of(kind).partition("\n")[0]
    assert len(mutations_of(kind)) >= 10


@pytest.mark.parametrize("kind", KINDS)
def test_the_format_takes_the_golden_objects(kind):
    Draft202012Validator.check_schema(format_of(kind))
    assert [] == [error.message for body in objects_of(kind) for error in refusals(kind, body)]


@pytest.mark.parametrize(("kind", "mutation"), MUTATIONS, ids=[f"{k}: {m.why}" for k, m in MUTATIONS])
def test_the_format_refuses_a_mutation_in_the_table_that_it_changes(kind, mutation):
    """Refused as a whole, or within that table; nothing else is."""
    table = mutation.at[:-1]
    paths = [tuple(error.absolute_path) for error in refusals(kind, mutation.body)]

    assert paths
    assert [] == [path for path in paths if path[: len(table)] != table[: len(path)]]
