//===- ThreadPlan.cpp - a kernel's work among GPU threads -----------------===//
#include "passes/Codegen/Cuda/ThreadPlan.h"

#include "passes/Analysis/LoopNests.h"
#include "passes/Codegen/Cuda/ScatterLoop.h"
#include "passes/Codegen/Cuda/Warp.h"
#include "passes/Codegen/EqualKernels.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace zc::cuda {

/// Elements that one thread may compute alone; more are a team's work.
static constexpr int64_t kThreadWork = 256;
static constexpr int64_t kThreads = 256;
static constexpr int64_t kMaxTeam = 512;

static bool hasNarrowElements(Type type) {
  return cast<ShapedType>(type).getElementTypeBitWidth() == 16;
}

static bool hasNarrowResults(Block &body) {
  return llvm::any_of(body.without_terminator(), [](Operation &op) {
    return llvm::any_of(op.getResultTypes(), hasNarrowElements);
  });
}

KernelSplit chooseThreadSplit(Block &body) {
  int64_t width = hasNarrowResults(body) ? 8 : 4;
  return chooseSplit(body, [&](int64_t size, bool innermost) {
    return innermost ? largestDivisor(size, width) : int64_t(1);
  });
}

/// Neighbours that a team has together: as many as make whole lines of memory,
/// or, where teams would be too few to read much at once, a part of a line that
/// is still read as one.
static constexpr int64_t kLineBytes = 128, kSectorBytes = 32;
static constexpr int64_t kFewTeams = 256, kManyElements = 1 << 20;

static int64_t largestOperand(Block &body) {
  int64_t largest = 0;
  for (Type type : body.getArgumentTypes())
    largest = std::max(largest, cast<ShapedType>(type).getNumElements());
  return largest;
}

/// Elements of the rows that a team has whose halves change places.
static constexpr int64_t kRowElements = 2048;

bool readsHalves(Block &body) {
  return llvm::any_of(body.without_terminator(),
                      [](Operation &op) { return isJoinOfHalves(&op); });
}

KernelSplit chooseTeamSplit(Block &body) {
  if (readsHalves(body))
    return chooseRowSplit(body, kRowElements);
  bool narrow = hasNarrowResults(body) ||
                llvm::any_of(body.getArgumentTypes(), hasNarrowElements);
  bool isSmall = largestOperand(body) < kManyElements;
  for (int64_t bytes = kLineBytes;; bytes /= 2) {
    int64_t width = bytes / (narrow ? 2 : 4);
    auto blockOf = [&](int64_t size, bool innermost) {
      return innermost ? largestDivisor(size, width) : int64_t(1);
    };
    KernelSplit split = chooseSplit(body, blockOf, Innermost::OfLarge);
    if (isSmall || split.grid() >= kFewTeams || bytes == kSectorBytes)
      return split;
  }
}

/// How often the loops around `op` run, at most.
static int64_t countRuns(Operation *op) {
  int64_t runs = 1;
  for (auto loop = op->getParentOfType<scf::ForOp>(); loop;
       loop = loop->getParentOfType<scf::ForOp>()) {
    auto begin = getConstantIntValue(loop.getLowerBound());
    auto end = getConstantIntValue(loop.getUpperBound());
    auto step = getConstantIntValue(loop.getStep());
    bool isOutermost = !loop->getParentOfType<scf::ForOp>();
    if (begin && end && step)
      runs *= llvm::divideCeil(std::max<int64_t>(*end - *begin, 1), *step);
    else if (!isOutermost) // the loop over blocks runs once
      runs *= kWarp;       // a window's edge
  }
  return runs;
}

bool isWorkOfOneThread(func::FuncOp function) {
  int64_t work = 0;
  function.walk([&](linalg::LinalgOp op) {
    int64_t runs = countRuns(op);
    for (int64_t size : op.getStaticLoopRanges())
      runs *= size;
    work += runs;
  });
  return work <= kThreadWork;
}

/// Updates of a table that are worth a warp.
static constexpr int64_t kWarpUpdates = 64;

/// Warps that rows of a table are divided among, if it is updated row by row.
static int64_t countScatterWarps(func::FuncOp function) {
  int64_t warps = 1;
  function.walk([&](scf::ForOp loop) {
    if (auto scatter = findScatter(loop))
      warps = std::max<int64_t>(
          warps, llvm::PowerOf2Ceil(countRuns(scatter->update) / kWarpUpdates));
  });
  return warps;
}

/// Teams that the rows of a table are divided among: a warp that has few
/// updates waits for memory less often, but each looks at all places of the
/// others.
static constexpr int64_t kMaxRowTeams = 8;

static int64_t countRowTeams(func::FuncOp function, int64_t threads) {
  if (!isScatterAlone(function))
    return 1;
  return std::clamp<int64_t>(countScatterWarps(function) / (threads / kWarp), 1,
                             kMaxRowTeams);
}

/// Elements that a thread takes at once of what a loop nest reads and writes:
/// 16 bytes.
static int64_t countBeside(linalg::LinalgOp op) {
  for (Value operand : op->getOperands())
    if (auto type = dyn_cast<MemRefType>(operand.getType());
        type && type.getElementTypeBitWidth() == 16)
      return 8;
  return 4;
}

/// Threads that the largest loop nest of a team keeps busy.
static int64_t chooseTeam(func::FuncOp function) {
  int64_t largest = kWarp * countScatterWarps(function);
  function.walk([&](linalg::LinalgOp op) {
    int64_t size = 1;
    for (int64_t range : op.getStaticLoopRanges())
      size *= range;
    largest =
        std::max<int64_t>(largest, llvm::divideCeil(size, countBeside(op)));
  });
  return std::clamp<int64_t>(llvm::PowerOf2Ceil(largest), kWarp, kMaxTeam);
}

int64_t setThreads(func::FuncOp function, bool blockPerThread) {
  Builder builder(function.getContext());
  auto signature = function->getAttrOfType<DenseI64ArrayAttr>(kSignatureAttr);
  SmallVector<int64_t> numbers(signature.asArrayRef());
  int64_t grid = numbers.front();
  int64_t threads =
      blockPerThread
          ? std::clamp<int64_t>(llvm::PowerOf2Ceil(grid), kWarp, kThreads)
          : chooseTeam(function);
  function->setAttr(kThreadsAttr, builder.getI64IntegerAttr(threads));
  if (blockPerThread) {
    function->setAttr(kBlockPerThreadAttr, builder.getI64IntegerAttr(grid));
    grid = llvm::divideCeil(grid, threads);
  } else if (int64_t teams = countRowTeams(function, threads); teams > 1) {
    function->setAttr(kRowTeamsAttr, builder.getI64IntegerAttr(teams));
    grid *= teams;
  }
  numbers.front() = grid;
  numbers.insert(numbers.begin() + 1, threads);
  function->setAttr(kSignatureAttr, builder.getDenseI64ArrayAttr(numbers));
  return grid;
}

} // namespace zc::cuda
