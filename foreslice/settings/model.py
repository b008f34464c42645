"""The model that a workload serves: a name of the catalogue, or a config.json of Hugging Face."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, field_validator, model_validator

from capacity.catalogue import MODELS, ModelSpec, instead_of
from capacity.formats import FORMATS, KV_BYTES
from capacity.huggingface import model_of
from fleet.errors import InputError
from foreslice.settings.group import Group


def one_of(names: Collection[str]) -> tuple[AfterValidator, Any]:
    """Return what restricts a text to names that another package knows."""

    def check(name: str) -> str:
        if name not in names:
            raise ValueError(f"must be one of {', '.join(names)}")
        return name

    return AfterValidator(check), Field(json_schema_extra={"enum": list(names)})


def or_a_name(field: dict[str, Any]) -> None:
    """Let the JSON schema of a field with a group allow a text too."""
    field["anyOf"] = [{"$ref": field.pop("$ref")}, {"type": "string"}]


class ModelSettings(Group):
    """The model that a workload serves; a name alone stands for the group with just that name."""

    name: Annotated[str | None, Field(description="name in the capacity catalogue, e.g. qwen2.5-7b-bf16")] = (
        None
    )
    config: Annotated[
        Path | None, Field(description="config.json of a model on Hugging Face; relative to this file")
    ] = None
    format: Annotated[
        Annotated[str, *one_of(FORMATS)] | None,
        Field(description="number format of its weights; default: what its config.json says"),
    ] = None
    kv_format: Annotated[str, *one_of(KV_BYTES), Field(description="number format of its KV cache")] = "bf16"
    max_model_len: Annotated[
        int | None, Field(ge=1, le=100_000_000, description="longest sequence that its engine is started for")
    ] = None

    @model_validator(mode="before")
    @classmethod
    def _of_a_name(cls, given: object) -> object:
        return {"name": given} if isinstance(given, str) else given

    @model_validator(mode="after")
    def _one_source(self) -> ModelSettings:
        if (self.name is None) == (self.config is None):
            raise ValueError("give either name or config")
        if self.name is not None and self.format is not None:
            raise ValueError("format belongs to config: a name ends with its number format")
        return self

    @field_validator("name")
    @classmethod
    def _known(cls, name: str | None) -> str | None:
        if name is not None and name not in MODELS:
            raise ValueError(f"no model in the catalogue; {instead_of(name)}")
        return name

    @property
    def key(self) -> str:
        """What the model is called from here on: the same for all workloads that serve it."""
        kv_format = None if self.kv_format == "bf16" else f"kv-{self.kv_format}"
        parts = (self.name or self.config, self.format, self.max_model_len, kv_format)
        return "-".join(str(part) for part in parts if part is not None)

    def spec(self, folder: Path) -> ModelSpec:
        """Return what serving it costs; a relative path is relative to `folder`.

        `InputError` if its config.json cannot be used.
        """
        if self.config is not None:
            return model_of(
                read_config(folder / self.config),
                self.key,
                number_format=self.format,
                kv_format=self.kv_format,
                max_model_len=self.max_model_len,
            )
        known = MODELS[self.name or ""]
        return replace(
            known,
            name=self.key,
            bytes_per_kv=KV_BYTES[self.kv_format],
            max_model_len=self.max_model_len or known.max_model_len,
        )


def read_config(path: Path) -> dict[str, Any]:
    """Return what a config.json, or that of a folder, says; `InputError` if it cannot be read or is none."""
    fix = "give the config.json of a model on Hugging Face"
    try:
        file = path / "config.json" if path.is_dir() else path
        config = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError("no such file", where=str(path), fix=fix) from error
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", where=str(path), fix=fix) from error
    except (ValueError, RecursionError) as error:
        raise InputError("is not JSON", where=str(path), fix=fix) from error
    if not isinstance(config, dict):
        raise InputError("is not a JSON object", where=str(path), fix=fix)
    return config
