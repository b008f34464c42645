"""A shape as a ResourceClaimTemplate, and what a claim asks for."""

from dataclasses import replace

import pytest

from actuator.mechanisms.dra import Ask, ask_of, asks_gpu, asks_part, claim_template, request_of, shape_asked
from fleet.boards import A30_24GB, A100_40GB, A100_80GB, BOARDS, H100_80GB
from fleet.devices import Bound, Device, DeviceRequest
from fleet.errors import RefusedError
from fleet.ledgers.consumable import Capacity, Policy, SharedDevice
from fleet.shape import Shape, shapes_of
from tests.fakes.manifests import cel, claim_spec, observed, request

ASK = Ask("gpu", DeviceRequest("gpu"))
EVERY_SHAPE = [(board, shape) for board in BOARDS.values() for shape in shapes_of(board)]


def spec_of(board, shape, like=ASK):
    return claim_template("llm", board, shape, like)["spec"]["spec"]


@pytest.mark.parametrize(("board", "shape"), EVERY_SHAPE, ids=[str(shape) for _, shape in EVERY_SHAPE])
def test_what_a_template_asks_for_is_read_back_as_the_shape_it_was_made_for(board, shape):
    ask = ask_of(spec_of(board, shape))

    assert shape == shape_asked(ask.request, BOARDS.values())


def test_a_mig_shape_asks_the_mig_class_for_its_profile_and_guards_what_may_be_absent():
    requests = spec_of(H100_80GB, Shape("h100-80gb", "1g.10gb"))["devices"]["requests"]

    attributes = "device.attributes['gpu.nvidia.com']"
    assert [
        {
            "name": "gpu",
            "exactly": {
                "deviceClassName": "mig.nvidia.com",
                "selectors": [
                    cel(f"'profile' in {attributes} && {attributes}.profile == '1g.10gb'"),
                    cel(
                        f"'productName' in {attributes} "
                        f"&& {attributes}.productName in ['NVIDIA H100 80GB HBM3', 'NVIDIA H800']"
                    ),
                ],
                "allocationMode": "ExactCount",
                "count": 1,
            },
        }
    ] == requests


MI = 1 << 20
BY_MEMORY = SharedDevice(
    {"memory": Capacity(81559 * MI, Policy(default=81559 * MI, minimum=MI, maximum=81559 * MI, step=MI))}
)
CARD = Device(
    "n", "n", "gpu-0", "gpu", "GPU-0", None, {}, product=H100_80GB.product_names[0], shared=BY_MEMORY
)
KINDS = [(Shape("h100-80gb"), CARD)]
ALONE = (Shape("h100-80gb"), replace(CARD, shared=None))


