//===- InspectSharing.h - memory by how much tensors share it ---*- C++ -*-===//
#ifndef ZC_COMPILER_EXPORT_INSPECTSHARING_H
#define ZC_COMPILER_EXPORT_INSPECTSHARING_H

#include "runtime/Plan/Manifest.pb.h"

#include <string>

namespace zc {

/// Bytes that a program's tensors, beside its states, would take if fewer of
/// them shared memory (Chen et al. 2016, "Training Deep Nets with Sublinear
/// Memory Cost", section 3).
struct SharingReport {
  uint64_t apart = 0; // each result has memory of its own
  /// Results that are written over an operand have that one's memory, and no
  /// two others have any in common.
  uint64_t inPlace = 0;
  uint64_t shared = 0; // as planned: of tensors that live at different times
};

SharingReport measureSharing(const plan::Program &program);

/// The same for people: a line.
std::string printSharing(const SharingReport &report);

} // namespace zc

#endif // ZC_COMPILER_EXPORT_INSPECTSHARING_H
