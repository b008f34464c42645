"""Manifests as people paste them: every fault is named, and what comes back is right."""

import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from fleet.errors import InputError
from foreslice.cli import app
from foreslice.doctor.examine import examine

PASTED = Path(__file__).parents[3] / "data" / "pasted"
MEMORY = "device.capacity['gpu.nvidia.com'].memory"


def call(*arguments):
    return CliRunner().invoke(app, ["doctor", *arguments], catch_exceptions=False)


def pasted(name):
    return list(yaml.safe_load_all((PASTED / name).read_text()))


def codes(examination):
    return [found.code for found in examination.findings]


def template(**ask):
    """A claim template in the form of v1."""
    requests = [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com", **ask}}]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "t"},
        "spec": {"spec": {"devices": {"requests": requests}}},
    }


def selecting(expression, device_class="gpu.nvidia.com"):
    return template(deviceClassName=device_class, selectors=[{"cel": {"expression": expression}}])


def request(examination, index=0):
    return examination.corrected[index]["spec"]["spec"]["devices"]["requests"][0]["exactly"]


def expression(examination):
    return request(examination)["selectors"][0]["cel"]["expression"]


def pod(claims=("gpu",), **container):
    """A pod that uses the claim `gpu` from template `t`."""
    used = {"resources": {"claims": [{"name": name} for name in claims]}} if claims else {}
    spec = {
        "containers": [{"name": "engine", "image": "engine", **used, **container}],
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}],
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


