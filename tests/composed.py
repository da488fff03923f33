"""A lab's compose.yaml, read without compose."""

import yaml


class ComposeLoader(yaml.SafeLoader):
    """YAML with compose's own tag for what an overlay or an extension takes away."""


ComposeLoader.add_constructor("!reset", lambda loader, node: None)


def stack_of(each_lab) -> dict:
    # A SafeLoader under another name.
    return yaml.load((each_lab.folder / "compose.yaml").read_text(), ComposeLoader)
