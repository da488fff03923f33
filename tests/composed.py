"""A lab's compose.yaml, read without compose."""

import re
import shutil
import tempfile
from pathlib import Path

import yaml

from workbench import learner


class ComposeLoader(yaml.SafeLoader):
    """YAML with compose's own tags for what an overlay or an extension takes away, and for what stands in its place."""


#: A variable as HAProxy's configuration has it: one word.
_VARIABLE = re.compile(r'"\$\{(\w+)\}"')
ComposeLoader.add_constructor("!reset", lambda loader, node: None)
ComposeLoader.add_constructor("!override", lambda loader, node: loader.construct_mapping(node, deep=True))


def read(path) -> dict:
    # A SafeLoader under another name.
    return yaml.load(path.read_text(), ComposeLoader)


def stack_of(each_lab) -> dict:
    return read(each_lab.folder / "compose.yaml")


def mounts(path) -> dict[tuple[str, str], str]:
    """What a compose file mounts, by service and by where it is mounted: as in `./haproxy/haproxy.cfg:/etc/haproxy.cfg:ro`."""
    services = read(path)["services"].items()
    entries = [(name, *entry.split(":")) for name, service in services for entry in service.get("volumes", [])]
    return {(name, target): source.removeprefix("./") for name, source, target, *_ in entries}


def variables(path, service: str) -> dict[str, str]:
    found = read(path)["services"].get(service) or {}
    return {name: str(value) for name, value in (found.get("environment") or {}).items()}


def read_as(path, given: dict[str, str]) -> str:
    """A configuration as its service reads it, with the values of its variables."""
    return _VARIABLE.sub(lambda found: given.get(found[1], found[0]), path.read_text())


def known_to_be_the_same(each_lab, scenario: str) -> bool:
    """Whether the files other than compose.yaml are read as the same, to the letter, where a learner has changed them and where
    the overlay mounts others in their place, or sets their variables: then a run by hand tells nothing that the scenario's own
    did not."""
    overlay, compose = each_lab.overlay(scenario), each_lab.folder / "compose.yaml"
    theirs, broken = mounts(overlay), mounts(compose)
    with tempfile.TemporaryDirectory() as folder:
        mine = shutil.copytree(each_lab.folder, Path(folder) / "mine")
        learner.edit(mine, each_lab.scenarios[scenario].by_hand)
        edited = {change.file for change in each_lab.scenarios[scenario].by_hand} - {"compose.yaml"}
        places = {file: [where for where, source in broken.items() if source == file] for file in edited}

        def same(file: str, where: tuple[str, str]) -> bool:
            before, after = each_lab.folder / file, each_lab.folder / theirs.get(where, file)
            here, there = (variables(path, where[0]) for path in (mine / "compose.yaml", compose))
            there |= variables(overlay, where[0])
            elsewhere = (here.keys() | there.keys()) - set(_VARIABLE.findall(before.read_text()))
            return read_as(mine / file, here) == read_as(after, there) and all(
                here.get(name) == there.get(name) for name in elsewhere
            )

        return all(places.values()) and all(same(file, where) for file, several in places.items() for where in several)