@pytest.mark.parametrize(
    ("toleration", "is_named"),
    [
        ({"key": "nvidia.com/gpu", "operator": "Exists"}, False),
        ({"operator": "Exists"}, False),
        ({"key": "", "operator": "Exists", "effect": ""}, False),
        ({"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}, False),
        ({"key": "nvidia.com/gpu", "operator": "Equal", "value": "true"}, False),
        ({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoExecute"}, True),
        ({"key": "other", "operator": "Exists"}, True),
        ({"effect": "NoSchedule"}, True),
        ({"key": "nvidia.com/gpu", "operator": "Lt", "value": "3"}, True),
    ],
)
def test_pods_that_do_not_tolerate_the_taint_of_nodes_with_gpus_are_told_so(toleration, is_named):
    body = pod()
    body["spec"]["tolerations"] = [toleration]
    assert is_named is ("toleration" in codes(examine([template(), body])))


class TestPastedManifests:
    def test_a_template_by_attribute(self):
        found = examine(pasted("attribute-template.yaml"))

        assert [
            *("old-version", "template-spec", "template-metadata", "limits", "exactly"),
            *("cel-capacity", "cel-quantity"),
        ] == codes(found)
        wanted = selecting(f"{MEMORY}.compareTo(quantity('40Gi')) > 0")
        wanted["spec"]["spec"]["devices"]["requests"][0]["exactly"]["count"] = 1
        assert ({**wanted, "metadata": {"name": "gpu-claim-template"}},) == found.corrected

    def test_a_template_of_a_slice(self):
        found = examine(pasted("mig-template.yaml"))

        assert ["old-version", "exactly", "cel-name"] == codes(found)
        assert "device.attributes['gpu.nvidia.com'].profile == '1g.10gb'" == expression(found)

    def test_a_pod_whose_model_is_larger_than_its_card(self):
        found = examine(pasted("vllm-70b-pod.yaml"))

        assert ["no-room", "toleration"] == codes(found)
        assert "131 GiB of weights in bf16" in found.findings[0].what
        claim, mended = found.corrected
        asked = request(found)
        assert (4, "75Gi" in asked["selectors"][0]["cel"]["expression"]) == (asked["count"], True)
        assert "4" == mended["spec"]["containers"][0]["args"][-1]
        named = mended["spec"]["resourceClaims"][0]["resourceClaimTemplateName"]
        assert claim["metadata"]["name"] == named

    def test_values_and_a_pod_of_hami(self):
        found = examine(pasted("hami.yaml"))

        assert ["hami-value", "hami-value", "hami-count"] == codes(found)
        assert "gpumem: 8000" in found.findings[0].fix
        values, mended = found.corrected
        assert {"scheduler": {"kubeScheduler": {"image": {"tag": "v1.34.0"}}}} == values
        limits = mended["spec"]["containers"][0]["resources"]["limits"]
        assert {"nvidia.com/gpumem": 8000, "nvidia.com/gpu": 1} == limits

    @pytest.mark.parametrize("name", sorted(path.name for path in PASTED.iterdir()))
    def test_what_was_put_right_has_no_more_faults(self, name):
        again = examine(examine(pasted(name)).corrected)

        assert [] == [found for found in again.findings if found.severity == "error"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("device.attributes[gpu.nvidia.com].memory 40000", f"{MEMORY}.compareTo(quantity('40Gi')) > 0"),
        ("device.capacity['gpu.nvidia.com'].memory >= '80GB'", f"{MEMORY}.compareTo(quantity('80Gi')) >= 0"),
        ("device.capacity['gpu.nvidia.com'].memory >= 20480", f"{MEMORY}.compareTo(quantity('20Gi')) >= 0"),
        ("device.attributes['gpu.nvidia.com'].memory > 40", f"{MEMORY}.compareTo(quantity('40Gi')) > 0"),
        (
            "device.attributes['gpu.nvidia.com'].memory > 46068",
            f"{MEMORY}.compareTo(quantity('46068Mi')) > 0",
        ),
        (
            "device.attributes['gpu.nvidia.com'].memory > 42949672960",
            f"{MEMORY}.compareTo(quantity('42949672960')) > 0",
        ),
        (
            'device.attributes["gpu.nvidia.com"].prodctName == "NVIDIA H100"',
            "device.attributes['gpu.nvidia.com'].productName == 'NVIDIA H100'",
        ),
    ],
)
def test_selectors_mean_what_was_meant(written, meant):
    found = examine([selecting(written)])

    assert meant == expression(found)
    assert codes(found)


@pytest.mark.parametrize(
    "right",
    [
        f"{MEMORY}.compareTo(quantity('40Gi')) > 0",
        f"{MEMORY}.isGreaterThan(quantity('40Gi'))",
        "device.attributes['gpu.nvidia.com'].productName.startsWith('NVIDIA H100')",
        "'profile' in device.attributes['gpu.nvidia.com']",
        "device.attributes['dra.net'].name == 'eth0'",
        "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'",
    ],
)
def test_selectors_that_are_right_stay_as_they_are(right):
    found = examine([selecting(right)])

    assert ([], right) == (codes(found), expression(found))


def test_a_profile_is_looked_for_among_slices():
    found = examine([selecting("device.attributes['gpu.nvidia.com'].profile == '1G.10GB'")])

    assert (["cel-profile", "class"], "mig.nvidia.com") == (codes(found), request(found)["deviceClassName"])
    assert expression(found).endswith("== '1g.10gb'")


def test_a_slice_by_memory_alone_may_be_far_larger():
    found = examine([selecting(f"{MEMORY}.compareTo(quantity('8Gi')) > 0", "mig.nvidia.com")])

    assert ["profile"] == codes(found)


def test_a_name_that_no_device_has_is_named_with_those_there_are():
    (found,) = examine([selecting("device.attributes['gpu.nvidia.com'].nvlinkDomain == 'a'")]).findings

    assert "nvlinkDomain" in found.what
    assert "productName" in found.fix


def test_misspelt_and_foreign_fields_are_found():
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {"replica": 2, "gpu": {"count": 1}, "template": {"spec": {"containers": []}}},
    }
    found = examine([deployment])

    assert [("unknown-field", "write replicas"), ("unknown-field", "take it away")] == [
        (each.code, each.fix) for each in found.findings
    ]
    assert {"replicas": 2, "template": {"spec": {"containers": []}}} == found.corrected[0]["spec"]


class TestPods:
    def test_claims_stand_beside_limits(self):
        wrong = pod(claims=(), resources={"limits": {"claims": [{"name": "gpu"}]}})
        found = examine([template(), wrong])

        assert ["claims-place"] == codes(found)
        assert {"claims": [{"name": "gpu"}]} == found.corrected[1]["spec"]["containers"][0]["resources"]

    def test_a_claim_that_no_container_uses_is_given_to_the_only_one(self):
        found = examine([template(), pod(claims=())])

        assert ["claim-unused"] == codes(found)
        assert [{"name": "gpu"}] == found.corrected[1]["spec"]["containers"][0]["resources"]["claims"]

    def test_a_container_that_names_no_claim_of_its_pod(self):
        found = examine([template(), pod(claims=("gpus",))])

        assert ["claim-name"] == codes(found)
        assert [{"name": "gpu"}] == found.corrected[1]["spec"]["containers"][0]["resources"]["claims"]

    def test_a_template_that_is_elsewhere_is_said_to_be(self):
        assert ["elsewhere"] == codes(examine([pod()]))

    def test_memory_of_hami_has_no_unit(self):
        limits = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": "8Gi"}
        found = examine([template(), pod(claims=(), resources={"limits": limits})])

        assert "hami-memory" == found.findings[0].code
        assert 8192 == found.corrected[1]["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpumem"]

    @pytest.mark.parametrize(
        ("arguments", "least", "cards"),
        [
            (["--model=meta-llama/Llama-3.1-8B-Instruct"], None, None),
            (["--model=meta-llama/Llama-3.1-8B-Instruct"], "16Gi", 1),
            (["serve", "meta-llama/Llama-3.3-70B-Instruct"], None, 4),
            (["serve", "meta-llama/Llama-3.3-70B-Instruct", "--quantization", "fp8"], None, 2),
            (["serve", "meta-llama/Llama-3.3-70B-Instruct", "-q=fp8", "--max-model-len=4096"], None, None),
            (["--model", "a-model-of-our-own"], None, None),
        ],
    )
    def test_a_model_has_to_fit_on_what_is_claimed(self, arguments, least, cards):
        more = {} if least is None else {"selectors": [{"cel": {"expression": _at_least(least)}}]}
        found = examine([template(**more), pod(args=arguments)])

        made = found.corrected[1] if "no-room" in codes(found) else None
        assert cards == (made and made["spec"]["spec"]["devices"]["requests"][0]["exactly"]["count"])


def _at_least(amount):
    return f"{MEMORY}.compareTo(quantity('{amount}')) >= 0"


def test_gates_of_the_driver_that_shut_each_other_out():
    (found,) = examine([{"featureGates": {"DynamicMIG": True, "MPSSupport": True}}]).findings

    assert "DynamicMIG and MPSSupport shut each other out" in found.what


def test_a_gate_that_needs_another_gets_it():
    found = examine([{"featureGates": {"DeviceMetadata": True}}])

    assert {"DeviceMetadata": True, "PassthroughSupport": True} == found.corrected[0]["featureGates"]


def test_the_corrected_manifest_is_all_that_standard_output_gets():
    shown = call("--manifest", str(PASTED / "mig-template.yaml"))

    (mended,) = yaml.safe_load_all(shown.stdout)
    assert ("resource.k8s.io/v1", "3 faults") == (mended["apiVersion"], shown.stderr.splitlines()[-1])
    assert "old-version" not in shown.stdout


def test_scripts_get_findings_and_objects():
    shown = json.loads(call("-m", str(PASTED / "hami.yaml"), "-o", "json").stdout)

    assert ["hami-value", "hami-value", "hami-count"] == [found["code"] for found in shown["findings"]]
    assert "Pod" == shown["corrected"][1]["kind"]


@pytest.mark.parametrize(
    ("text", "said"), [("", "there is nothing in it"), ("- 1", "no object"), ("a: [", "no YAML")]
)
def test_what_is_no_manifest_is_said(tmp_path, text, said):
    file = tmp_path / "m.yaml"
    file.write_text(text)

    with pytest.raises(InputError, match=said):
        call("-m", str(file))


def test_one_thing_is_examined_at_a_time():
    with pytest.raises(InputError, match="one thing"):
        call()
