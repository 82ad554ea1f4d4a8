# Everything zc takes from outside; versions are pinned by tools/setup.
find_package(MLIR 22.1 CONFIG REQUIRED HINTS /usr/lib/llvm-22/lib/cmake/mlir)
message(STATUS "MLIR ${LLVM_PACKAGE_VERSION} in ${MLIR_DIR}")
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
set(MLIR_LINK_MLIR_DYLIB ON)
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# Protobuf before ONNX: its config expects the targets.
find_package(Protobuf REQUIRED)
find_library(ZC_PROTOBUF_STATIC libprotobuf.a REQUIRED)
find_library(ZC_ZLIB_STATIC libz.a REQUIRED)
find_package(ONNX 1.23 CONFIG REQUIRED HINTS ${ZC_DEPS_DIR}/onnx-1.23.2)
# Debian's dnnl-config.cmake asks for OpenCL, which zc does not use.
find_library(ZC_DNNL_LIBRARY dnnl REQUIRED)
find_path(ZC_DNNL_INCLUDE dnnl.hpp REQUIRED)
add_library(DNNL::dnnl UNKNOWN IMPORTED GLOBAL)
set_target_properties(DNNL::dnnl PROPERTIES IMPORTED_LOCATION ${ZC_DNNL_LIBRARY}
  INTERFACE_INCLUDE_DIRECTORIES ${ZC_DNNL_INCLUDE})
find_package(CLI11 CONFIG REQUIRED)
find_package(nlohmann_json CONFIG REQUIRED)
find_package(GTest REQUIRED)
find_package(Threads REQUIRED)
if(ZC_OPENMP)
  find_package(OpenMP REQUIRED)
endif()
