//===- TeamBody.cpp - a linalg op's body, run by threads ------------------===//
//
// A thread takes neighbours in memory together, places or terms, whichever lie
// side by side.
//
//===----------------------------------------------------------------------===//
#include "passes/Codegen/Cuda/TeamBody.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace zc::cuda {

TeamBody::TeamBody(linalg::LinalgOp op, const Team &team)
    : op(op), team(team), builder(op), loc(op.getLoc()),
      maps(op.getIndexingMapsArray()), sizes(op.getStaticLoopRanges()) {
  for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
    bool parallel = kind == utils::IteratorType::parallel;
    (parallel ? placeLoops : termLoops).push_back(loop);
    (parallel ? places : terms) *= sizes[loop];
  }
}

Value TeamBody::index(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Block &TeamBody::body() { return *op.getBlock(); }

Value TeamBody::yielded(unsigned output) {
  return body().getTerminator()->getOperand(output);
}

BlockArgument TeamBody::elementOf(unsigned output) {
  return body().getArgument(op.getNumDpsInputs() + output);
}

AffineMap TeamBody::outputMap(unsigned output) {
  return maps[op.getNumDpsInputs() + output];
}

Value TeamBody::outputBuffer(unsigned output) {
  return op.getDpsInitOperand(output)->get();
}

void TeamBody::delinearize(Value linear, ArrayRef<int64_t> loops,
                           MutableArrayRef<Value> indices) {
  for (size_t i = loops.size(); i > 0; --i) {
    int64_t loop = loops[i - 1];
    if (i == 1) {
      indices[loop] = linear;
      break;
    }
    Value size = index(sizes[loop]);
    indices[loop] = arith::RemUIOp::create(builder, loc, linear, size);
    linear = arith::DivUIOp::create(builder, loc, linear, size);
  }
}

Value TeamBody::apply(AffineMap map, ArrayRef<Value> indices) {
  SmallVector<OpFoldResult> operands;
  for (Value value : indices)
    operands.push_back(value ? OpFoldResult(value)
                             : OpFoldResult(builder.getIndexAttr(0)));
  OpFoldResult place =
      affine::makeComposedFoldedAffineApply(builder, loc, map, operands);
  if (auto constant = dyn_cast<Attribute>(place))
    return index(cast<IntegerAttr>(constant).getInt());
  return cast<Value>(place);
}

SmallVector<Value> TeamBody::at(AffineMap map, ArrayRef<Value> indices) {
  SmallVector<Value> result;
  for (unsigned i = 0; i < map.getNumResults(); ++i) {
    AffineMap own = map.getSubMap({i});
    Value place = applyToFirst(own, indices);
    result.push_back(place ? place : apply(own, indices));
  }
  return result;
}

Value TeamBody::applyToFirst(AffineMap map, ArrayRef<Value> indices) {
  AffineExpr place = map.getResult(0);
  for (unsigned loop = 0; loop < map.getNumDims(); ++loop) {
    if (isa<AffineDimExpr>(place) || !indices[loop] ||
        !place.isFunctionOfDim(loop))
      continue;
    auto sum = indices[loop].getDefiningOp<arith::AddIOp>();
    auto behind =
        sum ? getConstantIntValue(sum.getRhs()) : std::optional<int64_t>();
    if (!behind || !stepsByOne(place, loop, *behind))
      return {};
    Indices first(indices);
    first[loop] = sum.getLhs();
    return arith::AddIOp::create(builder, loc, apply(map, first), sum.getRhs());
  }
  return {};
}

bool TeamBody::stepsByOne(AffineExpr place, unsigned loop, int64_t behind) {
  constexpr int64_t kLongRow = 4096;
  auto valueAt = [&](int64_t index) {
    return dyn_cast<AffineConstantExpr>(place.replace(
        builder.getAffineDimExpr(loop), builder.getAffineConstantExpr(index)));
  };
  auto step = static_cast<int64_t>(llvm::PowerOf2Ceil(behind + 1));
  for (int64_t first = 0; first < sizes[loop]; first += step) {
    auto here = valueAt(first), there = valueAt(first + behind);
    if (sizes[loop] > kLongRow || !here || !there ||
        there.getValue() != here.getValue() + behind)
      return false;
  }
  return true;
}

Value TeamBody::load(Value buffer, AffineMap map, ArrayRef<Value> indices) {
  return memref::LoadOp::create(builder, loc, buffer, at(map, indices));
}

void TeamBody::store(Value value, unsigned output, ArrayRef<Value> indices) {
  memref::StoreOp::create(builder, loc, value, outputBuffer(output),
                          at(outputMap(output), indices));
}

bool TeamBody::isAccumulated(unsigned output) {
  return llvm::any_of(accumulators, [&](const Accumulator &each) {
    return each.output == output;
  });
}

void TeamBody::runBody(ArrayRef<Indices> runs, MutableArrayRef<Value> folded) {
  SmallVector<IRMapping> mappings(runs.size());
  for (auto [indices, mapping] : llvm::zip(runs, mappings))
    loadElements(indices, mapping);
  bool apart = folded.size() > accumulators.size();
  for (auto [i, mapping] : llvm::enumerate(mappings)) {
    auto own =
        folded.slice(apart ? i * accumulators.size() : 0, accumulators.size());
    for (auto [each, value] : llvm::zip(accumulators, own))
      mapping.map(elementOf(each.output), value);
    cloneBody(runs[i], mapping);
    for (auto [each, value] : llvm::zip(accumulators, own))
      value = mapping.lookupOrDefault(yielded(each.output));
  }
  for (unsigned output = 0; output < op.getNumDpsInits(); ++output)
    if (!isAccumulated(output))
      for (auto [indices, mapping] : llvm::zip(runs, mappings))
        store(mapping.lookupOrDefault(yielded(output)), output, indices);
}

void TeamBody::loadElements(const Indices &indices, IRMapping &mapping) {
  for (auto [i, operand] : llvm::enumerate(op.getDpsInputs())) {
    BlockArgument element = body().getArgument(i);
    if (!isa<MemRefType>(operand.getType()))
      mapping.map(element, operand);
    else if (!element.use_empty())
      mapping.map(element, load(operand, maps[i], indices));
  }
  for (unsigned output = 0; output < op.getNumDpsInits(); ++output) {
    BlockArgument element = elementOf(output);
    if (!isAccumulated(output) && !element.use_empty())
      mapping.map(element,
                  load(outputBuffer(output), outputMap(output), indices));
  }
}

void TeamBody::cloneBody(const Indices &indices, IRMapping &mapping) {
  for (Operation &inner : body().without_terminator()) {
    if (auto loop = dyn_cast<linalg::IndexOp>(inner))
      mapping.map(loop.getResult(),
                  indices[loop.getDim()] ? indices[loop.getDim()] : index(0));
    else
      builder.clone(inner, mapping);
  }
}

bool TeamBody::isSixteenBits(Type type) {
  auto memory = dyn_cast<MemRefType>(type);
  return memory && memory.getElementTypeBitWidth() == 16;
}

bool TeamBody::isReadAlong(int64_t loop) {
  AffineExpr dim = builder.getAffineDimExpr(loop);
  for (unsigned i = 0; i < op.getNumDpsInputs(); ++i)
    if (maps[i].getNumResults() > 0 &&
        maps[i].getResult(maps[i].getNumResults() - 1) == dim)
      return true;
  return false;
}

int64_t TeamBody::countPlacesBeside(int64_t total) {
  if (placeLoops.empty() || isReadAlong(termLoops.back()) ||
      !isReadAlong(placeLoops.back()))
    return 1;
  return countNeighbours(placeLoops, total, team.size);
}

int64_t TeamBody::countNeighbours(ArrayRef<int64_t> loops, int64_t total,
                                  int64_t threads) {
  if (loops.empty())
    return 1;
  AffineExpr last = builder.getAffineDimExpr(loops.back());
  bool contiguous = false;
  int64_t width = 4;
  for (auto [map, operand] : llvm::zip(maps, op->getOperands())) {
    if (map.getNumResults() > 0 &&
        map.getResult(map.getNumResults() - 1) == last)
      contiguous = true;
    if (isSixteenBits(operand.getType()))
      width = 8;
  }
  while (width > 1 && (!contiguous || sizes[loops.back()] % width != 0 ||
                       total / width < threads / 2))
    width /= 2;
  return width;
}

SmallVector<TeamBody::Indices> TeamBody::neighbours(Value first,
                                                    ArrayRef<int64_t> loops,
                                                    const Indices &around,
                                                    int64_t count) {
  Indices indices(around);
  delinearize(first, loops, indices);
  SmallVector<Indices> runs;
  for (int64_t i = 0; i < count; ++i) {
    runs.push_back(indices);
    if (i > 0)
      runs.back()[loops.back()] =
          arith::AddIOp::create(builder, loc, indices[loops.back()], index(i));
  }
  return runs;
}

Value TeamBody::times(Value value, int64_t factor) {
  return factor == 1 ? value
                     : arith::MulIOp::create(builder, loc, value, index(factor))
                           .getResult();
}

} // namespace zc::cuda
