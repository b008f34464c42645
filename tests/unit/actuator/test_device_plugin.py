"""Shapes as resources of NVIDIA's device plugin."""

import pytest

from actuator.mechanisms.device_plugin import Host, profile_of, resource_of, shape_asked, with_shape
from fleet.boards import A100_40GB, A100_80GB, H100_80GB
from fleet.errors import RefusedError
from fleet.shape import Shape

H100 = Host(H100_80GB, "NVIDIA-H100-80GB-HBM3")
A100 = Host(A100_80GB, "NVIDIA-A100-SXM4-80GB")
OLD = Host(A100_40GB, "NVIDIA-A100-SXM4-40GB")
QUARTERS = Host(H100_80GB, "NVIDIA-H100-80GB-HBM3-SHARED", replicas=4)
HALVES = Host(H100_80GB, "NVIDIA-H100-80GB-HBM3-SHARED", replicas=2)
RENAMED = Host(H100_80GB, "NVIDIA-H100-80GB-HBM3", replicas=4, sliced_as="nvidia.com/gpu.shared")
SINGLE = Host(H100_80GB, "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb", "1g.10gb")


def spec(resources, node_selector=None, **more):
    engine = {"name": "engine", "resources": {"limits": {f"nvidia.com/{n}": c for n, c in resources.items()}}}
    body = {"containers": [{"name": "sidecar"}, engine], **more}
    return {**body, "nodeSelector": node_selector} if node_selector else body


@pytest.mark.parametrize(
    ("resources", "selector", "hosts", "shape"),
    [
        ({"gpu": "1"}, None, [H100], Shape("h100-80gb")),
        ({"gpu": 4}, None, [H100], Shape("h100-80gb", cards=4)),
        ({"mig-3g.40gb": "1"}, None, [H100], Shape("h100-80gb", "3g.40gb")),
        ({"mig-1g.10gb.me": "1"}, None, [H100], Shape("h100-80gb", "1g.10gb+me")),
        ({"gpu": "1"}, None, [SINGLE], Shape("h100-80gb", "1g.10gb")),
        ({"mig-1g.5gb": "1"}, None, [H100, OLD], Shape("a100-40gb", "1g.5gb")),
        ({"gpu": "1"}, {"nvidia.com/gpu.product": A100.product}, [H100, A100], Shape("a100-80gb")),
    ],
)
def test_what_a_pod_asks_for_is_a_shape_of_what_nodes_offer(resources, selector, hosts, shape):
    assert shape == shape_asked(spec(resources, selector), hosts)


@pytest.mark.parametrize(
    ("asked", "hosts", "why"),
    [
        (spec({"gpu": "1"}), [H100, A100], "a100-80gb:whole and h100-80gb:whole alike: give a nodeSelector"),
        (spec({"gpu": "1"}), [H100, SINGLE], "give a nodeSelector"),
        (spec({"mig-1g.10gb": "2"}), [H100], "neither whole cards nor one instance"),
        (spec({"gpu": "0"}), [H100], "neither whole cards nor one instance"),
        (spec({"gpu": "2"}), [SINGLE], "which no engine spans"),
        (spec({"gpu.shared": "1"}), [H100], "no node of the fleet"),
        (spec({"mig-1g.5gb": "1"}), [H100], "no node of the fleet"),
        (spec({"mig-1g.10gb": "1"}), [SINGLE], "no node of the fleet"),
        (spec({"gpu": "1", "mig-1g.10gb": "1"}), [H100], "exactly one container"),
        (spec({}), [H100], "exactly one container"),
        ({"initContainers": spec({"gpu": "1"})["containers"]}, [H100], "exactly one container"),
    ],
)
def test_what_is_no_one_shape_is_refused_with_the_reason(asked, hosts, why):
    with pytest.raises(RefusedError, match=why):
        shape_asked(asked, hosts)


@pytest.mark.parametrize(
    ("hosts", "shape", "resource", "selector"),
    [
        ([H100], Shape("h100-80gb", "3g.40gb"), "nvidia.com/mig-3g.40gb", None),
        ([H100], Shape("h100-80gb"), "nvidia.com/gpu", None),
        # The 1g.10gb of an A100 has the same resource name and less of everything.
        ([H100, A100], Shape("h100-80gb", "1g.10gb"), "nvidia.com/mig-1g.10gb", H100.product),
        ([H100, OLD], Shape("h100-80gb", "3g.40gb"), "nvidia.com/mig-3g.40gb", None),
        ([SINGLE, H100], Shape("h100-80gb"), "nvidia.com/gpu", H100.product),
        ([SINGLE], Shape("h100-80gb", "1g.10gb"), "nvidia.com/gpu", None),
    ],
)
def test_another_shape_is_asked_for_so_that_no_other_can_be_given(hosts, shape, resource, selector):
    base = spec({"mig-2g.20gb": "1"}, {"nvidia.com/gpu.product": "x", "pool": "a"})
    base["containers"][1]["resources"]["requests"] = {"cpu": "4", "nvidia.com/mig-2g.20gb": "1"}
    changed = with_shape(base, shape, hosts)

    assert {"limits": {resource: "1"}, "requests": {"cpu": "4", resource: "1"}} == (
        changed["containers"][1]["resources"]
    )
    assert {"pool": "a"} | ({"nvidia.com/gpu.product": selector} if selector else {}) == changed[
        "nodeSelector"
    ]
    assert "nvidia.com/mig-2g.20gb" in base["containers"][1]["resources"]["limits"], "the base stays"
    assert shape == shape_asked(changed, hosts)


