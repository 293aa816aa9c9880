"""Forms as a person fills them in: sent to be saved, read back in words."""

import re


def save(client, address, **values):
    return client.post(address, {"reason": "growth", "step": "save"} | values)


def hidden(page, name):
    return re.search(rf'name="{name}" value="([^"]*)"', page.content.decode())[1]


def text(answer):
    """What a person reads."""
    plain = re.sub(r"<[^>]+>", " ", answer.content.decode())
    return re.sub(r"\s+", " ", plain).replace(" ,", ",").replace(" .", ".")
