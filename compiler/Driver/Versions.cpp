#include "compiler/Driver/Versions.h"

#include "llvm/Config/llvm-config.h"

std::string zc::getVersions() {
  return "zc " ZC_VERSION "\nLLVM " LLVM_VERSION_STRING
         "\nONNX " ZC_ONNX_VERSION "\noneDNN " ZC_ONEDNN_VERSION
         " (cpu)" ZC_MORE_BACK_ENDS;
}
