# ONNX's build includes this behind its project(): each of its 50 files parses
# the same headers, which takes most of the time. They are parsed once.
cmake_language(DEFER DIRECTORY "${CMAKE_SOURCE_DIR}" CALL
  target_precompile_headers onnx PRIVATE
  <functional> <map> <memory> <string> <unordered_map> <vector>
  "<onnx/defs/schema.h>" "<onnx/defs/shape_inference.h>")
