//===- MeasurePeak.cpp - what a plan needs, exactly -----------------------===//
//
// An estimate could be wrong by what packing wastes, or by what in-place
// updates save; the phases that come later are quick enough to be asked.
//
//===----------------------------------------------------------------------===//
#include "passes/Memory/MeasurePeak.h"

#include "dialects/Sched/SchedDialect.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/IR/OwningOpRef.h"
#include "passes/Memory/ApplyPlan.h"
#include "passes/Pipeline/Passes.h"
#include "passes/Scheduling/Passes.h"
#include "passes/Target/Target.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace zc {

/// The bytes of the next batch: fedAheadBytes() of runtime/Plan/Feed.h, before
/// there is a manifest.
static int64_t countFedAhead(ModuleOp module) {
  constexpr int64_t kAlignment = 64;
  int64_t bytes = 0;
  for (sched::ProgramOp program : module.getOps<sched::ProgramOp>())
    if (program.getSymName() == train::kStepProgram ||
        program.getSymName() == train::kMicroProgram)
      program.walk([&](sched::InputOp input) {
        bytes += llvm::alignTo(
            sched::getByteSize(cast<ShapedType>(input.getType())), kAlignment);
      });
  return bytes;
}

Peak readPeak(ModuleOp module) {
  Peak peak;
  peak.persistent =
      module->getAttrOfType<IntegerAttr>(sched::kPersistentBytesAttr).getInt();
  if (getTarget(module).runsBesideHost())
    peak.persistent += countFedAhead(module);
  peak.flight = countFlightBytes(module);
  for (sched::ProgramOp program : module.getOps<sched::ProgramOp>()) {
    const auto bytes = int64_t(program.getTransientBytes().value_or(0));
    if (bytes > peak.transient || peak.program.empty())
      peak.program = program.getSymName().str();
    peak.transient = std::max(peak.transient, bytes);
  }
  if (auto staying = module->getAttrOfType<IntegerAttr>(kStayingAttr))
    peak.staying = staying.getInt();
  if (auto waiting = module->getAttrOfType<DenseF64ArrayAttr>(kWaitingAttr)) {
    peak.waiting = waiting[0];
    peak.waitingAtEnd = waiting[1];
  }
  return peak;
}

std::string Peak::ownerOfTransient(StringRef part) const {
  const bool isBeside = llvm::is_contained(
      {train::kInitProgram, train::kEvalProgram, train::kCopyProgram}, program);
  return isBeside ? "program '" + program + "'" : part.str();
}

LogicalResult runUnverified(ModuleOp module, const OpPassManager &passes) {
  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  static_cast<OpPassManager &>(manager) = passes;
  manager.enableVerifier(false);
  return manager.run(module);
}

std::string printBytes(int64_t bytes) {
  double size = static_cast<double>(bytes) / 1024;
  StringRef unit = "KiB";
  for (StringRef larger : {"MiB", "GiB", "TiB"})
    if (size >= 1024) {
      size /= 1024;
      unit = larger;
    }
  return llvm::formatv("{0:F2} {1}", std::ceil(size * 100) / 100, unit).str();
}

FailureOr<Peak> measurePeak(ModuleOp module, const llvm::BitVector &kept,
                            const OffloadChoice &offload,
                            const EncodingChoice &encoding,
                            const OpPassManager &rest) {
  if (rest.empty())
    return module.emitError("nothing says what a plan needs: the passes up to "
                            "offsets are missing");
  OwningOpRef<ModuleOp> copy = module.clone();
  func::FuncOp step = findStep(*copy);
  if (step)
    applyPlan(step, kept);
  markOffload(*copy, offload);
  if (step)
    encodeKept(step, encoding);
  if (failed(runUnverified(*copy, rest)))
    return failure();
  return readPeak(*copy);
}

} // namespace zc
