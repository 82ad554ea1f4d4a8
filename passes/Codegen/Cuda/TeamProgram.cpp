//===- TeamProgram.cpp - a block of ops among a team's threads ------------===//
#include "passes/Codegen/Cuda/TeamProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Codegen/Cuda/TeamLoops.h"
#include "passes/Codegen/Cuda/Warp.h"

using namespace mlir;

namespace zc::cuda {

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
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    convertBranch(branch);
  } else if (auto nest = dyn_cast<linalg::LinalgOp>(op)) {
    separate(&op, /*reads=*/true, /*writes=*/true);
    rowTeam.count > 1 ? writeOwnRows(nest) : distributeAmongTeam(nest);
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

/// All threads read the same condition, so they take the branch together or
/// not at all: what waits for a barrier before it may still wait behind it.
void TeamProgram::convertBranch(scf::IfOp branch) {
  bool readBefore = read, writtenBefore = written;
  for (Region &region : branch->getRegions())
    if (!region.empty()) {
      bool readOther = read, writtenOther = written;
      read = readBefore;
      written = writtenBefore;
      run(region.front());
      read |= readOther;
      written |= writtenOther;
    }
}

static Value indexOf(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

int64_t TeamProgram::countOwners() const {
  return size / kWarp * rowTeam.count;
}

/// The number of this warp among all that have rows of the table.
Value TeamProgram::ownNumber(OpBuilder &builder, Location loc) {
  Value warp = arith::DivUIOp::create(builder, loc, thread,
                                      indexOf(builder, loc, kWarp));
  if (rowTeam.count == 1)
    return warp;
  Value before = arith::MulIOp::create(builder, loc, rowTeam.number,
                                       indexOf(builder, loc, size / kWarp));
  return arith::AddIOp::create(builder, loc, before, warp);
}

Value TeamProgram::lane(OpBuilder &builder, Location loc) {
  return arith::RemUIOp::create(builder, loc, thread,
                                indexOf(builder, loc, kWarp));
}

static void distributeAmongWarp(linalg::LinalgOp nest, Value lane) {
  auto shareNothing = [](int64_t, Type) -> Value {
    llvm_unreachable("an update sums nothing");
  };
  distribute(nest, {lane, kWarp, shareNothing});
}

/// Every warp has some rows of the table to itself, and their elements a
/// thread each: updates of one row follow one another without a barrier.
void TeamProgram::divideRows(ScatterLoop scatter) {
  auto loop = dyn_cast<scf::ForOp>(scatter.update->getParentOp());
  Operation *place = scatter.row.getDefiningOp();
  if (loop && place && place->getBlock() == loop.getBody() &&
      getConstantIntValue(loop.getStep()) == 1 &&
      llvm::all_of(*loop.getBody(), [](Operation &op) {
        return op.getNumRegions() == 0 || isa<linalg::LinalgOp>(op);
      })) {
    findOwnRows(loop, scatter.row);
    return loop.erase();
  }
  OpBuilder builder(scatter.update);
  Location loc = scatter.update.getLoc();
  Value owner = arith::RemUIOp::create(builder, loc, scatter.row,
                                       indexOf(builder, loc, countOwners()));
  Value mine = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                     owner, ownNumber(builder, loc));
  Value own = lane(builder, loc);
  auto branch = scf::IfOp::create(builder, loc, mine);
  scatter.update->moveBefore(branch.thenBlock()->getTerminator());
  distributeAmongWarp(scatter.update, own);
}

/// The places of 32 updates are looked at by a warp's threads, one each, which
/// tell one another by a bit whose row is the warp's.
void TeamProgram::findOwnRows(scf::ForOp loop, Value row) {
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  Value mine = lane(builder, loc), own = ownNumber(builder, loc);
  auto chunks =
      scf::ForOp::create(builder, loc, loop.getLowerBound(),
                         loop.getUpperBound(), indexOf(builder, loc, kWarp));
  builder.setInsertionPointToStart(chunks.getBody());
  Value begin = chunks.getInductionVar();
  Value place = arith::AddIOp::create(builder, loc, begin, mine);
  Value exists = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                       place, loop.getUpperBound());
  IRMapping mapping;
  mapping.map(loop.getInductionVar(),
              arith::SelectOp::create(builder, loc, exists, place, begin));
  for (Operation &op : loop.getBody()->without_terminator())
    if (!isa<linalg::LinalgOp, memref::SubViewOp>(op))
      builder.clone(op, mapping);
  Value owner = arith::RemUIOp::create(builder, loc, mapping.lookup(row),
                                       indexOf(builder, loc, countOwners()));
  Value isOwn =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, owner, own);
  isOwn = arith::AndIOp::create(builder, loc, isOwn, exists);
  Type i32 = builder.getI32Type();
  auto number = [&](int64_t value) {
    return arith::ConstantIntOp::create(builder, loc, i32, value);
  };
  Value bit = arith::ShLIOp::create(
      builder, loc, number(1),
      arith::IndexCastOp::create(builder, loc, i32, mine));
  Value bits = arith::SelectOp::create(builder, loc, isOwn, bit, number(0));
  for (int64_t distance = 1; distance < kWarp; distance *= 2) {
    Value other = gpu::ShuffleOp::create(builder, loc, bits, distance, kWarp,
                                         gpu::ShuffleMode::XOR)
                      .getShuffleResult();
    bits = arith::OrIOp::create(builder, loc, bits, other);
  }
  // From the lowest bit on, as updates follow one another.
  scf::WhileOp::create(
      builder, loc, TypeRange(i32), ValueRange(bits),
      [&](OpBuilder &nested, Location at, ValueRange left) {
        Value zero = arith::ConstantIntOp::create(nested, at, i32, 0);
        Value any = arith::CmpIOp::create(nested, at, arith::CmpIPredicate::ne,
                                          left[0], zero);
        scf::ConditionOp::create(nested, at, any, left);
      },
      [&](OpBuilder &nested, Location at, ValueRange left) {
        Value one = arith::ConstantIntOp::create(nested, at, i32, 1);
        Value less = arith::SubIOp::create(nested, at, left[0], one);
        Value without = arith::AndIOp::create(nested, at, left[0], less);
        Value lowest = arith::XOrIOp::create(nested, at, left[0], without);
        // A power of two, whose exponent a float32 has behind 23 bits.
        Value power =
            arith::UIToFPOp::create(nested, at, nested.getF32Type(), lowest);
        Value pattern = arith::BitcastOp::create(nested, at, i32, power);
        Value shift = arith::ConstantIntOp::create(nested, at, i32, 23);
        Value bias = arith::ConstantIntOp::create(nested, at, i32, 127);
        Value exponent = arith::SubIOp::create(
            nested, at, arith::ShRUIOp::create(nested, at, pattern, shift),
            bias);
        Value next = arith::AddIOp::create(
            nested, at, begin,
            arith::IndexCastOp::create(nested, at, nested.getIndexType(),
                                       exponent));
        updateRow(nested, loop, next);
        scf::YieldOp::create(nested, at, without);
      });
}

