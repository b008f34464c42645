"""The table of settings in docs/reference.md; ``python -m tests.house.settings_table`` prints it."""

from foreslice.settings.durations import written
from foreslice.settings.schema import Settings

HEAD = ("key", "default", "allowed", "meaning")


def rows():
    """One row a key in the order of the schema: what holds where it is left out, what it may be, and why."""
    schema = Settings.model_json_schema()
    merged = {}
    for row in _rows(schema, schema["$defs"], ""):
        key, default, allowed, meaning = merged.setdefault(row[0], row)
        if row[2] != allowed:  # the key that says which of several forms is meant
            merged[key] = key, default, f"{allowed}, {row[2]}", meaning
    return list(merged.values())


def table():
    """The rows in Markdown."""
    lines = [HEAD, ["---"] * len(HEAD), *rows()]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _rows(group, definitions, prefix):
    required = group.get("required", [])
    only = _only(group)
    for name, field in group["properties"].items():
        inner = _groups(field, definitions)
        for part in inner:
            many = "[]" if field.get("type") == "array" else ".NAME" if _values(field) else ""
            yield from _rows(part, definitions, f"{prefix}{name}{many}.")
        if not inner:
            described = _resolved(field, definitions)
            default = "required" if name in required else _default(described)
            meaning = described.get("description", group["description"].rstrip("."))
            if "const" in described:
                meaning = "which of these forms is meant" if only else meaning
            elif only:
                meaning = f"with {only}: {meaning}"
            yield f"`{prefix}{name}`", default, _allowed(described), meaning


def _only(group):
    """What a form of a group is known by, e.g. `source: file`."""
    return next(
        (f"`{n}: {f['const']}`" for n, f in group["properties"].items() if "const" in f and n != "version"),
        "",
    )


def _groups(field, definitions):
    """The groups of keys that a field may hold; none for a plain value."""
    options = [field, *field.get("oneOf", []), *field.get("anyOf", []), field.get("items", {})]
    options += _values(field)
    named = [_resolved(option, definitions) for option in options]
    return [option for option in named if "properties" in option]


def _values(field):
    """What the keys that a user chooses may hold; none where all keys are known."""
    free = [*field.get("patternProperties", {}).values(), field.get("additionalProperties")]
    return [value for value in free if value]


def _resolved(field, definitions):
    if "$ref" not in field:
        return field
    found = definitions[field["$ref"].rsplit("/", 1)[1]]
    return {**found, **{name: part for name, part in field.items() if name != "$ref"}}


def _default(field):
    value = field.get("default")
    if value is None or value == []:
        return "none"
    if isinstance(value, list):
        return f"`{', '.join(value)}`"
    if "pattern" in field and isinstance(value, float):
        value = written(value)
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _allowed(field):
    [field] = [option for option in field.get("anyOf", [field]) if option.get("type") != "null"]
    if "const" in field:
        return f"`{field['const']}`"
    if names := field.get("enum", field.get("items", {}).get("enum")):
        return ", ".join(f"`{one}`" for one in names)
    if "maximum" in field:
        return f"{field['minimum']} to {field['maximum']}"
    if "(ms|s|m|h|d)" in field.get("pattern", ""):
        return field["description"] if field.get("description", "").startswith("a duration") else "a duration"
    if field.get("format") == "date-time":
        return "a time, RFC 3339"
    by_name = "names by signal" if any("anyOf" in value for value in _values(field)) else "texts by name"
    names = {"boolean": "`true`, `false`", "object": by_name, "string": "text"}
    return "text, or several" if isinstance(field["type"], list) else names[field["type"]]


if __name__ == "__main__":
    print(table(), end="")  # noqa: T201 -- what the module is run for
