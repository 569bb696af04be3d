"""What can be wrong between the files of a folder that are one model."""

from __future__ import annotations

from ir_exec.check.rule import Rule
from ir_exec.codes import Code

__all__ = ["PIPELINE_RULES"]

PIPELINE_RULES = (
    Rule(
        Code.missing_part,
        "error",
        "A folder lacks a file that its pipeline needs.",
        why="OpenVINO GenAI looks for networks, tokenizers and settings under fixed names.",
        bad="openvino_model.xml, openvino_tokenizer.xml, config.json",
        good="openvino_model.xml, openvino_tokenizer.xml, openvino_detokenizer.xml, config.json",
        in_files=False,
    ),
    Rule(
        Code.foreign_part,
        "error",
        "A .bin belongs to another .xml of the folder.",
        why='OpenVINO says "Incorrect weights in bin file!" and not of which file, or reads other numbers.',
        bad="openvino_tokenizer.bin is a copy of openvino_model.bin",
        good="every .bin is the one that was written with its .xml",
        in_files=False,
    ),
    Rule(
        Code.vocabularies_differ,
        "error",
        "Tokenizer, detokenizer, tokenizer.json, embedding and logits do not have the same tokens.",
        why="Tokens of another vocabulary are valid numbers: the text is wrong, and nothing fails.",
        bad="a tokenizer of 32,000 tokens beside an embedding of 2,000 rows",
        good="a tokenizer of 2,000 tokens beside an embedding of 2,000 rows",
        in_files=False,
    ),
    Rule(
        Code.special_tokens,
        "error",
        "Files say different ids of a special token, or an id that the vocabulary does not have.",
        why="With another end token generation does not stop, or stops too early.",
        bad='generation_config.json: "eos_token_id": 2, rt_info of the tokenizer: eos_token_id 1',
        good='generation_config.json: "eos_token_id": 1, rt_info of the tokenizer: eos_token_id 1',
        in_files=False,
    ),
    Rule(
        Code.pipeline_ports,
        "error",
        "An input or output has not the name or the element type that pipelines use.",
        why="Pipelines find them by name; one that they do not find stays empty, and the text is wrong.",
        bad='<port id="0" precision="I64" names="mask">',
        good='<port id="0" precision="I64" names="attention_mask">',
        in_files=False,
    ),
    Rule(
        Code.pipeline_state,
        "error",
        "The variables of a cache do not make pairs of keys and values, or two have one id.",
        why="Layers that share a variable overwrite each other's cache.",
        bad='two ReadValue layers with variable_id="past_key_values.0.keypresent.0.key"',
        good="an id for each variable",
        in_files=False,
    ),
    Rule(
        Code.chat_template,
        "error",
        "A chat template is missing, cannot be compiled, or differs between files.",
        why="A template may stand in five places, of which the last one is used.",
        bad="{% for message in messages %}{{ message['content'] }}",
        good="{% for message in messages %}{{ message['content'] }}{% endfor %}",
        in_files=False,
    ),
    Rule(
        Code.part_versions,
        "warning",
        "Parts of a folder were written by different releases.",
        why="They may not have been exported from the same model, and inputs of operators differ between releases.",
        bad="openvino_tokenizer.xml by 2024.6, openvino_model.xml by 2026.1",
        good="all parts by 2026.1",
        in_files=False,
    ),
    Rule(
        Code.settings_contradict,
        "error",
        "Settings say sizes or formats that the network does not have.",
        why="They may be those of another model.",
        bad='"hidden_size": 4096 beside an embedding of 2,048 columns',
        good='"hidden_size": 2048 beside an embedding of 2,048 columns',
        in_files=False,
    ),
    Rule(
        Code.unreadable_settings,
        "error",
        "A file of settings is no JSON.",
        why="Pipelines stop, or go on with their defaults.",
        bad='{"eos_token_id": 1,}',
        good='{"eos_token_id": 1}',
        in_files=False,
    ),
    Rule(
        Code.refused_by_target,
        "error",
        "A device or a pipeline that `--for` names refuses the model, or is not documented to take it.",
        why="The finding comes before a machine with the device is needed, and cites the public document that states "
        "the limit. What no document states is an info: it is not known.",
        bad="ir-exec check model --for npu   (an input of [?,3,224,224])",
        good="ir-exec check model --for npu   (an input of [1,3,224,224])",
        in_files=False,
    ),
)
