//===- SchedMarks.cpp - the discardable attributes of the sched dialect ---===//
#include "dialects/Interfaces/Marks.h"
#include "dialects/Sched/TargetAttr.h"

using namespace mlir;
using namespace zc;
using namespace zc::sched;

/// SchedDialect.td and the headers that name them describe them.
static const Marks &getMarks() {
  static const Marks kMarks = {
      // on modules
      {"sched.offloaded_bytes", kIntegerMark},
      {"sched.persistent_bytes", kIntegerMark},
      {"sched.rings", kDictionaryMark},
      {"sched.target", markOf<TargetAttr>("a #sched.target")},
      {"sched.version_bytes", kIntegerMark},
      // on programs and buffers
      {"sched.offload", kUnitMark},
      {"sched.role_of", kStringMark}};
  return kMarks;
}

LogicalResult SchedDialect::verifyOperationAttribute(Operation *op,
                                                     NamedAttribute mark) {
  return verifyMark(getMarks(), op, mark);
}
