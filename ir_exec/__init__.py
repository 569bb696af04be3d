"""Read, check and run OpenVINO IR and ONNX files with NumPy, without OpenVINO.

model = ir_exec.read_model("model.xml")
compiled = ir_exec.compile_model(model)
result = compiled({"data": data, "indices": indices})
report = ir_exec.check_model("model.xml")
"""

from ir_exec.lazy import from_stub

__version__ = "0.2.0"

# Running a model does not need the modules of the checker, and the command line shows its help without NumPy.
__getattr__, __dir__, __all__ = from_stub(__name__, __file__)
