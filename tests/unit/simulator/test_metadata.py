from simulator.metadata import is_owned, name_of, owner_reference

OWNER = {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "shop", "name": "p", "uid": "u1"}}


def test_an_object_is_found_by_namespace_and_name():
    assert ("shop", "p") == name_of(OWNER)
    assert ("", "n0") == name_of({"kind": "Node", "metadata": {"name": "n0"}})


def test_an_owner_is_named_as_the_one_controller():
    assert {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": "p",
        "uid": "u1",
        "controller": True,
        "blockOwnerDeletion": True,
    } == owner_reference(OWNER)


def test_ownership_is_by_uid_since_a_name_may_be_used_again():
    owned = {"metadata": {"ownerReferences": [owner_reference(OWNER)]}}
    later = {**OWNER, "metadata": {**OWNER["metadata"], "uid": "u2"}}
    assert is_owned(owned, OWNER)
    assert not is_owned(owned, later)
    assert not is_owned({"metadata": {}}, OWNER)
