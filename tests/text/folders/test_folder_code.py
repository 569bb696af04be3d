"""No file of a model folder runs code: Python files, `auto_map`, pickles, chat templates."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
from click.testing import CliRunner

from ir_exec.cli import main
from tests.batch.test_items import Touch
from tests.text.model_folders import pipeline

TEMPLATES = [
    "{{ cycler.__init__.__globals__.os.system('touch ran') }}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ self.__init__.__globals__.__builtins__.open('ran', 'w') }}",
    "{{ lipsum.__globals__['os'].system('touch ran') }}",
    "{% include 'config.json' %}",
    "{% set x = messages.append(1) %}",
    "{{ raise_exception.__globals__ }}",
]

COMMANDS = [
    ["check", "."],
    ["check", ".", "--for", "genai"],
    ["inspect", "."],
    ["generate", ".", "--chat", "chat.json", "--max-new-tokens", "2"],
    ["generate", ".", "--prompt", "a", "--max-new-tokens", "2"],
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with code in each file that other libraries run or unpickle, in the current folder."""
    pytest.importorskip("jinja2", reason="templates need it")
    folder = pipeline(tmp_path / "model")
    code = f"open({str(folder / 'ran')!r}, 'w').close()"
    for name in ("modeling_evil.py", "tokenization_evil.py", "configuration_evil.py", "setup.py", "conftest.py"):
        (folder / name).write_text(code)
    for name in ("pytorch_model.bin", "training_args.bin", "optimizer.pt", "model.pkl", "inputs.npy"):
        (folder / name).write_bytes(pickle.dumps(Touch(str(folder / "ran"))))
    classes = {"AutoModelForCausalLM": "modeling_evil.Model", "AutoTokenizer": ["tokenization_evil.Tokenizer", None]}
    for name in ("config.json", "tokenizer_config.json", "generation_config.json"):
        settings = json.loads((folder / name).read_text("utf-8"))
        (folder / name).write_text(json.dumps(settings | {"auto_map": classes, "trust_remote_code": True}))
    (folder / "chat.json").write_text('[{"role": "user", "content": "hello"}]')
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_file_of_a_folder_is_run(command: list[str], folder: Path) -> None:
    result = CliRunner().invoke(main, command)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert not (folder / "ran").exists()


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("file", ["chat_template.jinja", "tokenizer_config.json"])
def test_templates_reach_no_object_of_python(template: str, file: str, folder: Path) -> None:
    if file == "chat_template.jinja":
        (folder / file).write_text(template)
    else:
        (folder / "chat_template.jinja").unlink()
        settings = json.loads((folder / file).read_text("utf-8"))
        (folder / file).write_text(json.dumps(settings | {"chat_template": template}))
    for command in (["check", "."], ["generate", ".", "--chat", "chat.json", "--max-new-tokens", "2"]):
        result = CliRunner().invoke(main, command)
        assert result.exception is None or isinstance(result.exception, SystemExit)
        assert not (folder / "ran").exists()
    assert result.exit_code == 1


def test_pickles_are_no_arrays(folder: Path) -> None:
    result = CliRunner().invoke(main, ["run", "openvino_model.xml", "--input", "input_ids=inputs.npy"])
    assert (result.exit_code, (folder / "ran").exists()) == (2, False)
