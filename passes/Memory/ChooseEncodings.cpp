//===- ChooseEncodings.cpp - --zc-encode-kept -----------------------------===//
//
// An encoding costs digits, time or messages. Values are encoded only if that
// lowers the peak: not those of the last layers, say, which the backward reads
// before anything else.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/DistDialect.h"
#include "dialects/Dist/Notes.h"
#include "dialects/Sched/SchedDialect.h"
#include "passes/Memory/EncodeKept.h"
#include "passes/Memory/MeasurePeak.h"
#include "passes/Memory/Passes.h"
#include "passes/Memory/StepAnalysis.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_ENCODEKEPTPASS
#include "passes/Memory/Passes.h.inc"

namespace {

// So many times the program is planned to see what can be left out.
constexpr unsigned kGroups = 8;

constexpr llvm::StringLiteral kNothingLower =
    "no value is kept in fewer bytes: the planned peak would be no lower";
constexpr llvm::StringLiteral kNotRounded =
    "no value is rounded for the backward: the planned peak would be no lower";

struct EncodeKeptPassImpl : impl::EncodeKeptPassBase<EncodeKeptPassImpl> {
  using EncodeKeptPassBase::EncodeKeptPassBase;
  EncodeKeptPassImpl(const EncodeKeptPassOptions &options,
                     const OpPassManager &rest)
      : EncodeKeptPassBase(options), rest(rest) {}

  void runOnOperation() override {
    std::string wrong;
    if (!parseEncodings(encodings, wrong)) {
      getOperation().emitError(wrong);
      return signalPassFailure();
    }
    func::FuncOp step = findStep(getOperation());
    choice = {leaveOutRounding() ? withoutRounding(encodings)
                                 : std::string(encodings),
              partition};
    if (!step || choice.isNone())
      return;
    llvm::BitVector values = findEncodable(step, choice);
    if (!all && failed(choose(step, values)))
      return signalPassFailure();
    choice.values = values;
    numEncoded += encodeKept(step, choice);
  }

private:
  /// Whether the plan is that without (PlanPoolPlaces); says so.
  bool leaveOutRounding() {
    if (!getOperation()->removeAttr(kExactEncodingsAttr))
      return false;
    const bool leavesNone = withoutRounding(encodings) == "none";
    if (leavesNone)
      getOperation()->removeAttr(kPlainPeakAttr); // nobody will ask
    dist::addNote(getOperation(), leavesNone ? kNothingLower : kNotRounded);
    return true;
  }

  /// The peak without encodings, and without what was done for them.
  FailureOr<int64_t> measurePlain() {
    Attribute planned = getOperation()->removeAttr(kPlainPeakAttr);
    return planned ? cast<IntegerAttr>(planned).getInt()
                   : measure(llvm::BitVector(numValues));
  }

  /// Leaves of `values` what makes the peak as low as all of them do.
  LogicalResult choose(func::FuncOp step, llvm::BitVector &values) {
    numValues = values.size();
    FailureOr<int64_t> before = measurePlain();
    FailureOr<int64_t> least = measure(values);
    if (failed(before) || failed(least))
      return failure();
    if (*least >= *before) {
      values.reset();
      dist::addNote(getOperation(), kNothingLower);
      return success();
    }
    SmallVector<unsigned> order(values.set_bits());
    for (unsigned group = kGroups; group > 0; --group) {
      llvm::BitVector fewer = values;
      for (size_t i = order.size() * (group - 1) / kGroups,
                  end = order.size() * group / kGroups;
           i < end; ++i)
        fewer.reset(order[i]);
      if (fewer == values)
        continue;
      FailureOr<int64_t> peak = measure(fewer);
      if (failed(peak))
        return failure();
      if (*peak > *least)
        continue;
      least = *peak;
      values = std::move(fewer);
    }
    tell(values.count(), double(*before - *least) / (1 << 20));
    return success();
  }

  /// Pools keep no places in a plan without encodings, so that with no value
  /// these alone may lower it.
  void tell(unsigned count, double mebibytes) {
    std::string note =
        llvm::formatv("{0} value{1} kept for the backward in fewer bytes, "
                      "which lowers the plan by {2:F2} MiB",
                      count, count == 1 ? " is" : "s are", mebibytes);
    if (count == 0)
      note = llvm::formatv("max pools keep the places of their maxima, which "
                           "lowers the plan by {0:F2} MiB; no value is kept "
                           "in fewer bytes besides",
                           mebibytes);
    dist::addNote(getOperation(), note);
  }

  FailureOr<int64_t> measure(const llvm::BitVector &values) {
    EncodingChoice tried = choice;
    tried.values = values;
    FailureOr<Peak> peak =
        measurePeak(getOperation(), llvm::BitVector(numValues, true),
                    OffloadChoice(), tried, rest);
    if (failed(peak))
      return failure();
    return peak->total();
  }

  /// The passes up to offsets.
  OpPassManager rest{ModuleOp::getOperationName()};
  EncodingChoice choice;
  unsigned numValues = 0;
};

} // namespace

std::unique_ptr<Pass> createEncodeKeptPass(const EncodeKeptPassOptions &options,
                                           const OpPassManager &rest) {
  return std::make_unique<EncodeKeptPassImpl>(options, rest);
}

} // namespace zc
