"""A lab's compose.yaml, read without compose."""

import yaml


class ComposeLoader(yaml.SafeLoader):
    """YAML with compose's own tags for what an overlay or an extension takes away, and for what stands in its place."""


ComposeLoader.add_constructor("!reset", lambda loader, node: None)
ComposeLoader.add_constructor("!override", lambda loader, node: loader.construct_mapping(node, deep=True))


def stack_of(each_lab) -> dict:
    # A SafeLoader under another name.
    return yaml.load((each_lab.folder / "compose.yaml").read_text(), ComposeLoader)
