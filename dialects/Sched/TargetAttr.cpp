//===- TargetAttr.cpp -----------------------------------------------------===//
#include "dialects/Sched/TargetAttr.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include <array>
#include <set>

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

/// The names of cluster files (runtime/Simulate/Cluster.h); a test compares.
static constexpr std::array<StringLiteral, 5> kTypes = {"f32", "f64", "f16",
                                                        "bf16", "f8"};
static constexpr std::array<StringLiteral, 5> kWorks = {
    kKernelWork, "matmul", "attention", "attention_backward", "convolution"};
static constexpr std::array<StringLiteral, 5> kWays = {
    "ring", "tree", "doubling", "rabenseifner", "hierarchical"};

LogicalResult RateAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               StringRef work, StringRef type,
                               FloatAttr flops) {
  if (!llvm::is_contained(kWorks, work))
    return emitError() << "expected a rate of work " << llvm::join(kWorks, ", ")
                       << ", found '" << work << "'";
  if (!llvm::is_contained(kTypes, type))
    return emitError() << "expected a rate of type " << llvm::join(kTypes, ", ")
                       << ", found '" << type << "'";
  if (!(flops.getValueAsDouble() > 0))
    return emitError() << "expected more than 0 FLOPs a second of '" << work
                       << "', found " << flops;
  return success();
}

static LogicalResult verifyRates(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayAttr rates) {
  if (!llvm::all_of(rates, llvm::IsaPred<RateAttr>))
    return emitError() << "expected a list of #sched.rate, found " << rates;
  std::set<std::pair<StringRef, StringRef>> found;
  for (auto each : rates.getAsRange<RateAttr>())
    if (!found.insert({each.getWork(), each.getType()}).second)
      return emitError() << "expected one rate of '" << each.getWork()
                         << "' of " << each.getType() << ", found more";
  if (!found.count({kKernelWork, "f32"}))
    return emitError() << "expected a rate of \"" << kKernelWork
                       << "\" of f32 among " << rates;
  return success();
}

static LogicalResult verifyLinks(function_ref<InFlightDiagnostic()> emitError,
                                 StringRef name, ArrayAttr links) {
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
  return success();
}

static LogicalResult verifyWays(function_ref<InFlightDiagnostic()> emitError,
                                ArrayAttr ways) {
  if (ways.empty() || !areStrings(ways))
    return emitError() << "expected ways that are strings, found " << ways;
  for (StringRef way : ways.getAsValueRange<StringAttr>())
    if (!llvm::is_contained(kWays, way))
      return emitError() << "expected ways " << llvm::join(kWays, ", ")
                         << ", found '" << way << "'";
  return success();
}

static LogicalResult verifyAxes(function_ref<InFlightDiagnostic()> emitError,
                                ArrayAttr axes, DenseI64ArrayAttr sizes) {
  if (axes && !areStrings(axes))
    return emitError() << "expected axes that are strings, found " << axes;
  if ((axes ? axes.size() : 0) != (sizes ? size_t(sizes.size()) : 0))
    return emitError() << "expected a size for each axis, found " << sizes;
  return success();
}

LogicalResult MachineAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                  StringRef name, ArrayAttr rates,
                                  FloatAttr bytes, FloatAttr copy,
                                  FloatAttr copySeconds, FloatAttr host,
                                  FloatAttr launch, ArrayAttr links,
                                  ArrayAttr ways, ArrayAttr axes,
                                  DenseI64ArrayAttr sizes) {
  for (FloatAttr rate : {bytes, copy, host})
    if (!(rate.getValueAsDouble() > 0))
      return emitError() << "expected rates above 0 of machine '" << name
                         << "', found " << rate;
  for (FloatAttr seconds : {copySeconds, launch})
    if (!(seconds.getValueAsDouble() >= 0))
      return emitError() << "expected a launch and a copy of at least 0 "
                            "seconds, found "
                         << seconds;
  return success(succeeded(verifyRates(emitError, rates)) &&
                 succeeded(verifyLinks(emitError, name, links)) &&
                 succeeded(verifyWays(emitError, ways)) &&
                 succeeded(verifyAxes(emitError, axes, sizes)));
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
