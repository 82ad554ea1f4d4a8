//===- ChooseEncodings.cpp - --zc-encode-kept -----------------------------===//
//
// An encoding costs digits, time or messages. Values are encoded only if that
// lowers the peak: not those of the last layers, say, which the backward reads
// before anything else. And a list of encodings is cut to the part of it that
// lowers the peak most, so that no list takes more memory than a part of it.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/DistDialect.h"
#include "dialects/Dist/Notes.h"
#include "dialects/Sched/SchedDialect.h"
#include "passes/Memory/EncodeKept.h"
#include "passes/Memory/MeasurePeak.h"
#include "passes/Memory/Passes.h"
#include "passes/Memory/StepAnalysis.h"

#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_ENCODEKEPTPASS
#include "passes/Memory/Passes.h.inc"

namespace {

// The values are dealt into so many groups, and it is tried whether the plan is
// as low without a group.
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
    choice.values = findEncodable(step, choice);
    numValues = choice.values->size();
    if (!all && failed(chooseLeast()))
      return signalPassFailure();
    numEncoded += encodeKept(step, choice);
  }

private:
  /// Whether PlanPoolPlaces has chosen the plan that does not round; a note
  /// says so.
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
                   : measure(EncodingChoice());
  }

  /// Leaves of the encodings, and of the values, what makes the peak least. A
  /// value that two encodings may keep has the first of them, which need not be
  /// the better one; so each part of the list is planned for.
  LogicalResult chooseLeast() {
    FailureOr<int64_t> before = measurePlain();
    if (failed(before))
      return failure();
    EncodingChoice best{"none", "", llvm::BitVector(numValues)};
    int64_t least = *before, whole = *before;
    for (EncodingChoice &part : listDifferent()) {
      FailureOr<int64_t> peak = leaveOutValues(part, *before);
      if (failed(peak))
        return failure();
      if (part.encodings == choice.encodings &&
          part.partition == choice.partition)
        whole = *peak;
      if (*peak >= least)
        continue;
      least = *peak;
      best = std::move(part);
    }
    if (least < *before)
      tell(best.values->count(), double(*before - least) / (1 << 20));
    else
      dist::addNote(getOperation(), kNothingLower);
    if (least < *before && least < whole)
      tellLeftOut(best, double(whole - least) / (1 << 20));
    choice = std::move(best);
    return success();
  }

  /// The parts of the list whose programs are not those of others.
  std::vector<EncodingChoice> listDifferent() {
    std::vector<EncodingChoice> different;
    std::vector<OwningOpRef<ModuleOp>> programs;
    for (EncodingChoice &part : listParts(choice)) {
      OwningOpRef<ModuleOp> copy = getOperation().clone();
      func::FuncOp step = findStep(*copy);
      part.values = findEncodable(step, part);
      encodeKept(step, part);
      auto equals = [&](OwningOpRef<ModuleOp> &other) {
        return OperationEquivalence::isEquivalentTo(
            findStep(*other), step, OperationEquivalence::IgnoreLocations);
      };
      auto known = llvm::find_if(programs, equals);
      if (known != programs.end()) { // the later one has more words
        different[known - programs.begin()] = std::move(part);
        continue;
      }
      different.push_back(std::move(part));
      programs.push_back(std::move(copy));
    }
    return different;
  }

  /// Leaves of a part's values what makes the peak as low as all of them do;
  /// returns that peak. If all do not lower it below `plain`, none is left out.
  FailureOr<int64_t> leaveOutValues(EncodingChoice &part, int64_t plain) {
    FailureOr<int64_t> least = measure(part);
    if (failed(least) || *least >= plain)
      return least;
    SmallVector<unsigned> order(part.values->set_bits());
    for (unsigned group = kGroups; group > 0; --group) {
      EncodingChoice fewer = part;
      for (size_t i = order.size() * (group - 1) / kGroups,
                  end = order.size() * group / kGroups;
           i < end; ++i)
        fewer.values->reset(order[i]);
      if (*fewer.values == *part.values)
        continue;
      FailureOr<int64_t> peak = measure(fewer);
      if (failed(peak))
        return failure();
      if (*peak > *least)
        continue;
      least = *peak;
      part = std::move(fewer);
    }
    return least;
  }

  /// A note says which part of the list is not used.
  void tellLeftOut(const EncodingChoice &best, double mebibytes) {
    SmallVector<StringRef> used = splitEncodings(best.encodings);
    SmallVector<std::string> left;
    for (StringRef word : splitEncodings(choice.encodings))
      if (!llvm::is_contained(used, word))
        left.push_back(word.str());
    if (best.partition != choice.partition)
      left.push_back("--partition-activations");
    dist::addNote(
        getOperation(),
        llvm::formatv("{0} {1} left out: with {2} the plan would take {3:F2} "
                      "MiB more",
                      llvm::join(left, " and "),
                      left.size() == 1 ? "is" : "are",
                      left.size() == 1 ? "it" : "them", mebibytes)
            .str());
  }

  /// The plan is compared with one without encodings, where pools keep images,
  /// not places. So it may be lower by the places alone, with no value encoded.
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

  FailureOr<int64_t> measure(const EncodingChoice &tried) {
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
