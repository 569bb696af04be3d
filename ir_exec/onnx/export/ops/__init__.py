"""One function for each operator version, in modules by the folders of OpenVINO's operator specification."""
