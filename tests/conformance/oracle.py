"""Answers of OpenVINO: values from its CPU plugin or its reference kernels, and the types of every node.

OpenVINO lives in a child process, which is started again when it dies. Answers are kept as long as the oracle lives,
and those that OpenVINO gave itself on disk too (`kept`): crashes and timeouts may have to do with the machine.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import select
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from ir_exec.types import Array, ElementType, Shape, TensorType
from tests.conformance.build import IRFile
from tests.conformance.kept import KeptAnswers, cache_folder
from tests.conformance.packing import pack, unpack

__all__ = ["Mode", "NodeTypes", "Oracle", "Refused", "Request"]

Mode = Literal["plugin", "reference", "types", "attributes"]

_CRASHED = "crashed"
_TIMED_OUT = "timed out"


@dataclass(frozen=True)
class Request:
    """A question: the values of a file's outputs for its inputs, or the types or attributes of its nodes.

    shapes: those that the inputs are to have instead of what the file declares.
    alone: whether an answer from a network that held others too does not count (see `Oracle.ask_together`).
    """

    mode: Mode
    file: IRFile
    shapes: tuple[tuple[int, ...], ...] | None = None
    alone: bool = False

    def body(self) -> dict[str, Any]:
        inputs = () if self.mode in ("types", "attributes") else tuple(_parts(array) for array in self.file.inputs)
        body = {"mode": self.mode, "xml": self.file.xml, "weights": self.file.weights}
        return body | {"inputs": inputs, "shapes": self.shapes}

    def message(self) -> bytes:
        return pickle.dumps(self.body())

    def digest(self) -> bytes:
        """A digest that is equal for equal requests in every process, which their pickles need not be."""
        inputs = [] if self.mode in ("types", "attributes") else [_parts(array) for array in self.file.inputs]
        data = [content if isinstance(content, bytes) else repr(content).encode() for *_, content in inputs]
        told = repr((self.mode, self.shapes, [(element_type, tuple(shape)) for element_type, shape, _ in inputs]))
        told += "alone" if self.alone else ""
        digest = hashlib.sha256()
        for part in (told.encode(), self.file.xml, self.file.weights, *data):
            digest.update(len(part).to_bytes(8, "little") + part)
        return digest.digest()


@dataclass(frozen=True)
class Refused:
    """OpenVINO has no answer: its own message, `crashed`, or `timed out`."""

    reason: str


@dataclass(frozen=True)
class NodeTypes:
    """The inference of OpenVINO for one node; `type` is spelled as its class is (Constant, Relu), `version` is
    the opset that OpenVINO names the class after."""

    name: str
    type: str
    version: str
    outputs: tuple[TensorType, ...]


class Oracle:
    """A child process that answers requests in their order. Close it, or use it in a `with` block.

    timeout: seconds that one answer may take; the child is killed when they have passed.
    disk: the answers of earlier processes; by default those in the user's cache folder.
    """

    def __init__(self, timeout: float = 60.0, disk: KeptAnswers | None = None) -> None:
        self.timeout = timeout
        self._disk = disk or KeptAnswers(cache_folder())
        self._child: subprocess.Popen[bytes] | None = None
        self._fresh = True
        self.kept: dict[bytes, Any] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the child; the next question starts another."""
        child, self._child = self._child, None
        if child is None:
            return
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                pipe.close()

    def values(self, file: IRFile, mode: Literal["plugin", "reference"] = "plugin") -> tuple[Array, ...] | Refused:
        answer: tuple[Array, ...] | Refused = self.ask(Request(mode, file))
        return answer

    def types(self, file: IRFile, shapes: Sequence[tuple[int, ...]] | None = None) -> list[NodeTypes] | Refused:
        request = Request("types", file, None if shapes is None else tuple(shapes))
        answer: list[NodeTypes] | Refused = self.ask(request)
        return answer

    def attributes(self, file: IRFile) -> dict[str, list[str]] | Refused:
        """The names of the attributes that each node has for OpenVINO, by the node's name."""
        answer: dict[str, list[str]] | Refused = self.ask(Request("attributes", file))
        return answer

    def ask(self, request: Request) -> Any:
        return next(self.ask_all([request]))

    def ask_all(self, requests: Iterable[Request]) -> Iterator[Any]:
        """The answers in the order of the requests; the child works ahead of the caller."""
        requests = list(requests)
        keys = [request.digest() for request in requests]
        asked = dict(zip(keys, requests, strict=True))
        new = {key: request.message() for key, request in asked.items() if not self._knows(key)}
        answers = zip(new, self._answers(list(new.values())), strict=True)
        for request, key in zip(requests, keys, strict=True):
            while key not in self.kept:
                self._keep(*next(answers))
            yield _decode_answer(request.mode, self.kept[key])

    def ask_together(self, requests: Iterable[Request]) -> None:
        """Request the values of several files at once, as one network, so that each is answered by then.

        They are independent parts of the network, so that each gets the values that it has alone. Where that
        network ends the child, nothing is answered.
        """
        new = {key: request for request in requests if not self._knows(key := request.digest())}
        if len(new) > 1:
            message = pickle.dumps({"mode": "together", "parts": [request.body() for request in new.values()]})
            ((verdict, answers),) = self._answers([message])
            if verdict == "answer":
                for key, answer in zip(new, answers, strict=True):
                    self._keep(key, answer)

    def knows(self, request: Request) -> bool:
        """Return True if a request is answered without the child."""
        return self._knows(request.digest())

    def _knows(self, key: bytes) -> bool:
        if key not in self.kept and (answer := self._disk.get(key)) is not None:
            self.kept[key] = answer
        return key in self.kept

    def _keep(self, key: bytes, answer: tuple[str, Any]) -> None:
        self.kept[key] = answer
        if answer != ("refused", _CRASHED) and answer != ("refused", _TIMED_OUT):
            self._disk.put(key, answer)

    def _answers(self, messages: list[bytes]) -> Iterator[tuple[str, Any]]:
        done = 0
        while done < len(messages):
            child = self._child or self.start()
            sender = threading.Thread(target=_send, args=(child, messages[done:]), daemon=True)
            sender.start()
            try:
                while done < len(messages) and child is self._child:
                    answer = self._receive(child)
                    if answer is not None:
                        done += 1
                        yield answer
            finally:
                if done < len(messages):
                    # The child died, or the other answers are not needed: requests still in the pipe must not stay.
                    self.close()
                sender.join()

    def start(self) -> subprocess.Popen[bytes]:
        script = Path(__file__).with_name("worker.py")
        self._fresh = True
        # -P: the script's folder must not precede the installed packages.
        self._child = subprocess.Popen(
            [sys.executable, "-P", str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )
        return self._child

    def _receive(self, child: subprocess.Popen[bytes]) -> tuple[str, Any] | None:
        """The next answer; None if the request must be repeated in a new child.

        An earlier request may have damaged the memory of a child that dies: only the death of a new one is an answer.
        """
        try:
            length = int.from_bytes(self._read(child, 8), "little")
            answer: tuple[str, Any] = pickle.loads(self._read(child, length))
        except (EOFError, TimeoutError) as error:
            self.close()
            return ("refused", str(error)) if self._fresh else None
        self._fresh = False
        return answer

    def _read(self, child: subprocess.Popen[bytes], count: int) -> bytes:
        assert child.stdout is not None
        parts = b""
        while len(parts) < count:
            ready, _, _ = select.select([child.stdout], [], [], self.timeout)
            if not ready:
                raise TimeoutError(_TIMED_OUT)
            part = os.read(child.stdout.fileno(), count - len(parts))
            if not part:
                raise EOFError(_CRASHED)
            parts += part
        return parts


def _send(child: subprocess.Popen[bytes], messages: list[bytes]) -> None:
    assert child.stdin is not None
    try:
        for message in messages:
            data = memoryview(len(message).to_bytes(8, "little") + message)
            while data:
                data = data[os.write(child.stdin.fileno(), data) :]
    except (OSError, ValueError):
        # The child is gone; who waits for its answers sees that too.
        return


def _parts(array: Array) -> tuple[str, tuple[int, ...], bytes | list[str]]:
    element_type = ElementType.of(array)
    if element_type is ElementType.string:
        return element_type.name, array.shape, [str(text) for text in array.ravel()]
    return element_type.name, array.shape, pack(array)


def _decode_answer(mode: Mode, answer: tuple[str, Any]) -> Any:
    verdict, body = answer
    if verdict == "refused":
        return Refused(body)
    if mode == "attributes":
        return body
    if mode != "types":
        return tuple(unpack(ElementType[element_type], shape, data) for element_type, shape, data in body)
    return [
        NodeTypes(name, type_name, version, tuple(_tensor_type(*output) for output in outputs))
        for name, type_name, version, outputs in body
    ]


def _tensor_type(element_type: str, intervals: list[tuple[int, int]] | None) -> TensorType:
    if intervals is None:
        return TensorType(ElementType[element_type], Shape.unknown())
    return TensorType(ElementType[element_type], Shape([(lo, 2**63 - 1 if hi == -1 else hi) for lo, hi in intervals]))
