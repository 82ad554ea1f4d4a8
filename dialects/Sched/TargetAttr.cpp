//===- TargetAttr.cpp -----------------------------------------------------===//
#include "dialects/Sched/TargetAttr.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include <array>

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

static bool areStrings(ArrayAttr list) {
  return llvm::all_of(list, llvm::IsaPred<StringAttr>);
}

/// The names of the simulator (runtime/Simulate/Cluster.h); a test compares.
static constexpr std::array<StringLiteral, 5> kWays = {
    "ring", "tree", "doubling", "rabenseifner", "hierarchical"};

LogicalResult LinkAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               int64_t ranks, FloatAttr seconds,
                               FloatAttr bytes) {
  if (ranks < 1)
    return emitError() << "expected a link of at least 1 rank, found " << ranks;
  if (!(seconds.getValueAsDouble() >= 0) || !(bytes.getValueAsDouble() > 0))
    return emitError() << "expected a link of at least 0 seconds and more than "
                          "0 bytes, found "
                       << seconds << " and " << bytes;
  return success();
}

LogicalResult MachineAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                  StringRef name, FloatAttr flops,
                                  FloatAttr bytes, FloatAttr copy,
                                  FloatAttr launch, ArrayAttr links,
                                  ArrayAttr ways, ArrayAttr axes,
                                  DenseI64ArrayAttr sizes) {
  for (FloatAttr rate : {flops, bytes, copy})
    if (!(rate.getValueAsDouble() > 0))
      return emitError() << "expected rates above 0 of machine '" << name
                         << "', found " << rate;
  if (!(launch.getValueAsDouble() >= 0))
    return emitError() << "expected a launch of at least 0 seconds, found "
                       << launch;
  if (links.empty() || !llvm::all_of(links, llvm::IsaPred<LinkAttr>))
    return emitError() << "expected links of machine '" << name << "', found "
                       << links;
  int64_t below = 1;
  for (auto link : links.getAsRange<LinkAttr>()) {
    if (link.getRanks() % below != 0)
      return emitError() << "expected links of a multiple of " << below
                         << " ranks, found " << link;
    below = link.getRanks();
  }
  if (ways.empty() || !areStrings(ways) || (axes && !areStrings(axes)))
    return emitError() << "expected ways, and axes, that are strings";
  for (StringRef way : ways.getAsValueRange<StringAttr>())
    if (!llvm::is_contained(kWays, way))
      return emitError() << "expected ways " << llvm::join(kWays, ", ")
                         << ", found '" << way << "'";
  if ((axes ? axes.size() : 0) != (sizes ? size_t(sizes.size()) : 0))
    return emitError() << "expected a size for each axis, found " << sizes;
  return success();
}

LogicalResult TargetAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 StringRef device, int64_t threads,
                                 ArrayAttr features, StringRef, MachineAttr) {
  if (device != kCpuDevice && device != kCudaDevice)
    return emitError() << "expected device \"" << kCpuDevice << "\" or \""
                       << kCudaDevice << "\", found \"" << device << "\"";
  if (threads < 1)
    return emitError() << "expected at least 1 thread, found " << threads;
  if (features && !areStrings(features))
    return emitError() << "expected features that are strings, found "
                       << features;
  return success();
}

} // namespace zc::sched
