#include "runtime/Exec/Instructions.h"

namespace zc {

kernels::ElementType elementType(plan::DataType type) {
  using Type = kernels::ElementType;
  switch (type) {
  case plan::F64:
    return Type::F64;
  case plan::F16:
    return Type::F16;
  case plan::BF16:
    return Type::BF16;
  case plan::BOOL:
    return Type::Bool;
  case plan::I8:
    return Type::I8;
  case plan::U8:
    return Type::U8;
  case plan::I16:
    return Type::I16;
  case plan::U16:
    return Type::U16;
  case plan::I32:
    return Type::I32;
  case plan::U32:
    return Type::U32;
  case plan::I64:
    return Type::I64;
  case plan::U64:
    return Type::U64;
  default:
    return Type::F32;
  }
}

kernels::StridedTensor makeStridedTensor(const AddressMap &map,
                                         const plan::StridedOperand &operand) {
  return {elementType(map.buffer(operand.buffer()).type().dtype()),
          {operand.dims().begin(), operand.dims().end()},
          {operand.strides().begin(), operand.strides().end()}};
}

Launch makeLaunch(const AddressMap &map, const plan::Instruction &instruction) {
  switch (instruction.kind_case()) {
  case plan::Instruction::kKernel:
    return makeKernelLaunch(map, instruction);
  case plan::Instruction::kMatmul:
    return makeMatmulLaunch(map, instruction.matmul());
  case plan::Instruction::kConvolution:
    return makeConvolutionLaunch(map, instruction.convolution());
  case plan::Instruction::kPooling:
    return makePoolingLaunch(map, instruction.pooling());
  case plan::Instruction::kNorm:
    return makeNormLaunch(map, instruction.norm());
  case plan::Instruction::kAttention:
    return makeAttentionLaunch(map, instruction.attention());
  case plan::Instruction::kSparse:
    return makeSparseLaunch(map, instruction.sparse());
  case plan::Instruction::kGroupedMatmul:
    return makeGroupedMatmulLaunch(map, instruction.grouped_matmul());
  default:
    assert(instruction.has_copy() && "verified plans have no other kind");
    return makeCopyLaunch(map, instruction.copy());
  }
}

} // namespace zc
