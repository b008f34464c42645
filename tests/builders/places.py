"""One node, and pods that it lets in or not: for our reading of the rules and for the real scheduler's."""

LABELS = {"pool": "inference", "generation": "9"}
TAINTS = [
    {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
    {"key": "old", "value": "", "effect": "PreferNoSchedule"},
]

FOR_GPU = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


def chosen(*terms, tolerations=(FOR_GPU,)):
    """Return what a pod says that has to be on nodes of one of these terms."""
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"affinity": {"nodeAffinity": required}, "tolerations": list(tolerations)}


def where(key, operator, *values):
    """Return a term of one expression on labels."""
    named = {"values": list(values)} if values else {}
    return {"matchExpressions": [{"key": key, "operator": operator, **named}]}


def named(operator, name):
    """Return a term on the node's name."""
    return {"matchFields": [{"key": "metadata.name", "operator": operator, "values": [name]}]}


def tolerating(**toleration):
    """Return what a pod says that tolerates this."""
    return {"tolerations": [toleration]}


def cases(node):
    """Return by name what pods say, and whether a node of this name lets them in."""
    both = {
        "matchExpressions": where("pool", "In", "inference")["matchExpressions"],
        "matchFields": named("NotIn", node)["matchFields"],
    }
    return {
        "nothing": ({}, False),
        "exists": (tolerating(key="nvidia.com/gpu", operator="Exists"), True),
        "everything": (tolerating(operator="Exists"), True),
        "equal": (tolerating(key="nvidia.com/gpu", value="present"), True),
        "said-to-be-equal": (tolerating(key="nvidia.com/gpu", operator="Equal", value="present"), True),
        "empty-for-all": (tolerating(key="", operator="Exists", effect=""), True),
        "empty-for-equal": (tolerating(key="nvidia.com/gpu", operator="", value="present", effect=""), True),
        "no-value": (tolerating(key="nvidia.com/gpu"), False),
        "other-value": (tolerating(key="nvidia.com/gpu", value="absent"), False),
        "other-key": (tolerating(key="amd.com/gpu", operator="Exists"), False),
        "other-effect": (tolerating(key="nvidia.com/gpu", operator="Exists", effect="NoExecute"), False),
        "label": ({"nodeSelector": {"pool": "inference"}, "tolerations": [FOR_GPU]}, True),
        "other-label": ({"nodeSelector": {"pool": "training"}, "tolerations": [FOR_GPU]}, False),
        "in": (chosen(where("pool", "In", "training", "inference")), True),
        "not-in": (chosen(where("pool", "NotIn", "inference")), False),
        "not-in-absent": (chosen(where("zone", "NotIn", "a")), True),
        "exists-label": (chosen(where("zone", "Exists")), False),
        "absent-label": (chosen(where("zone", "DoesNotExist")), True),
        "newer": (chosen(where("generation", "Gt", "8")), True),
        "newest": (chosen(where("generation", "Gt", "9")), False),
        "older": (chosen(where("generation", "Lt", "10")), True),
        "older-still": (chosen(where("generation", "Lt", "9")), False),
        "no-number": (chosen(where("pool", "Gt", "1")), False),
        "no-number-there": (chosen(where("zone", "Lt", "1")), False),
        "one-of-two": (chosen(where("zone", "Exists"), where("pool", "Exists")), True),
        "empty-term": (chosen({}), False),
        "name": (chosen(named("In", node)), True),
        "other-name": (chosen(named("NotIn", node)), False),
        "both": (chosen(both), False),
        "untolerated": (chosen(where("pool", "Exists"), tolerations=()), False),
    }
