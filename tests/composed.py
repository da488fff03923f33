"""A lab's compose.yaml, read without compose."""

import shutil
import tempfile
from pathlib import Path

import yaml

from workbench import learner


class ComposeLoader(yaml.SafeLoader):
    """YAML with compose's own tags for what an overlay or an extension takes away, and for what stands in its place."""


ComposeLoader.add_constructor("!reset", lambda loader, node: None)
ComposeLoader.add_constructor("!override", lambda loader, node: loader.construct_mapping(node, deep=True))


def stack_of(each_lab) -> dict:
    # A SafeLoader under another name.
    return yaml.load((each_lab.folder / "compose.yaml").read_text(), ComposeLoader)


def mounts(path) -> dict[tuple[str, str], str]:
    """What a compose file mounts, by service and by where it is mounted: as in `./haproxy/haproxy.cfg:/etc/haproxy.cfg:ro`."""
    # A SafeLoader under another name.
    services = yaml.load(path.read_text(), ComposeLoader)["services"].items()
    entries = [(name, *entry.split(":")) for name, service in services for entry in service.get("volumes", [])]
    return {(name, target): source.removeprefix("./") for name, source, target, *_ in entries}


def known_to_be_the_same(each_lab, scenario: str) -> bool:
    """Whether what a learner writes into files other than compose.yaml is, to the letter, what the overlay mounts in their
    place: then a run by hand tells nothing that the scenario's own did not."""
    theirs, broken = mounts(each_lab.overlay(scenario)), mounts(each_lab.folder / "compose.yaml")
    with tempfile.TemporaryDirectory() as folder:
        mine = shutil.copytree(each_lab.folder, Path(folder) / "mine")
        learner.edit(mine, each_lab.scenarios[scenario].by_hand)
        edited = {change.file for change in each_lab.scenarios[scenario].by_hand} - {"compose.yaml"}
        places = {file: [where for where, source in broken.items() if source == file] for file in edited}
        return all(places.values()) and all(
            where in theirs and (each_lab.folder / theirs[where]).read_text() == (mine / file).read_text()
            for file, several in places.items()
            for where in several
        )
