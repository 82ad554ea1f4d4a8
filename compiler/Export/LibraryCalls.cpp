//===- LibraryCalls.cpp - calls as libraries take them --------------------===//
#include "compiler/Export/LibraryCalls.h"

using namespace mlir;

namespace zc {

static SmallVector<int64_t> rowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int i = static_cast<int>(shape.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * shape[i + 1];
  return strides;
}

plan::StridedOperand makeOperand(Value buffer, ArrayRef<int64_t> permutation,
                                 const ProgramExport &program) {
  ArrayRef<int64_t> shape = cast<MemRefType>(buffer.getType()).getShape();
  SmallVector<int64_t> strides = rowMajorStrides(shape);
  plan::StridedOperand operand;
  operand.set_buffer(program.getIndex(buffer));
  for (int64_t dim : permutation) {
    operand.add_dims(shape[dim]);
    operand.add_strides(strides[dim]);
  }
  return operand;
}

// The order N, C, spatial, whatever the order in memory.
plan::StridedOperand makeImage(Value buffer, bool channelsLast,
                               const ProgramExport &program) {
  int64_t rank = cast<MemRefType>(buffer.getType()).getRank();
  SmallVector<int64_t> permutation{0, channelsLast ? rank - 1 : 1};
  for (int64_t dim = 2; dim < rank; ++dim)
    permutation.push_back(channelsLast ? dim - 1 : dim);
  return makeOperand(buffer, permutation, program);
}

Status exportLibraryCall(sched::LibraryCallOp op, const ProgramExport &program,
                         plan::Instruction &instruction) {
  StringRef library = op.getLibrary();
  if (library == "onednn.matmul" || library == "cublaslt.matmul") {
    exportMatmul(op, program, *instruction.mutable_matmul());
  } else if (library == "onednn.convolution" ||
             library == "cudnn.convolution") {
    exportConvolution(op, program, *instruction.mutable_convolution());
  } else if (library == "cudnn.pooling") {
    exportPooling(op, program, *instruction.mutable_pooling());
  } else if (library == "cudnn.norm") {
    exportNorm(op, program, *instruction.mutable_norm());
  } else if (library == "zc.attention" || library == "cudnn.attention") {
    exportAttention(op, program, *instruction.mutable_attention());
  } else if (library == "zc.grouped-matmul") {
    exportGroupedMatmul(op, program, *instruction.mutable_grouped_matmul());
  } else if (library == "zc.sparse") {
    exportSparse(op, program, *instruction.mutable_sparse());
  } else {
    return makeError(StatusCode::Internal, "no runtime has the library call '",
                     library.str(), "'");
  }
  return Status();
}

} // namespace zc