class TestShares:
    quarter = Shape("h100-80gb", "25/100")

    def test_a_claim_names_the_part_of_each_capacity_and_only_cards_that_are_shared(self):
        template = claim_template("llm", H100_80GB, self.quarter, ASK, BY_MEMORY)
        (asked,) = template["spec"]["spec"]["devices"]["requests"]
        assert {"requests": {"memory": "20389Mi"}} == asked["exactly"]["capacity"]
        assert "device.allowMultipleAllocations" in asked["exactly"]["selectors"][1]["cel"]["expression"]
        made = ask_of(template["spec"]["spec"])
        assert made.request.must_share
        assert self.quarter == shape_asked(made.request, [H100_80GB], [ALONE, *KINDS])
        assert asks_part(template["spec"]["spec"])

    @pytest.mark.parametrize("shared", [None, SharedDevice({"memory": Capacity(3, Policy(3, 1, 3, 1))})])
    def test_none_is_written_where_no_card_gives_such_a_part(self, shared):
        with pytest.raises(
            RefusedError, match="no claim is written for h100-80gb:25/100: no card of the fleet"
        ):
            request_of(H100_80GB, self.quarter, shared)

    @pytest.mark.parametrize(
        ("memory_mib", "profile"), [(81559, "whole"), (81500, "whole"), (40779, "50/100"), (40500, "50/100")]
    )
    def test_a_user_s_amount_is_the_share_that_it_fits_in(self, memory_mib, profile):
        asked = DeviceRequest("gpu", amounts=(("memory", memory_mib * MI),))
        assert Shape("h100-80gb", profile) == shape_asked(asked, [H100_80GB], KINDS)

    @pytest.mark.parametrize(
        ("amounts", "kinds", "why"),
        [
            (
                {"memory": 20 << 30},
                KINDS,
                "consumes memory 20480Mi .* memory 8155Mi .10/100. or .* 20389Mi .25/100.",
            ),
            ({"memory": 24467 * MI}, KINDS, "consumes memory 24467Mi"),
            ({"memory": 100 << 30}, KINDS, "amounts that a card of the fleet does not give"),
            ({"shares": 1}, KINDS, "amounts that a card of the fleet does not give"),
            ({"memory": 20389 * MI}, [*KINDS, ALONE], "select device.allowMultipleAllocations"),
            ({"memory": 20389 * MI}, [], "no card of the fleet that takes several claims"),
        ],
    )
    def test_what_is_no_share_is_refused_and_what_would_be_one_is_said(self, amounts, kinds, why):
        asked = DeviceRequest("gpu", amounts=tuple(amounts.items()))
        with pytest.raises(RefusedError, match=why):
            shape_asked(asked, [H100_80GB], kinds)

    def test_a_card_that_is_a_little_smaller_changes_nothing(self):
        """Drivers differ in what they keep; what was written for the larger one stays what it is."""
        few = Policy(default=81000 * MI, minimum=MI, maximum=81000 * MI, step=MI)
        smaller = replace(CARD, shared=SharedDevice({"memory": Capacity(81000 * MI, few)}))
        asked = DeviceRequest("gpu", amounts=(("memory", 20389 * MI),))
        assert self.quarter == shape_asked(asked, [H100_80GB], [(Shape("h100-80gb"), smaller), *KINDS])

    def test_parts_of_several_cards_are_refused(self):
        asked = request("gpu.nvidia.com", None, count=2, capacity={"requests": {"memory": "1Gi"}})
        with pytest.raises(RefusedError, match="name capacity of one whole card"):
            ask_of(claim_spec(asked))


def test_several_cards_are_read_back_with_what_they_must_share():
    root = {"matchAttribute": "resource.kubernetes.io/pcieRoot"}
    product = {"requests": ["gpu"], "matchAttribute": "gpu.nvidia.com/productName"}
    user = ask_of(claim_spec(request("gpu.nvidia.com", None, count=4), constraints=[root, product]))
    assert (4, ("resource.kubernetes.io/pcieRoot", "productName")) == (
        user.request.count,
        user.request.sharing,
    )

    spec = spec_of(H100_80GB, Shape("h100-80gb", cards=4), user)

    assert Shape("h100-80gb", cards=4) == shape_asked(ask_of(spec).request, [H100_80GB])
    assert [root, {"matchAttribute": "gpu.nvidia.com/productName"}] == spec["devices"]["constraints"]


def test_a_whole_card_asks_the_gpu_class_and_no_profile():
    exactly = spec_of(H100_80GB, Shape("h100-80gb"))["devices"]["requests"][0]["exactly"]

    assert "gpu.nvidia.com" == exactly["deviceClassName"]
    assert 1 == len(exactly["selectors"])


def test_a_template_is_marked_as_ours_and_lives_where_its_pods_live():
    meta = claim_template("llm", H100_80GB, Shape("h100-80gb", "3g.40gb"), ASK)["metadata"]

    assert "llm" == meta["namespace"]
    assert {"app.kubernetes.io/managed-by": "foreslice"} == meta["labels"]


