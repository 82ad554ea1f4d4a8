//===- DeviceCode.h - code of a team's threads ------------------*- C++ -*-===//
#ifndef ZC_PASSES_CODEGEN_CUDA_DEVICECODE_H
#define ZC_PASSES_CODEGEN_CUDA_DEVICECODE_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

namespace zc::cuda {

/// Builds arithmetic of indices, which are not negative, and loops.
struct DeviceCode {
  mlir::OpBuilder &builder;
  mlir::Location loc;

  mlir::Value index(int64_t value) {
    return mlir::arith::ConstantIndexOp::create(builder, loc, value);
  }
  mlir::Value add(mlir::Value a, mlir::Value b) {
    return mlir::arith::AddIOp::create(builder, loc, a, b);
  }
  mlir::Value add(mlir::Value a, int64_t b) {
    return b == 0 ? a : add(a, index(b));
  }
  mlir::Value sub(mlir::Value a, mlir::Value b) {
    return mlir::arith::SubIOp::create(builder, loc, a, b);
  }
  mlir::Value mul(mlir::Value a, int64_t b) {
    return b == 1 ? a : mlir::arith::MulIOp::create(builder, loc, a, index(b));
  }
  mlir::Value div(mlir::Value a, int64_t b) {
    return b == 1 ? a : mlir::arith::DivUIOp::create(builder, loc, a, index(b));
  }
  mlir::Value rem(mlir::Value a, int64_t b) {
    return b == 1 ? index(0)
                  : mlir::arith::RemUIOp::create(builder, loc, a, index(b));
  }
  mlir::Value ceilDiv(mlir::Value a, int64_t b) {
    return div(add(a, b - 1), b);
  }
  mlir::Value min(mlir::Value a, mlir::Value b) {
    return mlir::arith::MinUIOp::create(builder, loc, a, b);
  }
  mlir::Value less(mlir::Value a, mlir::Value b) {
    return mlir::arith::CmpIOp::create(builder, loc,
                                       mlir::arith::CmpIPredicate::ult, a, b);
  }
  mlir::Value equal(mlir::Value a, mlir::Value b) {
    return mlir::arith::CmpIOp::create(builder, loc,
                                       mlir::arith::CmpIPredicate::eq, a, b);
  }
  mlir::Value both(mlir::Value a, mlir::Value b) {
    return mlir::arith::AndIOp::create(builder, loc, a, b);
  }
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b) {
    return mlir::arith::SelectOp::create(builder, loc, condition, a, b);
  }
  mlir::Value zero(mlir::Type type) {
    return mlir::arith::ConstantOp::create(builder, loc,
                                           builder.getZeroAttr(type));
  }
  mlir::Value load(mlir::Value buffer, mlir::ValueRange at) {
    return mlir::memref::LoadOp::create(builder, loc, buffer, at);
  }
  void store(mlir::Value value, mlir::Value buffer, mlir::ValueRange at) {
    mlir::memref::StoreOp::create(builder, loc, value, buffer, at);
  }
  /// An integer of a buffer, as an index.
  mlir::Value loadIndex(mlir::Value buffer, mlir::ValueRange at) {
    return mlir::arith::IndexCastOp::create(
        builder, loc, builder.getIndexType(), load(buffer, at));
  }
  /// A buffer that the threads of the team share.
  mlir::Value share(llvm::ArrayRef<int64_t> shape, mlir::Type element) {
    return mlir::memref::AllocaOp::create(
        builder, loc, mlir::MemRefType::get(shape, element));
  }
  void barrier() { mlir::gpu::BarrierOp::create(builder, loc); }

  using Body = llvm::function_ref<void()>;
  void ifTrue(mlir::Value condition, Body body, Body otherwise = nullptr) {
    auto branch = mlir::scf::IfOp::create(builder, loc, condition,
                                          /*withElseRegion=*/bool(otherwise));
    mlir::OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    body();
    if (!otherwise)
      return;
    builder.setInsertionPointToStart(branch.elseBlock());
    otherwise();
  }

  /// From `begin` to `end`; `body` gets the number and what the turn before
  /// left, at first `values`, and returns what it leaves.
  using Turn = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::Value number, mlir::ValueRange values)>;
  mlir::ValueRange loop(mlir::Value begin, mlir::Value end, int64_t step,
                        mlir::ValueRange values, Turn body) {
    auto loop =
        mlir::scf::ForOp::create(builder, loc, begin, end, index(step), values);
    mlir::OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    auto left = body(loop.getInductionVar(), loop.getRegionIterArgs());
    if (!values.empty())
      mlir::scf::YieldOp::create(builder, loc, left);
    return loop.getResults();
  }
};

} // namespace zc::cuda

#endif // ZC_PASSES_CODEGEN_CUDA_DEVICECODE_H
