"""Settings of layouts: whom they serve."""

import pytest

from fleet.errors import InputError
from foreslice.settings.load import load

SETTINGS = """\
version: v1
metrics: {{source: prometheus, url: "https://prometheus:9090"}}
cluster: {{kind: kubernetes}}
layouts: {{manager: gpu-operator/mig}}
workloads:
  - {{name: chat, model: qwen2.5-7b-bf16, slo: {{ttft: {{p95: 1s}}}}, {more}}}
"""


@pytest.mark.parametrize("mechanism", ["device-plugin", "dra"])
def test_under_a_mig_manager_they_are_of_whom_a_device_plugin_or_claims_serve(mechanism, write):
    settings = load(write(SETTINGS.format(more=f"mechanism: {mechanism}")))
    assert "gpu-operator/mig" == settings.layouts.manager


def test_layouts_that_nobody_is_served_by_are_refused(write):
    path = write(SETTINGS.format(more="mechanism: time-slicing, isolation: none"))
    said = f"{path}:4: layouts: serve workloads with mechanism: device-plugin or dra, and there is none"

    with pytest.raises(InputError) as refused:
        load(path)

    assert said == str(refused.value)