def test_the_name_follows_the_content():
    """Specs are immutable, so other content must mean another object, and equal content the same."""
    shape = Shape("h100-80gb", "3g.40gb")
    other_driver = replace(H100_80GB, product_names=("NVIDIA H100 SXM5",))

    def name(board=H100_80GB, shape=shape, like=ASK):
        return claim_template("llm", board, shape, like)["metadata"]["name"]

    names = [
        name(),
        name(shape=Shape("h100-80gb", "4g.40gb")),
        name(like=replace(ASK, name="r")),
        name(like=replace(ASK, tolerations=({"key": "x", "operator": "Exists"},))),
        name(board=other_driver),
    ]
    assert len(names) == len(set(names))
    assert name() == name()
    assert name().startswith("foreslice-h100-80gb-3g-40gb-")


def test_request_name_and_tolerations_of_the_user_are_kept():
    """Containers refer to the request by name."""
    toleration = {"key": "gpu.nvidia.com/unmonitored", "operator": "Exists", "effect": "NoSchedule"}
    user = ask_of(claim_spec(request(name="accelerator", tolerations=[toleration])))

    made = ask_of(spec_of(H100_80GB, Shape("h100-80gb", "1g.10gb"), user))

    assert ("accelerator", (toleration,)) == (made.name, made.tolerations)


def test_request_of_names_the_products_of_the_board():
    """A 1g.10gb is one memory slice on an H100, two on an A100 40 GB."""
    asked = request_of(A100_40GB, Shape("a100-40gb", "1g.10gb"))

    assert DeviceRequest("mig", "1g.10gb", A100_40GB.product_names) == asked


@pytest.mark.parametrize(
    ("case", "asked"),
    [
        ("whole-dynamic", DeviceRequest("gpu")),
        ("mig-1g-dynamic", DeviceRequest("mig", "1g.10gb")),
        ("mig-3g-dynamic", DeviceRequest("mig", "3g.40gb")),
        ("mig-3g-static", DeviceRequest("mig", "3g.40gb")),
        ("share-unlimited-default", DeviceRequest("gpu")),
        ("extended-resource", DeviceRequest("gpu")),
        ("share-memory-20Gi", DeviceRequest("gpu", amounts=(("memory", 20 << 30),))),
        ("share-count-2-of-4", DeviceRequest("gpu", amounts=(("shares", 2),))),
    ],
)
def test_observed_claims_are_read(case, asked):
    claims = {body["metadata"]["annotations"]["example.invalid/case"]: body for body in observed("claims")}

    assert asked == ask_of(claims[case]["spec"]).request


def test_an_observed_claim_for_a_part_of_an_instance_is_no_shape():
    claims = {body["metadata"]["annotations"]["example.invalid/case"]: body for body in observed("claims")}

    with pytest.raises(RefusedError, match="consumes capacity of MIG devices"):
        ask_of(claims["share-mig-with-zeros"]["spec"])


ATTRIBUTES = "device.attributes['gpu.nvidia.com']"
CAPACITY = "device.capacity['gpu.nvidia.com']"
DOUBLE_QUOTED = 'device.attributes["gpu.nvidia.com"]'


