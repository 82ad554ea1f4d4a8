//===- InspectUse.h - how long tensors live, what is copied and multiplied ===//
#ifndef ZC_COMPILER_EXPORT_INSPECTUSE_H
#define ZC_COMPILER_EXPORT_INSPECTUSE_H

#include "compiler/Export/Inspect.h"

namespace zc {

/// How long a program's activations live: from the instruction that writes one
/// to the last that reads it. Tenths count the program's instructions;
/// activations that live longer than nine tenths are in the last.
struct Lifetimes {
  std::array<uint64_t, 10> bytesByTenth{}, countByTenth{};
  uint32_t longest = 0; // in instructions, of those that are not small
  std::string longestFrom, longestTo;
};

Lifetimes measureLifetimes(const plan::Program &program);

/// Bytes that a rank of a role copies in a step between its memory and the
/// second one.
struct CopyTraffic {
  uint64_t away = 0, back = 0;
};

CopyTraffic measureCopies(const plan::Manifest &manifest, int role);

/// The products of matrices in a rank's training programs.
struct ProductReport {
  uint64_t count = 0;
  uint64_t inTiles = 0; // rows, columns and inner size are multiples of 16
  /// The product with the smallest dim: its rows, columns, inner size.
  std::array<int64_t, 3> smallest{};
  std::string label;
};

ProductReport measureProducts(const plan::Manifest &manifest);

/// The same for people; nothing where there is nothing to say.
std::string printUse(const plan::Manifest &manifest, int role);
std::string printProducts(const plan::Manifest &manifest);

} // namespace zc

#endif // ZC_COMPILER_EXPORT_INSPECTUSE_H
