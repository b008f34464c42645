"""An API server in memory, as far as `actuator.kube` asks one: lists, watches, create, apply, delete."""

import json
from collections import defaultdict
from contextlib import AbstractContextManager
from queue import Queue

from actuator.kube.errors import ExistsError, NotFoundError
from fleet.errors import ConflictError


class Stream(AbstractContextManager):
    """Lines of a watch, until it is shut down."""

    def __init__(self):
        self._lines = Queue()

    def __iter__(self):
        return iter(self._lines.get, None)

    def __exit__(self, *_):
        pass

    def say(self, change, body):
        """Tell of a change."""
        self._lines.put(json.dumps({"type": change, "object": body}).encode())

    def shutdown(self):
        """End the watch."""
        self._lines.put(None)


class FakeServer:
    """Objects by the path of their list.

    Attributes:
        trouble: Errors by path, raised by whatever begins with it; those of a list once each.
        asked: Method and path of every request.
        streams: Watches by path, newest last.
        is_closed: Whether it was hung up.
    """

    def __init__(self):
        self.objects = defaultdict(dict)
        self.trouble = {}
        self.asked = []
        self.streams = defaultdict(list)
        self.version = 100
        self.is_closed = False

    def close(self):
        self.is_closed = True

    def put(self, path, body):
        """Store an object as of a new version, tell watches that are open, and return it."""
        name = body["metadata"]["name"]
        change = "MODIFIED" if name in self.objects[path] else "ADDED"
        body = self._stored(path, body)
        for stream in self.streams[path][-1:]:
            stream.say(change, body)
        return body

    def writes(self):
        """Return the requests that change something."""
        return [(method, path) for method, path in self.asked if method != "GET" and "dryRun" not in path]

    def request(self, method, path, body=None, query=None, _content_type=""):
        self._ask(method, path)
        if (method == "GET" and path in self.objects) or path.rpartition("/")[0] not in self.objects:
            return {
                "items": [{**held, "apiVersion": None} for held in self.objects[path].values()],
                "metadata": {"resourceVersion": str(self.version)},
            }
        collection, _, name = path.rpartition("/")
        if name not in self.objects[collection]:
            raise NotFoundError(f"{name} not found")
        if method == "DELETE":
            return self.objects[collection].pop(name)
        if method == "PUT":
            self._check(collection, name, body)
            return self._stored(collection, body)
        return self.objects[collection][name]

    def create(self, path, body, *, is_dry=False):
        self._ask("POST", f"{path}?dryRun=All" if is_dry else path)
        if body["metadata"]["name"] in self.objects[path]:
            raise ExistsError(f"{body['metadata']['name']} already exists")
        return body if is_dry else self._stored(path, body)

    def apply(self, path, body, *, force, is_dry=False):
        self._ask("PATCH", "?".join([path, *["force"] * force, *["dryRun=All"] * is_dry]))
        collection, name, part = path.rsplit("/", 2)
        if name not in self.objects[collection]:
            raise NotFoundError(f"{name} not found")
        self._check(collection, name, body)
        if is_dry:
            return body
        held = self.objects[collection][name]
        part = "status" if part == "status" else "spec"
        stored = self._stored(collection, {**held, part: {**held.get(part, {}), **body[part]}})
        return {**body, "metadata": stored["metadata"]} if part == "spec" else stored

    def stream(self, path, _query):
        self._ask("WATCH", path)
        stream = Stream()
        self.streams[path].append(stream)
        return stream

    def _ask(self, method, path):
        self.asked.append((method, path))
        for prefix, errors in self.trouble.items():
            if path.startswith(prefix) and errors:
                raise errors.pop() if isinstance(errors, list) else errors

    def _check(self, collection, name, body):
        expected = body["metadata"].get("resourceVersion")
        if expected not in (None, self.objects[collection][name]["metadata"]["resourceVersion"]):
            raise ConflictError("the object has been modified")

    def _stored(self, path, body):
        self.version += 1
        metadata = {**body["metadata"], "resourceVersion": str(self.version)}
        body = {**body, "metadata": metadata}
        self.objects[path][body["metadata"]["name"]] = body
        return body