@pytest.mark.parametrize(
    ("asked", "expressions"),
    [
        (DeviceRequest("mig", "2g.20gb"), [f"{ATTRIBUTES}.profile == '2g.20gb'"]),
        (DeviceRequest("mig", "2g.20gb"), [f'{DOUBLE_QUOTED}.profile == "2g.20gb"']),
        (DeviceRequest("mig", "1g.10gb+me"), [f"{ATTRIBUTES}.profile == '1g.10gb+me'"]),
        (
            DeviceRequest("mig", "2g.20gb", ("NVIDIA A30",)),
            [f"{ATTRIBUTES}.profile == '2g.20gb' && {ATTRIBUTES}.productName == 'NVIDIA A30'"],
        ),
        (
            DeviceRequest("mig", "2g.20gb", ("A", "B")),
            [f"{ATTRIBUTES}.profile == '2g.20gb'", f"{ATTRIBUTES}.productName in ['A', 'B']"],
        ),
        (
            DeviceRequest("mig", "2g.20gb"),
            [f"'profile' in {ATTRIBUTES} && {ATTRIBUTES}.profile == '2g.20gb'"],
        ),
        (DeviceRequest("mig"), []),
        (
            DeviceRequest("mig", None, ("A",), ("Hopper",)),
            [f"{ATTRIBUTES}.architecture == 'Hopper' && {ATTRIBUTES}.productName in ['A']"],
        ),
        (
            DeviceRequest("mig", "2g.20gb", ("B",)),
            [
                f"{ATTRIBUTES}.profile == '2g.20gb' && {ATTRIBUTES}.productName in ['A', 'B']",
                f"{ATTRIBUTES}.productName in ['B', 'C']",
            ],
        ),
        *(
            (DeviceRequest("mig", bounds=(Bound("memory", sign, 40 * 2**30),)), [clause])
            for sign, clause in (
                (">=", f"'memory' in {CAPACITY} && {CAPACITY}.memory.compareTo(quantity('40Gi')) >= 0"),
                ("<", f"{CAPACITY}.memory.compareTo(quantity('40960Mi')) < 0"),
                (">", f"{CAPACITY}.memory.isGreaterThan(quantity('40Gi'))"),
                ("<", f"{CAPACITY}.memory.isLessThan(quantity('40Gi'))"),
            )
        ),
        (
            DeviceRequest("mig", bounds=(Bound("multiprocessors", "==", 60),)),
            [f'{CAPACITY}.multiprocessors.compareTo(quantity("60")) == 0'],
        ),
    ],
)
def test_selectors_that_say_which_shape_is_asked(asked, expressions):
    exactly = request(profile=None, selectors=[cel(expression) for expression in expressions])

    assert asked == ask_of(claim_spec(exactly)).request


@pytest.mark.parametrize(
    "expression",
    [
        "device.capacity['gpu.nvidia.com'].memory > 40",
        "device.capacity['gpu.nvidia.com'].decoders.compareTo(quantity('1')) > 0",
        f"{ATTRIBUTES}.profile == '1g.10gb' || {ATTRIBUTES}.profile == '2g.20gb'",
        f"{ATTRIBUTES}.profile != '1g.10gb'",
        f"!({ATTRIBUTES}.profile == '1g.10gb')",
        f"{ATTRIBUTES}.profile.startsWith('1g')",
        f"{ATTRIBUTES}.uuid == 'GPU-1'",
    ],
)
def test_a_selector_that_is_not_understood_is_refused_by_name(expression):
    exactly = request(profile=None, selectors=[cel(expression)])

    with pytest.raises(RefusedError, match="cannot tell which shape the selector asks for"):
        ask_of(claim_spec(exactly))


@pytest.mark.parametrize(
    ("reason", "spec"),
    [
        ("exactly one request", claim_spec()),
        ("exactly one request", {}),
        ("exactly one request", claim_spec(request(), request(name="other"))),
        ("device class None", claim_spec({"name": "gpu", "firstAvailable": [{"name": "a"}]})),
        ("asks for nothing", claim_spec({"name": "gpu"})),
        ("a whole card for its profile", claim_spec(request("gpu.nvidia.com"))),
        (
            "several values of profile",
            claim_spec(request(selectors=[cel(f"{ATTRIBUTES}.profile == '{p}'") for p in ("1g", "2g")])),
        ),
        (
            "any of 1g.10gb, 2g.20gb: select one profile",
            claim_spec(request(selectors=[cel(f"{ATTRIBUTES}.profile in ['1g.10gb', '2g.20gb']")])),
        ),
        (
            "no quantity: much",
            claim_spec(request(selectors=[cel(f"{CAPACITY}.memory.isLessThan(quantity('much'))")])),
        ),
        ("device class vfio.gpu.nvidia.com", claim_spec(request("vfio.gpu.nvidia.com"))),
        ("exactly one device", claim_spec(request(count=2))),
        (
            "other than matchAttribute",
            claim_spec(request(), constraints=[{"distinctAttribute": "gpu.nvidia.com/uuid"}]),
        ),
        ("exactly one device", claim_spec(request(allocationMode="All"))),
        ("adminAccess", claim_spec(request(adminAccess=True))),
        ("capacity", claim_spec(request(capacity={"requests": {"memory": "20Gi"}}))),
        ("driver config", claim_spec(request(), config=[{"opaque": {"driver": "gpu.nvidia.com"}}])),
    ],
)
def test_claims_that_are_no_single_shape_are_refused_with_the_reason(reason, spec):
    with pytest.raises(RefusedError, match=reason):
        ask_of(spec)


