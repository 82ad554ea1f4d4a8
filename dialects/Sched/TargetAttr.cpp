//===- TargetAttr.cpp -----------------------------------------------------===//
#include "dialects/Sched/TargetAttr.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#define GET_ATTRDEF_CLASSES
#include "dialects/Sched/SchedAttrs.cpp.inc"

namespace zc::sched {

void SchedDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Sched/SchedAttrs.cpp.inc"
      >();
}

LogicalResult TargetAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 StringRef device, int64_t threads,
                                 ArrayAttr features, StringRef) {
  if (device != kCpuDevice && device != kCudaDevice)
    return emitError() << "expected device \"" << kCpuDevice << "\" or \""
                       << kCudaDevice << "\", found \"" << device << "\"";
  if (threads < 1)
    return emitError() << "expected at least 1 thread, found " << threads;
  if (features && !llvm::all_of(features, llvm::IsaPred<StringAttr>))
    return emitError() << "expected features that are strings, found "
                       << features;
  return success();
}

} // namespace zc::sched
