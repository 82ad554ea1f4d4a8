// Another number of samples than the file says (`--batch`).
#ifndef ZC_COMPILER_IMPORT_BATCHSIZE_H
#define ZC_COMPILER_IMPORT_BATCHSIZE_H

#include "compiler/OnnxModel/Proto.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <map>
#include <string>

namespace zc {

struct BatchChange {
  int64_t before = 0; // samples that the file was exported for; 0: any
  int64_t after = 0;
};

/// Gives the dim that counts samples the size `batch` in all inputs that have
/// it: `batchDims` says where it is (-1: nowhere), else dim 0 of every input
/// whose dim 0 is the first output's. A symbol of that dim goes into `sizes`.
llvm::Expected<BatchChange>
setBatch(proto::GraphProto &graph, int64_t batch,
         const std::map<std::string, int64_t> &batchDims,
         std::map<std::string, int64_t> &sizes);

} // namespace zc

#endif
