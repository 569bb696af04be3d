"""Editing of ONNX files as ONNX: every part without an edit is written with the bytes that it has in the file.

The protobuf messages of the package onnx are edited, not the classes of onnx_ir. Of 170 files (ONNX's test data, this
repository, exports of torch) all serialize from `onnx.ModelProto` to the bytes of the file, but only 26 from
`onnx_ir.Model`: it writes types of values anew (14 files lose or gain some), drops unknown fields, and reads neither
invalid nor truncated files. Where protobuf would write other bytes (packed numbers, another order of fields), the
writer copies the bytes of the file (`encoding`). Large tensors are left out of the message and are copied by the
operating system (`sources`, `storage`). Files with external data are not read.
"""