/// The update number `place` of the loop, by all threads of the warp.
void TeamProgram::updateRow(OpBuilder &builder, scf::ForOp loop, Value place) {
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), place);
  linalg::LinalgOp update;
  for (Operation &op : loop.getBody()->without_terminator()) {
    Operation *copy = builder.clone(op, mapping);
    if (auto nest = dyn_cast<linalg::LinalgOp>(copy))
      update = nest;
  }
  OpBuilder before(update);
  distributeAmongWarp(update, lane(before, loop.getLoc()));
}

/// Writes the initial contents of a table before its updates: each warp writes
/// the rows that it owns.
void TeamProgram::writeOwnRows(linalg::LinalgOp nest) {
  OpBuilder builder(nest);
  Location loc = nest.getLoc();
  int64_t rows = nest.getStaticLoopRanges().front();
  Value own = ownNumber(builder, loc), mine = lane(builder, loc);
  auto loop = scf::ForOp::create(builder, loc, own, indexOf(builder, loc, rows),
                                 indexOf(builder, loc, countOwners()));
  builder.setInsertionPointToStart(loop.getBody());
  IRMapping mapping;
  SmallVector<AffineMap> maps = nest.getIndexingMapsArray();
  for (auto [operand, map] : llvm::zip(nest->getOperands(), maps)) {
    if (!map.isFunctionOfDim(0))
      continue;
    auto type = cast<MemRefType>(operand.getType());
    SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0));
    SmallVector<OpFoldResult> sizes,
        strides(type.getRank(), builder.getIndexAttr(1));
    for (int64_t size : type.getShape())
      sizes.push_back(builder.getIndexAttr(size));
    offsets[0] = loop.getInductionVar();
    sizes[0] = builder.getIndexAttr(1);
    mapping.map(operand, memref::SubViewOp::create(builder, loc, operand,
                                                   offsets, sizes, strides));
  }
  auto copy = cast<linalg::LinalgOp>(builder.clone(*nest, mapping));
  distributeAmongWarp(copy, mine);
  nest.erase();
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
