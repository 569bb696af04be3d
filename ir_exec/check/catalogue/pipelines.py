"""Group 8: files of a folder that contradict each other, and targets that reject a model."""

from __future__ import annotations

from ir_exec.check.rule import Rule
from ir_exec.codes import Code

__all__ = ["PIPELINE_RULES"]

PIPELINE_RULES = (
    Rule(
        Code.missing_part,
        "error",
        "A file that the pipeline needs is missing from the folder.",
        why="OpenVINO GenAI looks for models, tokenizers and settings under fixed names.",
        bad="openvino_model.xml, openvino_tokenizer.xml, config.json",
        good="openvino_model.xml, openvino_tokenizer.xml, openvino_detokenizer.xml, config.json",
        in_files=False,
    ),
    Rule(
        Code.foreign_part,
        "error",
        "A .bin belongs to another .xml of the folder.",
        why='OpenVINO reports "Incorrect weights in bin file!" without naming the file, or reads wrong values.',
        bad="openvino_tokenizer.bin is a copy of openvino_model.bin",
        good="every .bin was written with its .xml",
        in_files=False,
    ),
    Rule(
        Code.vocabularies_differ,
        "error",
        "The vocabularies of tokenizer, detokenizer, tokenizer.json, embedding and logits differ.",
        why="Tokens of another vocabulary are valid numbers: the text is wrong, and nothing fails.",
        bad="a tokenizer of 32,000 tokens with an embedding of 2,000 rows",
        good="a tokenizer of 2,000 tokens with an embedding of 2,000 rows",
        in_files=False,
    ),
    Rule(
        Code.special_tokens,
        "error",
        "Files declare different ids of a special token, or an id outside the vocabulary.",
        why="With a wrong end token, generation does not stop or stops too early.",
        bad='generation_config.json: "eos_token_id": 2, rt_info of the tokenizer: eos_token_id 1',
        good='generation_config.json: "eos_token_id": 1, rt_info of the tokenizer: eos_token_id 1',
        in_files=False,
    ),
    Rule(
        Code.pipeline_ports,
        "error",
        "An input or output does not have the name or element type that pipelines expect.",
        why="Pipelines find ports by name. An input that they do not find remains empty, and the text is wrong.",
        bad='<port id="0" precision="I64" names="mask">',
        good='<port id="0" precision="I64" names="attention_mask">',
        in_files=False,
    ),
    Rule(
        Code.pipeline_state,
        "error",
        "The variables of a cache are not pairs of keys and values, or two variables have the same id.",
        why="Layers that share a variable overwrite each other's cache.",
        bad='two ReadValue layers with variable_id="past_key_values.0.keypresent.0.key"',
        good="an id for each variable",
        in_files=False,
    ),
    Rule(
        Code.chat_template,
        "error",
        "A chat template is missing, cannot be compiled, or differs between files.",
        why="A template can be in five places; the last one is used.",
        bad="{% for message in messages %}{{ message['content'] }}",
        good="{% for message in messages %}{{ message['content'] }}{% endfor %}",
        in_files=False,
    ),
    Rule(
        Code.part_versions,
        "warning",
        "Different releases wrote the parts of a folder.",
        why="The parts may come from different exports, and the inputs of operators differ between releases.",
        bad="openvino_tokenizer.xml by 2024.6, openvino_model.xml by 2026.1",
        good="all parts by 2026.1",
        in_files=False,
    ),
    Rule(
        Code.settings_contradict,
        "error",
        "Settings declare sizes or formats that contradict the model.",
        why="They may belong to another model.",
        bad='"hidden_size": 4096 with an embedding of 2,048 columns',
        good='"hidden_size": 2048 with an embedding of 2,048 columns',
        in_files=False,
    ),
    Rule(
        Code.unreadable_settings,
        "error",
        "A settings file is not valid JSON, has a value of an impossible type, or is not a regular file.",
        why="Pipelines stop, or continue with defaults. Pipes and devices may never end.",
        bad='{"eos_token_id": 1,}',
        good='{"eos_token_id": 1}',
        in_files=False,
    ),
    Rule(
        Code.refused_by_target,
        "error",
        "A device or a pipeline of OpenVINO GenAI rejects the model, or is not documented to support it.",
        why="The check does not require the device, and cites the public document that states the limit. Facts that "
        "no document states are reported as unknown, with the severity info. Without `--for`, folders are checked for "
        "GenAI, with the severity warning.",
        bad="ir-exec check model --for npu   (an input of [?,3,224,224])",
        good="ir-exec check model --for npu   (an input of [1,3,224,224])",
        in_files=False,
    ),
    Rule(
        Code.checkpoint_differs,
        "error",
        "The weights of the model are not those of the checkpoint in its folder.",
        why="Weights are found in the checkpoint by their values, as `ir-exec diff MODEL CHECKPOINT` does. The finding "
        "names the first weight that is missing, swapped, transposed, scaled or otherwise different. Requires "
        "--weights-values.",
        bad="openvino_model.xml   (the query of layer 0 has the values of the key)\nmodel.safetensors",
        good="openvino_model.xml   (all constants come from the tensors)\nmodel.safetensors",
        in_files=False,
    ),
)
