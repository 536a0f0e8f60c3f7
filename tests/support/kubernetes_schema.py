"""Validates manifests against the schema of a CustomResourceDefinition, strictly like an API server: unknown
fields are errors."""

import jsonschema
import yaml


def _strict(schema):
    """OpenAPI's dialect as JSON Schema's, without fields that are not named."""
    if not isinstance(schema, dict):
        return schema
    strict = {key: value for key, value in schema.items() if not key.startswith("x-kubernetes-") and key != "default"}
    if schema.get("x-kubernetes-int-or-string"):
        strict.pop("type", None)  # anyOf gives the type; a pattern applies only to strings
    if "properties" in schema:
        strict["properties"] = {name: _strict(value) for name, value in schema["properties"].items()}
        if not schema.get("x-kubernetes-preserve-unknown-fields"):
            strict.setdefault("additionalProperties", False)
    for key in ("items", "additionalProperties", "not"):
        if isinstance(strict.get(key), dict):
            strict[key] = _strict(strict[key])
    return strict


def faults(crd, manifest):
    """Errors in the manifest; `crd`: the text of the CustomResourceDefinition."""
    definition = yaml.safe_load(crd)["spec"]
    group, version = manifest["apiVersion"].split("/")
    assert group == definition["group"] and manifest["kind"] == definition["names"]["kind"]
    [schema] = [it["schema"]["openAPIV3Schema"] for it in definition["versions"] if it["name"] == version]
    strict = _strict(schema)
    # Every kind has metadata, also if its schema omits it.
    strict["properties"]["metadata"] = {"type": "object"}
    return [f"{'/'.join(map(str, error.path))}: {error.message}" for error in jsonschema.Draft7Validator(strict).iter_errors(manifest)]
