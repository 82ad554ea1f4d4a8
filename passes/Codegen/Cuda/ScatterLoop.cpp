//===- ScatterLoop.cpp - slices of a table, one after the other -----------===//
#include "passes/Codegen/Cuda/ScatterLoop.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

namespace zc::cuda {

static Value rootOf(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
    buffer = view.getViewSource();
  return buffer;
}

static bool isAddress(Operation *op) {
  return isa<scf::ForOp, scf::YieldOp, memref::LoadOp, memref::SubViewOp,
             affine::AffineApplyOp>(op) ||
         isa<arith::ArithDialect>(op->getDialect());
}

/// Whether `value` is computed from something that is read in `loop`.
static bool isRead(Value value, scf::ForOp loop) {
  Operation *op = value.getDefiningOp();
  if (!op || !loop->isProperAncestor(op))
    return false;
  return isa<memref::LoadOp>(op) ||
         llvm::any_of(op->getOperands(),
                      [&](Value operand) { return isRead(operand, loop); });
}

/// The only place of a slice that is no constant, or null.
static Value placeOf(memref::SubViewOp slice) {
  auto offsets = slice.getOffsets();
  return offsets.size() == 1 ? offsets.front() : Value();
}

/// The only linalg op of a loop whose other ops compute addresses, and what is
/// loaded for these.
static linalg::LinalgOp findUpdate(scf::ForOp loop,
                                   SmallVectorImpl<Value> &loaded) {
  linalg::LinalgOp update;
  WalkResult result = loop.getBody()->walk<WalkOrder::PreOrder>(
      [&](Operation *op) -> WalkResult {
        if (auto nest = dyn_cast<linalg::LinalgOp>(op)) {
          if (update)
            return WalkResult::interrupt();
          update = nest;
          return WalkResult::skip();
        }
        if (auto load = dyn_cast<memref::LoadOp>(op))
          loaded.push_back(load.getMemRef());
        return isAddress(op) ? WalkResult::advance() : WalkResult::interrupt();
      });
  return result.wasInterrupted() ? linalg::LinalgOp() : update;
}

std::optional<ScatterLoop> findScatter(scf::ForOp loop) {
  SmallVector<Value> read;
  linalg::LinalgOp update = findUpdate(loop, read);
  if (!update || update.getNumDpsInits() != 1 ||
      update.getNumReductionLoops() > 0)
    return std::nullopt;
  Value output = update.getDpsInitOperand(0)->get();
  auto slice = output.getDefiningOp<memref::SubViewOp>();
  Value row = slice ? placeOf(slice) : Value();
  llvm::append_range(read, update.getDpsInputs());
  bool isApart = llvm::none_of(
      read, [&](Value buffer) { return rootOf(buffer) == rootOf(output); });
  if (!row || !isApart || !isRead(row, loop))
    return std::nullopt;
  return ScatterLoop{update, row};
}

/// Whether the first loop of `op` runs over rows of all that it touches, or is
/// none of what it reads.
static bool goesByRows(linalg::LinalgOp op) {
  if (op.getNumDpsInits() != 1 || op.getNumReductionLoops() > 0 ||
      op.hasIndexSemantics())
    return false;
  unsigned inputs = op.getNumDpsInputs();
  for (auto [number, map] : llvm::enumerate(op.getIndexingMapsArray())) {
    bool first = map.getNumResults() > 0 &&
                 map.getResult(0) == getAffineDimExpr(0, op.getContext());
    if (number >= inputs ? !map.isIdentity() : map.isFunctionOfDim(0) && !first)
      return false;
  }
  return true;
}

bool isScatterAlone(func::FuncOp function) {
  auto blocks = function.getBody().front().getOps<scf::ForOp>();
  if (!llvm::hasSingleElement(blocks))
    return false;
  linalg::LinalgOp first;
  std::optional<ScatterLoop> scatter;
  for (Operation &op : (*blocks.begin()).getBody()->without_terminator()) {
    if (auto nest = dyn_cast<linalg::LinalgOp>(op)) {
      if (first || scatter || !goesByRows(nest))
        return false;
      first = nest;
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      if (scatter || !(scatter = findScatter(loop)))
        return false;
    } else if (!isAddress(&op) || isa<memref::LoadOp>(op)) {
      return false;
    }
  }
  if (!scatter)
    return false;
  auto slice = scatter->update.getDpsInitOperand(0)
                   ->get()
                   .getDefiningOp<memref::SubViewOp>();
  return slice.getDroppedDims().test(0) && slice.isDynamicOffset(0) &&
         (!first || first.getDpsInitOperand(0)->get() == slice.getSource());
}

} // namespace zc::cuda
