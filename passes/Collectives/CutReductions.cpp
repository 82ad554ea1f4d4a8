//===- CutReductions.cpp - --zc-cut-reductions ----------------------------===//
//
// ZeRO-R's buffers of constant size (Rajbhandari et al. 2020): copies for
// sending, packed or in a wider type, never take more room than a bucket,
// however large a single gradient is.
//
//===----------------------------------------------------------------------===//
#include "passes/Collectives/Passes.h"

#include "dialects/Train/OpMarks.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Analysis/Tensors.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_CUTREDUCTIONSPASS
#include "passes/Collectives/Passes.h.inc"

namespace {

/// A reduction of gradients in another type than theirs, as rows of which every
/// rank gets one, or all.
struct WideReduction {
  dist::CollectiveOpInterface op;
  ConvertOp widened;       // what is sent
  ConvertOp narrowed = {}; // the result in the gradient's type; null: as sent
  int64_t rows = 1, length = 0; // of a row
};

/// Works on one reduction.
class Cutter {
public:
  Cutter(WideReduction found, int64_t pieces)
      : found(found), pieces(pieces), builder(found.op), loc(found.op.getLoc()),
        mark(builder.getUnitAttr()), late(found.widened->getAttr(kLateAttr)) {}

  void run() {
    Value terms = reshape(builder, loc, found.widened.getInput(),
                          {found.rows, found.length});
    SmallVector<Value> parts;
    for (int64_t piece = 0; piece < pieces; ++piece) {
      int64_t begin = found.length * piece / pieces;
      int64_t end = found.length * (piece + 1) / pieces;
      parts.push_back(reducePiece(terms, begin, end - begin));
    }
    Operation *last = found.narrowed ? found.narrowed.getOperation()
                                     : found.op.getOperation();
    auto type = cast<RankedTensorType>(last->getResult(0).getType());
    auto joined = ConcatOp::create(builder, loc,
                                   withShape(type, {numElements(type)}), parts,
                                   /*dim=*/0);
    copyMark(last, joined, kGradientsAttr);
    last->getResult(0).replaceAllUsesWith(
        reshape(builder, loc, joined, type.getShape()));
    if (found.narrowed)
      found.narrowed.erase();
    found.op->erase();
    if (found.widened->use_empty())
      found.widened.erase();
  }

private:
  /// Elements [begin, begin + length) of every row, reduced.
  Value reducePiece(Value terms, int64_t begin, int64_t length) {
    auto type = cast<RankedTensorType>(terms.getType());
    Value piece = SliceOp::create(
        builder, loc, withShape(type, {found.rows, length}), terms,
        ArrayRef<int64_t>{0, begin}, ArrayRef<int64_t>{1, 1});
    stage(piece);
    piece = reshape(builder, loc, piece, {found.rows * length});
    Type sent = getElementTypeOrSelf(found.widened.getType());
    piece = train::convert(builder, loc, piece, sent);
    stage(piece);
    IRMapping mapping;
    mapping.map(found.op->getOperand(0), piece);
    Operation *reduction = builder.clone(*found.op, mapping);
    reduction->removeAttr(kGradientsAttr);
    bool isPart = found.rows > 1;
    piece = reduction->getResult(0);
    piece.setType(
        withShape(piece.getType(), {isPart ? length : found.rows * length}));
    stage(piece);
    if (found.narrowed)
      piece = train::convert(builder, loc, piece,
                             getElementTypeOrSelf(found.narrowed.getType()));
    return piece;
  }

  void stage(Value value) {
    Operation *op = value.getDefiningOp();
    op->setAttr(kStagingAttr, mark);
    if (late)
      op->setAttr(kLateAttr, late);
  }

  WideReduction found;
  int64_t pieces;
  OpBuilder builder;
  Location loc;
  Attribute mark, late;
};

struct CutReductions : public impl::CutReductionsPassBase<CutReductions> {
  using CutReductionsPassBase::CutReductionsPassBase;

  void runOnOperation() override {
    mesh = dist::getMesh(getOperation());
    if (!mesh)
      return;
    SmallVector<dist::CollectiveOpInterface> reductions;
    getOperation().walk([&](dist::CollectiveOpInterface op) {
      if (op.getWhatIsSent() == dist::kGradients &&
          isa<dist::AllReduceOp, dist::ReduceScatterOp>(op))
        reductions.push_back(op);
    });
    for (dist::CollectiveOpInterface op : reductions) {
      takeUnpacked(op);
      if (bytes > 0)
        cut(op);
    }
  }

private:
  /// A vector of one gradient is that gradient.
  static void takeUnpacked(dist::CollectiveOpInterface op) {
    Operation *user = op;
    if (auto widened = op->getOperand(0).getDefiningOp<ConvertOp>())
      user = widened;
    auto packed = user->getOperand(0).getDefiningOp<ConcatOp>();
    if (!packed || packed->getNumOperands() != 1 || !packed->hasOneUse())
      return;
    copyMark(packed, user, kLateAttr);
    user->setOperand(0, packed->getOperand(0));
    packed.erase();
  }

  void cut(dist::CollectiveOpInterface op) {
    WideReduction found;
    found.op = op;
    found.widened = op->getOperand(0).getDefiningOp<ConvertOp>();
    int64_t whole = bytesOf(op->getOperand(0));
    if (!found.widened || whole <= bytes)
      return;
    if (auto scatter = dyn_cast<dist::ReduceScatterOp>(op.getOperation())) {
      if (scatter.getDim() != 0)
        return;
      found.rows = dist::getGroupSize(mesh, op.getAxes());
    }
    found.length = numElements(op->getOperand(0).getType()) / found.rows;
    if (op->getResult(0).hasOneUse())
      found.narrowed = dyn_cast<ConvertOp>(*op->getResult(0).user_begin());
    int64_t pieces = std::min<int64_t>(
        llvm::divideCeil(whole, bytes.getValue()), found.length);
    Cutter(found, pieces).run();
    ++numCut;
  }

  dist::MeshAttr mesh;
};

} // namespace
} // namespace zc
