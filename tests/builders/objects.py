"""Kubernetes objects as their owners write them."""


def pod(name="p", namespace="shop", **metadata):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "spec": {"containers": [{"name": "c"}]},
    }


def node(name="n0"):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {}}


def claim(name="c", namespace="shop", **metadata):
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "spec": {"devices": {"requests": [{"name": "gpu"}]}},
    }


def deployment(name="d", replicas=1):
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "d"}},
            "template": {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": [{"name": "c"}]}},
        },
    }


def binding(name="p", to="n0"):
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, "namespace": "shop"},
        "target": {"apiVersion": "v1", "kind": "Node", "name": to},
    }


def owner(body):
    named = {"apiVersion": body["apiVersion"], "kind": body["kind"], "name": body["metadata"]["name"]}
    return {**named, "uid": body["metadata"]["uid"]}


def with_spec(body, **spec):
    return {**body, "spec": {**body["spec"], **spec}}