@pytest.mark.parametrize(
    ("expected", "spec"),
    [
        (True, claim_spec(request("gpu.nvidia.com", None))),
        (True, claim_spec(request("mig.nvidia.com"))),
        (
            True,
            claim_spec({"name": "g", "firstAvailable": [{"name": "a", "deviceClassName": "mig.nvidia.com"}]}),
        ),
        (True, claim_spec(request("nic.example.com", None), request())),
        (False, claim_spec(request("nic.example.com", None))),
        (False, claim_spec(request("compute-domain-default-channel.nvidia.com", None))),
        (False, claim_spec()),
        (False, {}),
    ],
)
def test_asks_gpu_looks_at_every_request_and_alternative(expected, spec):
    assert expected is asks_gpu(spec)


@pytest.mark.parametrize(
    ("shape", "asked", "boards"),
    [
        (Shape("h100-80gb"), DeviceRequest("gpu"), [H100_80GB]),
        (Shape("h100-80gb", "3g.40gb"), DeviceRequest("mig", "3g.40gb"), [A30_24GB, H100_80GB]),
        (
            Shape("a100-80gb", "1g.10gb"),
            DeviceRequest("mig", "1g.10gb", ("NVIDIA A100-SXM4-80GB",)),
            [A100_40GB, A100_80GB, H100_80GB],
        ),
    ],
)
def test_the_shape_asked_is_found_among_the_boards_of_the_fleet(shape, asked, boards):
    assert shape == shape_asked(asked, boards)


@pytest.mark.parametrize(
    ("reason", "asked", "boards"),
    [
        ("any MIG device: select a profile", DeviceRequest("mig"), [H100_80GB]),
        ("profile 9g.90gb, which no card of the fleet offers", DeviceRequest("mig", "9g.90gb"), [H100_80GB]),
        ("any gpu device, which no card", DeviceRequest("gpu"), []),
        (
            "profile 1g.10gb of a100-80gb and h100-80gb alike: select a productName",
            DeviceRequest("mig", "1g.10gb"),
            [H100_80GB, A100_80GB],
        ),
        ("any gpu device of a30-24gb and h100-80gb", DeviceRequest("gpu"), [A30_24GB, H100_80GB]),
        ("no card of the fleet", DeviceRequest("gpu", None, ("NVIDIA B200",)), [H100_80GB]),
    ],
)
def test_what_names_no_shape_or_several_is_refused(reason, asked, boards):
    with pytest.raises(RefusedError, match=reason):
        shape_asked(asked, boards)


def test_alternatives_are_named_as_an_allocation_names_them_first_choice_first():
    parts = [
        {"name": name, **request(profile=profile)["exactly"]}
        for name, profile in (("large", "4g.40gb"), ("small", "1g.10gb"))
    ]
    ask = ask_of(claim_spec({"name": "gpu", "firstAvailable": parts}))
    assert (
        ("gpu/large", DeviceRequest("mig", "4g.40gb")),
        ("gpu/small", DeviceRequest("mig", "1g.10gb")),
    ) == ask.alternatives


def test_one_request_is_its_own_only_alternative():
    assert (("gpu", DeviceRequest("mig", "3g.40gb")),) == ask_of(claim_spec(request())).alternatives
