//===- EncodeKept.h - values in fewer bytes until the backward --*- C++ -*-===//
#ifndef ZC_PASSES_MEMORY_ENCODEKEPT_H
#define ZC_PASSES_MEMORY_ENCODEKEPT_H

#include "passes/Memory/KeptEncoder.h"
#include "llvm/ADT/BitVector.h"

#include <string>
#include <vector>

namespace zc {

/// How saved activations are stored.
struct EncodingChoice {
  std::string encodings = "none"; // see parseEncodings
  std::string partition;          // an axis of the mesh; empty: none
  /// The values to encode, by StepAnalysis' numbers; none: all.
  std::optional<llvm::BitVector> values = std::nullopt;

  bool isNone() const { return encodings == "none" && partition.empty(); }
};

/// Every choice of some of the ways to store values that `whole` has, from
/// those with one of them to `whole` itself.
std::vector<EncodingChoice> listParts(const EncodingChoice &whole);

/// The values of `program` that one of the encoders may take, as StepAnalysis
/// numbers them.
llvm::BitVector findEncodable(mlir::func::FuncOp program,
                              const EncodingChoice &choice);

/// Encodes values behind their last use in the forward of `program`, of which
/// is settled what it keeps and offloads, and decodes them for the backward.
/// Returns how many.
unsigned encodeKept(mlir::func::FuncOp program, const EncodingChoice &choice);

} // namespace zc

#endif // ZC_PASSES_MEMORY_ENCODEKEPT_H
