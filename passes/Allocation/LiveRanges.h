//===- LiveRanges.h - from first use to last --------------------*- C++ -*-===//
#ifndef ZC_PASSES_ALLOCATION_LIVERANGES_H
#define ZC_PASSES_ALLOCATION_LIVERANGES_H

#include "dialects/Sched/SchedDialect.h"

#include <vector>

namespace zc {

/// A root of the transient region with the instructions, by number, between
/// which it must keep its bytes; both ends are included.
struct LiveRange {
  mlir::Operation *root; // sched.input or sched.alloc
  int64_t bytes;
  unsigned first;
  unsigned last;
};

/// The live ranges of all inputs and allocations of a program, in its order. An
/// input is live from instruction 0 on, an output to the last; buffers of an
/// async collective until its wait; a buffer without uses takes its bytes for
/// one moment.
std::vector<LiveRange> computeLiveRanges(sched::ProgramOp program);

} // namespace zc

#endif // ZC_PASSES_ALLOCATION_LIVERANGES_H
