"""The transformations of OpenVINO, one module for each."""
