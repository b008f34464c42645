"""What every adapter of `actuator.ports.Cluster` promises of a rehearsal, whatever cluster is behind it."""

from dataclasses import replace

import pytest

from fleet.change import Step, Verb
from fleet.errors import RefusedError
from fleet.shape import Shape
from tests.contract import test_cluster_contract as contract
from tests.contract.test_cluster_contract import HALF, WEB, WHOLE, change

world, cluster, halves = contract.world, contract.cluster, contract.halves


class TestRehearsal:
    def test_it_shows_the_plan_and_every_object_that_would_be_new(self, cluster, halves):
        ordered = change()
        found = cluster.rehearse(ordered, ordered.steps)
        assert [
            ("FractionPlan", ordered.name),
            ("ResourceClaimTemplate", found[1].after["metadata"]["name"]),
            ("Deployment", "web-half"),
        ] == [(each.after["kind"], each.after["metadata"]["name"]) for each in found]
        assert {(None, "")} == {(each.before, each.objection) for each in found}
        assert 3 == found[2].after["spec"]["replicas"]

    def test_of_what_is_there_it_shows_before_and_after(self, cluster):
        more = replace(change(), steps=(Step(Verb.SCALE_UP, "web", WHOLE, 2, None, "a peak ahead"),))
        web = cluster.rehearse(more, more.steps)[-1]
        assert ("web", 1, 2, "") == (
            web.after["metadata"]["name"],
            web.before["spec"]["replicas"],
            web.after["spec"]["replicas"],
            web.objection,
        )

    def test_a_plan_that_is_kept_is_not_shown_again(self, cluster):
        more = replace(change(), steps=(Step(Verb.SCALE_UP, "web", WHOLE, 2, None, "a peak ahead"),))
        cluster.record(more)
        assert ["Deployment"] == [each.after["kind"] for each in cluster.rehearse(more, more.steps)]

    def test_nothing_is_written(self, cluster, halves):
        before = cluster.version()
        cluster.rehearse(change(), change().steps)
        assert (before, ()) == (cluster.version(), cluster.plans(WEB))

    def test_what_cannot_be_made_up_is_refused(self, cluster):
        other = Step(Verb.CREATE_VARIANT, "web-other", Shape("a100-80gb", "3g.40gb"), 0, None, "")
        with pytest.raises(RefusedError, match="no card of the fleet is a a100-80gb"):
            cluster.rehearse(replace(change(), steps=(other,)), [other])

    def test_of_a_switch_it_shows_the_new_template_and_the_field_that_names_it(self, cluster, halves):
        step = Step(Verb.SWITCH, "web", HALF, 1, None, "a quiet night", "web-gpu")
        cluster.record(ordered := replace(change(), steps=(step,)))
        template, web = cluster.rehearse(ordered, [step])
        assert (None, "ResourceClaimTemplate", "") == (
            template.before,
            template.after["kind"],
            template.objection,
        )
        named = [
            body["spec"]["template"]["spec"]["resourceClaims"][0]["resourceClaimTemplateName"]
            for body in (web.before, web.after)
        ]
        assert (["web-gpu", template.after["metadata"]["name"]], "") == (named, web.objection)
