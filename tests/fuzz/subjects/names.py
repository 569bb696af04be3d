"""Hostile names of files, models, layers, types and tensors on every way out of the command line."""

from __future__ import annotations

import shlex
import zipfile
from pathlib import Path
from random import Random
from xml.sax.saxutils import quoteattr

from tests.fuzz.drawing import HOSTILE_TEXTS
from tests.fuzz.frame import Subject, invoke
from tests.helpers.ir_text import net

__all__ = ["SUBJECT"]

_FORMATS = ("text", "json", "sarif", "github", "gitlab", "junit")

_IN_XML = tuple(
    text for text in HOSTILE_TEXTS if all(char >= " " or char in "\t\n\r" for char in text) and "\ud800" not in text
)

_FILES = tuple(text for text in HOSTILE_TEXTS if 0 < len(text) < 100 and not set(text) & {"\0", "/", "\ud800"})


def run(random: Random, folder: Path) -> None:
    file = f"{random.choice(_FILES)}.xml"
    content = _model(random)
    Path(file).write_bytes(content)
    Path("other.xml").write_bytes(_model(random))
    invoke(*_command(random, file))
    if random.random() < 0.2:
        archive = f"{random.choice(_FILES)}.zip"
        result = invoke("bundle", f"--output={archive}", "--", file)
        if result.exit_code == 0:
            _check_readme(archive)


def _command(random: Random, file: str) -> list[str]:
    match random.randrange(8):
        case 0 | 1:
            return ["check", "--format", random.choice(_FORMATS), "--", file, "other.xml"]
        case 2:
            return ["inspect", *random.choice(([], ["--layers"], ["--layer=0"], ["--format=json"])), "--", file]
        case 3:
            return ["diff", "--", file, "other.xml"]
        case 4:
            return ["run", "--print", random.choice(("values", "top5")), "--", file]
        case 5:
            return ["profile", "--repeat=1", f"--format={random.choice(('text', 'json', 'csv'))}", "--", file]
        case 6:
            return ["compare", "--with=other.xml", f"--format={random.choice(('text', 'json', 'csv'))}", "--", file]
        case _:
            return ["shapes", f"--format={random.choice(('text', 'json'))}", "--", file]


def _check_readme(archive: str) -> None:
    """Verify that a shell reads the command in the file as three words and the path."""
    with zipfile.ZipFile(archive) as opened:
        text = opened.read("README.txt").decode()
    at = text.index("    ir-exec ")
    words = shlex.split(text[at : text.index("\n\n", at)])
    assert words[:3] == ["ir-exec", "bundle", "--run"]
    assert words[3:] in ([archive], [f"./{archive}"])
    assert not words[3].startswith("-")


def _model(random: Random) -> bytes:
    """Return a model with a Parameter, a ReLU or an unknown type, and a Result."""

    def text() -> str:
        return quoteattr(random.choice((*_IN_XML, "relu", "x")), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})

    dims = "<dim>1</dim><dim>2</dim>"
    layers = [
        f'<layer id="0" name={text()} type="Parameter" version="opset1"><data shape="1,2" element_type="f32"/>'
        f'<output><port id="0" precision="FP32" names={text()}>{dims}</port></output></layer>',
        f'<layer id="1" name={text()} type={random.choice((text(), chr(34) + "ReLU" + chr(34)))} '
        f"version={random.choice((text(), chr(34) + 'opset1' + chr(34)))}><data a={text()}/>"
        f'<input><port id="0">{dims}</port></input>'
        f'<output><port id="1" precision="FP32" names={text()}>{dims}</port></output></layer>',
        f'<layer id="2" name={text()} type="Result" version="opset1"><input><port id="0">{dims}</port></input></layer>',
    ]
    return net(layers, [(0, 0, 1, 0), (1, 1, 2, 0)])


SUBJECT = Subject(run, cases=150)
