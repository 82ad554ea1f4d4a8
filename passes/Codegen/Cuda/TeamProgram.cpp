//===- TeamProgram.cpp - a block of ops among a team's threads ------------===//
#include "passes/Codegen/Cuda/TeamProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/Codegen/Cuda/TeamLoops.h"

using namespace mlir;

namespace zc::cuda {

static constexpr int64_t kWarp = 32;

void TeamProgram::run(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
    convert(op);
}

void TeamProgram::convert(Operation &op) {
  if (auto alloca = dyn_cast<memref::AllocaOp>(op)) {
    alloca.replaceAllUsesWith(share(alloca.getType(), alloca.getLoc()));
    alloca.erase();
  } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
    convertLoop(loop);
  } else if (auto nest = dyn_cast<linalg::LinalgOp>(op)) {
    separate(&op, /*reads=*/true, /*writes=*/true);
    distributeAmongTeam(nest);
  } else if (isa<memref::StoreOp>(op)) {
    separate(&op, /*reads=*/false, /*writes=*/true);
    storeOnce(op);
  } else if (isa<memref::LoadOp>(op)) {
    separate(&op, /*reads=*/true, /*writes=*/false);
  }
}

void TeamProgram::distributeAmongTeam(linalg::LinalgOp nest) {
  Location loc = nest.getLoc();
  auto shareMemory = [&](int64_t elements, Type type) {
    return share(MemRefType::get({elements}, type), loc);
  };
  distribute(nest, {thread, size, shareMemory});
}

/// All threads pass through the loop together.
void TeamProgram::convertLoop(scf::ForOp loop) {
  barrier(loop);
  if (auto scatter = findScatter(loop)) {
    divideRows(*scatter);
    read = written = true;
    return;
  }
  run(*loop.getBody());
  barrier(loop.getBody()->getTerminator());
}

/// Every warp has some rows of the table to itself, and their elements a
/// thread each: updates of one row follow one another without a barrier.
void TeamProgram::divideRows(ScatterLoop scatter) {
  OpBuilder builder(scatter.update);
  Location loc = scatter.update.getLoc();
  auto index = [&](int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value lane = arith::RemUIOp::create(builder, loc, thread, index(kWarp));
  Value warp = arith::DivUIOp::create(builder, loc, thread, index(kWarp));
  Value owner =
      arith::RemUIOp::create(builder, loc, scatter.row, index(size / kWarp));
  Value mine = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                     owner, warp);
  auto branch = scf::IfOp::create(builder, loc, mine);
  scatter.update->moveBefore(branch.thenBlock()->getTerminator());
  auto shareNothing = [](int64_t, Type) -> Value {
    llvm_unreachable("an update sums nothing");
  };
  distribute(scatter.update, {lane, kWarp, shareNothing});
}

void TeamProgram::separate(Operation *op, bool reads, bool writes) {
  if (written || (read && writes))
    barrier(op);
  read |= reads;
  written |= writes;
}

void TeamProgram::barrier(Operation *before) {
  if (read || written) {
    OpBuilder builder(before);
    gpu::BarrierOp::create(builder, before->getLoc());
  }
  read = written = false;
}

void TeamProgram::storeOnce(Operation &op) {
  OpBuilder builder(&op);
  Location loc = op.getLoc();
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value first = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                      thread, zero);
  auto branch = scf::IfOp::create(builder, loc, first);
  op.moveBefore(branch.thenBlock()->getTerminator());
}

} // namespace zc::cuda
