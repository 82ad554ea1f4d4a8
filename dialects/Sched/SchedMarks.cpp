//===- SchedMarks.cpp - the discardable attributes of the sched dialect ---===//
#include "dialects/Sched/TargetAttr.h"

using namespace mlir;
using namespace zc;
using namespace zc::sched;

/// SchedDialect.td and the headers that name them describe them: those of
/// modules, and those of functions that kernels become (passes/Codegen).
const Marks &SchedDialect::getMarks() {
  static const Mark kInt32s = markOf<DenseI32ArrayAttr>("an array<i32>");
  static const Marks kMarks = {
      {"sched.offloaded_bytes", kIntegerMark.on(kOnModule)},
      {"sched.persistent_bytes", kIntegerMark.on(kOnModule)},
      {"sched.rings", kDictionaryMark.on(kOnModule)},
      {"sched.target", markOf<TargetAttr>("a #sched.target").on(kOnModule)},
      {"sched.version_bytes", kIntegerMark.on(kOnModule)},
      {"sched.aliases", kListMark.on(kOnFunction)},
      {"sched.block_per_thread", kIntegerMark.on(kOnFunction)},
      {"sched.buffers", kInt32s.on(kOnFunction)},
      {"sched.numbers", kIntegersMark.on(kOnFunction)},
      {"sched.own_threads", kUnitMark.on(kOnFunction)},
      {"sched.parts", kListMark.on(kOnFunction)},
      {"sched.row_teams", kIntegerMark.on(kOnFunction)},
      {"sched.shifts", kIntegersMark.on(kOnFunction)},
      {"sched.signature", kIntegersMark.on(kOnFunction)},
      {"sched.threads", kIntegerMark.on(kOnFunction)}};
  return kMarks;
}
