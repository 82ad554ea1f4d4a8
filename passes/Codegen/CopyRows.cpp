//===- CopyRows.cpp - copies of whole rows --------------------------------===//
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/Codegen/Passes.h"

using namespace mlir;

namespace zc {
#define GEN_PASS_DEF_COPYROWSPASS
#include "passes/Codegen/Passes.h.inc"

namespace {

/// Whether `op` writes its one input, element by element, and nothing else.
bool isCopy(linalg::LinalgOp op) {
  if (!op.hasPureBufferSemantics() || op.getNumDpsInputs() != 1 ||
      op.getNumDpsInits() != 1 ||
      !llvm::all_of(op.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return false;
  Operation *yield = op.getBlock()->getTerminator();
  return op.getBlock()->without_terminator().empty() &&
         yield->getOperand(0) == op.getRegionInputArgs()[0];
}

/// Copies elements side by side from dim `first` on, in loops over the others.
void buildCopies(OpBuilder &builder, Location loc, Value from, Value to,
                 int64_t first) {
  ArrayRef<int64_t> shape = cast<MemRefType>(from.getType()).getShape();
  SmallVector<OpFoldResult> offsets(shape.size(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> sizes,
      strides(shape.size(), builder.getIndexAttr(1));
  for (auto [dim, size] : llvm::enumerate(shape)) {
    sizes.push_back(builder.getIndexAttr(int64_t(dim) < first ? 1 : size));
    if (int64_t(dim) >= first || size == 1)
      continue;
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(builder, loc, value);
    };
    auto loop = scf::ForOp::create(builder, loc, constant(0), constant(size),
                                   constant(1));
    builder.setInsertionPointToStart(loop.getBody());
    offsets[dim] = loop.getInductionVar();
  }
  auto part = [&](Value buffer) -> Value {
    return memref::SubViewOp::create(builder, loc, buffer, offsets, sizes,
                                     strides);
  };
  if (first > 0) {
    from = part(from);
    to = part(to);
  }
  memref::CopyOp::create(builder, loc, from, to);
}

/// Shorter rows are as quick in loops, which LLVM makes vectors of.
constexpr int64_t kShortestRow = 256; // bytes

struct CopyRows : public impl::CopyRowsPassBase<CopyRows> {
  void getDependentDialects(DialectRegistry &registry) const override {
    registry
        .insert<arith::ArithDialect, memref::MemRefDialect, scf::SCFDialect>();
  }

  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> copies;
    getOperation()->walk([&](linalg::LinalgOp op) {
      if (isCopy(op))
        copies.push_back(op);
    });
    for (linalg::LinalgOp op : copies)
      replace(op);
  }

private:
  static void replace(linalg::LinalgOp op) {
    Value from = op.getDpsInputs()[0], to = op.getDpsInits()[0];
    auto source = dyn_cast<MemRefType>(from.getType()); // or a number
    auto target = cast<MemRefType>(to.getType());
    // Bytes of one buffer could overlap.
    if (!source || !source.hasStaticShape() ||
        source.getShape() != target.getShape() ||
        source.getElementType() != target.getElementType() ||
        memref::skipViewLikeOps(cast<MemrefValue>(from)) ==
            memref::skipViewLikeOps(cast<MemrefValue>(to)))
      return;
    // From this dim on all elements lie side by side in both.
    const int64_t first =
        source.getRank() - std::min(source.getNumContiguousTrailingDims(),
                                    target.getNumContiguousTrailingDims());
    const int64_t bytes =
        ShapedType::getNumElements(source.getShape().drop_front(first)) *
        source.getElementTypeBitWidth() / 8;
    if (bytes < kShortestRow)
      return;
    OpBuilder builder(op);
    buildCopies(builder, op.getLoc(), from, to, first);
    op.erase();
  }
};

} // namespace
} // namespace zc