def test_a_shape_that_no_node_offers_is_not_asked_for():
    with pytest.raises(RefusedError, match="no node of the fleet offers h100-80gb:3g"):
        with_shape(spec({"gpu": "1"}), Shape("h100-80gb", "3g.40gb"), [SINGLE])


@pytest.mark.parametrize("profile", [None, *(p.name for p in H100_80GB.profiles)])
def test_a_resource_names_its_profile(profile):
    assert profile == profile_of(resource_of(profile))


def engine(resource, *args, node_selector=None, env=()):
    body = spec({resource: "1"}, node_selector)
    body["containers"][1] |= {"args": list(args), "env": list(env)}
    return body


TOLD = "--gpu-memory-utilization=$(FORESLICE_GPU_MEMORY_UTILIZATION)"


class TestTimeSlices:
    @pytest.mark.parametrize(
        ("asked", "hosts", "profile"),
        [
            (engine("gpu", "--gpu-memory-utilization", "0.2"), [QUARTERS], "25/100"),
            (engine("gpu.shared", "--gpu-memory-utilization=0.225"), [RENAMED, H100], "25/100"),
            (engine("gpu", "serve --mem-fraction-static 0.4"), [HALVES], "50/100"),
            (engine("gpu", "--gpu-memory-utilization=0.9"), [RENAMED, H100], "whole"),
            (
                engine("gpu", "--gpu-memory-utilization=0.4", node_selector={"nvidia.com/gpu.replicas": "2"}),
                [QUARTERS, HALVES],
                "50/100",
            ),
        ],
    )
    def test_a_pod_has_the_part_of_a_card_that_all_replicas_busy_leave_it(self, asked, hosts, profile):
        assert Shape("h100-80gb", profile) == shape_asked(asked, hosts)

    @pytest.mark.parametrize(
        ("asked", "hosts", "why"),
        [
            (
                engine("gpu", "--gpu-memory-utilization=0.9"),
                [QUARTERS],
                "0.9 of the memory .* keeps it to 0.225",
            ),
            (engine("gpu"), [QUARTERS], "an unknown part of the memory"),
            # Its activations and graphs come on top.
            (
                engine("gpu", "serve --mem-fraction-static 0.45"),
                [HALVES],
                "keeps it to 0.4: write --mem-frac",
            ),
            (engine("gpu", TOLD), [QUARTERS], "an unknown part of the memory"),
            (spec({"gpu": "2"}), [QUARTERS], "time slices on some nodes, which no engine spans"),
            # Whoever wants a card of its own is never left to chance.
            (engine("gpu"), [QUARTERS, H100], "25/100 and h100-80gb:whole alike: give a nodeSelector"),
        ],
    )
    def test_what_nothing_keeps_apart_is_refused(self, asked, hosts, why):
        with pytest.raises(RefusedError, match=why):
            shape_asked(asked, hosts)

    @pytest.mark.parametrize(
        ("hosts", "profile", "resource", "selector", "memory"),
        [
            ([RENAMED, H100], "25/100", "nvidia.com/gpu.shared", None, "0.225"),
            ([H100, RENAMED], "25/100", "nvidia.com/gpu.shared", None, "0.225"),
            ([RENAMED, H100], "whole", "nvidia.com/gpu", None, "0.900"),
            ([QUARTERS, H100], "whole", "nvidia.com/gpu", {"product": H100.product}, "0.900"),
            ([QUARTERS, H100], "25/100", "nvidia.com/gpu", {"product": QUARTERS.product}, "0.225"),
            (
                [QUARTERS, HALVES],
                "50/100",
                "nvidia.com/gpu",
                {"product": HALVES.product, "replicas": "2"},
                "0.450",
            ),
        ],
    )
    def test_another_shape_comes_with_the_memory_that_it_may_take(
        self, hosts, profile, resource, selector, memory
    ):
        shape = Shape("h100-80gb", profile)
        changed = with_shape(engine("gpu", TOLD), shape, hosts)

        assert {resource: "1"} == changed["containers"][1]["resources"]["limits"]
        named = {f"nvidia.com/gpu.{name}": value for name, value in (selector or {}).items()}
        assert named == changed.get("nodeSelector", {})
        env = {"name": "FORESLICE_GPU_MEMORY_UTILIZATION", "value": memory}
        assert [env] == changed["containers"][1]["env"]
        assert shape == shape_asked(changed, hosts)

    @pytest.mark.parametrize(
        ("args", "profile", "why"),
        [
            ("--gpu-memory-utilization=0.9", "25/100", r"keeps it to 0\.225"),
            (
                "--gpu-memory-utilization=0.2",
                "whole",
                r"takes 0\.2 of the memory whatever .* 0\.9 is reckoned",
            ),
            (
                "--mem-fraction-static=0.6",
                "whole",
                r"takes 0\.6 .* 0\.8 is reckoned with: write --mem-fraction",
            ),
        ],
    )
    def test_an_engine_that_cannot_be_told_gets_no_shape_that_does_not_go_with_it(self, args, profile, why):
        with pytest.raises(RefusedError, match=why):
            with_shape(engine("gpu", args), Shape("h100-80gb", profile), [RENAMED, H100])

    @pytest.mark.parametrize("args", [(), ("--gpu-memory-utilization=0.75",), ("--mem-fraction-static=0.7",)])
    def test_who_takes_about_what_is_reckoned_with_is_moved(self, args):
        shape = Shape("h100-80gb", "3g.40gb")
        assert shape == shape_asked(with_shape(engine("gpu", *args), shape, [H100]), [H100])
