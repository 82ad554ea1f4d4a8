#include "runtime/Plan/InstructionKind.h"

namespace zc {

const char *nameOf(plan::Instruction::KindCase kind) {
  switch (kind) {
  case plan::Instruction::kKernel:
    return "kernel";
  case plan::Instruction::kMatmul:
    return "matmul";
  case plan::Instruction::kConvolution:
    return "convolution";
  case plan::Instruction::kCopy:
    return "copy";
  case plan::Instruction::kAttention:
    return "attention";
  case plan::Instruction::kCollective:
    return "collective";
  case plan::Instruction::kSparse:
    return "sparse";
  case plan::Instruction::kPooling:
    return "pooling";
  case plan::Instruction::kNorm:
    return "norm";
  case plan::Instruction::kGroupedMatmul:
    return "grouped_matmul";
  case plan::Instruction::KIND_NOT_SET:
    break;
  }
  return "";
}

} // namespace zc
