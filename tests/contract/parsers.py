"""The contract as two parsers of YAML read it: PyYAML by version 1.1, ruamel.yaml by 1.2. Both must read the same."""

import pathlib
import sys

import yaml
from ruamel.yaml import YAML

text = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
old, new = yaml.safe_load(text), YAML(typ="safe", pure=True).load(text)


def differences(one, other, place=""):
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return [found for key in one for found in differences(one[key], other[key], f"{place}/{key}")]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [found for n, pair in enumerate(zip(one, other)) for found in differences(*pair, f"{place}/{n}")]
    return [] if type(one) is type(other) and one == other else [f"{place}: {one!r} by YAML 1.1, {other!r} by YAML 1.2"]


found = differences(old, new)
assert not found, "\n".join(found)
print(f"{len(old['paths'])} paths, the same by YAML 1.1 and 1.2")
