//===- ProgramCompiler.cpp - from linalg forms to machine code ------------===//
#include "compiler/Interpreter/ProgramCompiler.h"

#include "compiler/Interpreter/Field.h"
#include "compiler/Interpreter/Fractions.h"
#include "compiler/Interpreter/Nodes.h"
#include "compiler/Interpreter/ScalarOps.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace zc::interpreter {

namespace {
class ProgramCompiler {
public:
  explicit ProgramCompiler(Precision precision)
      : precision(precision), program(std::make_unique<Program>()) {}

  FailureOr<std::unique_ptr<Program>> compile(func::FuncOp func) {
    for (BlockArgument argument : func.getArguments())
      viewOf(argument);
    // No operand of an instruction may be out of range, used or not.
    newSlot();
    if (failed(compileBlock(func.getBody().front(), program->code)))
      return failure();
    return std::move(program);
  }

private:
  // --- Registers -------------------------------------------------------------

  uint32_t newSlot() {
    program->frame.slots.push_back({});
    return program->frame.slots.size() - 1;
  }
  uint32_t constantSlot(Slot value) {
    uint32_t slot = newSlot();
    program->frame.slots[slot] = value;
    return slot;
  }
  uint32_t integerSlot(int64_t value) {
    Slot slot;
    slot.i = value;
    return constantSlot(slot);
  }
  uint32_t slotOf(Value value) {
    auto [found, isNew] = slots.try_emplace(value, 0);
    if (isNew)
      found->second = newSlot();
    return found->second;
  }
  uint32_t viewOf(Value value) {
    auto [found, isNew] = views.try_emplace(value, program->frame.views.size());
    if (isNew)
      program->frame.views.emplace_back();
    return found->second;
  }
  Registers slotsOf(ValueRange values) {
    Registers registers;
    for (Value value : values)
      registers.push_back(slotOf(value));
    return registers;
  }
  Extent extentOf(OpFoldResult value) {
    if (std::optional<int64_t> known = getConstantIntValue(value))
      return {false, *known, 0};
    return {true, 0, slotOf(cast<Value>(value))};
  }
  Extents extentsOf(ArrayRef<OpFoldResult> values) {
    return llvm::map_to_vector<6>(
        values, [&](OpFoldResult value) { return extentOf(value); });
  }

  template <typename NodeT> NodeT &addNode(Code &code) {
    auto owned = std::make_unique<NodeT>();
    NodeT &node = *owned;
    program->nodes.push_back(std::move(owned));
    Instruction instruction;
    instruction.opcode = Opcode::Node;
    instruction.node = &node;
    code.push_back(instruction);
    return node;
  }

  // --- Ops -------------------------------------------------------------------

  LogicalResult compileBlock(Block &block, Code &code) {
    for (Operation &op : block)
      if (failed(compileOp(op, code)))
        return failure();
    return success();
  }

  LogicalResult compileOp(Operation &op, Code &code);
  LogicalResult compileConstant(arith::ConstantOp op);
  LogicalResult compileSignCast(UnrealizedConversionCastOp op, Code &code);
  LogicalResult compileLoop(scf::ForOp op, Code &code);
  LogicalResult compileIf(scf::IfOp op, Code &code);
  LogicalResult compileGeneric(linalg::GenericOp op, Code &code);
  LogicalResult compileAlloc(Operation *op, Code &code);
  LogicalResult compileSubview(memref::SubViewOp op, Code &code);
  LogicalResult compileRegroup(Operation *op, bool expands,
                               ArrayRef<ReassociationIndices> groups,
                               Code &code);
  LogicalResult compileAffine(Operation *op, AffineMap map, Opcode combine,
                              Code &code);
  uint32_t compileExpr(AffineExpr expr, ValueRange operands, unsigned numDims,
                       Code &code);
  uint32_t emit(Opcode opcode, uint32_t a, uint32_t b, Code &code);
  LogicalResult addOperand(linalg::GenericOp op, OpOperand &operand,
                           GenericNode &node);
  LogicalResult findRanges(linalg::GenericOp op, GenericNode &node);
  LogicalResult compileAccess(Value buffer, ValueRange indices, Value element,
                              bool stores, Code &code);

  Precision precision;
  std::unique_ptr<Program> program;
  DenseMap<Value, uint32_t> slots, views;
};
} // namespace

LogicalResult ProgramCompiler::compileOp(Operation &op, Code &code) {
  if (std::optional<Instruction> scalar = scalarInstruction(&op, precision)) {
    for (auto [index, operand] : llvm::enumerate(op.getOperands()))
      scalar->operands[index] = slotOf(operand);
    scalar->result = slotOf(op.getResult(0));
    program->comparesFloats |=
        scalar->opcode >= Opcode::MaximumF && scalar->opcode <= Opcode::CmpF;
    code.push_back(*scalar);
    return success();
  }
  return TypeSwitch<Operation *, LogicalResult>(&op)
      .Case<func::ReturnOp, linalg::YieldOp, scf::YieldOp, memref::DeallocOp>(
          [](auto) { return success(); })
      .Case([&](arith::ConstantOp op) { return compileConstant(op); })
      .Case([&](scf::ForOp op) { return compileLoop(op, code); })
      .Case([&](scf::IfOp op) { return compileIf(op, code); })
      .Case([&](linalg::GenericOp op) { return compileGeneric(op, code); })
      .Case<memref::AllocOp, memref::AllocaOp>(
          [&](auto op) { return compileAlloc(op, code); })
      .Case([&](memref::SubViewOp op) { return compileSubview(op, code); })
      .Case([&](memref::CastOp op) {
        views[op.getResult()] = viewOf(op.getSource());
        return success();
      })
      .Case([&](memref::CollapseShapeOp op) {
        return compileRegroup(op, false, op.getReassociationIndices(), code);
      })
      .Case([&](memref::ExpandShapeOp op) {
        return compileRegroup(op, true, op.getReassociationIndices(), code);
      })
      .Case([&](memref::ReinterpretCastOp op) {
        uint32_t source = viewOf(op.getSource()), result = viewOf(op);
        auto &node = addNode<ReinterpretNode>(code);
        node.source = source;
        node.result = result;
        node.offset = extentOf(op.getMixedOffsets()[0]);
        node.sizes = extentsOf(op.getMixedSizes());
        node.strides = extentsOf(op.getMixedStrides());
        return success();
      })
      .Case([&](memref::LoadOp op) {
        return compileAccess(op.getMemRef(), op.getIndices(), op, false, code);
      })
      .Case([&](memref::StoreOp op) {
        return compileAccess(op.getMemRef(), op.getIndices(), op.getValue(),
                             true, code);
      })
      .Case([&](memref::DimOp op) {
        auto &node = addNode<DimNode>(code);
        node.view = viewOf(op.getSource());
        node.dim = slotOf(op.getIndex());
        node.result = slotOf(op);
        return success();
      })
      .Case([&](memref::CopyOp op) {
        auto &node = addNode<CopyNode>(code);
        node.source = viewOf(op.getSource());
        node.target = viewOf(op.getTarget());
        return success();
      })
      .Case([&](UnrealizedConversionCastOp op) {
        return compileSignCast(op, code);
      })
      .Case([&](linalg::IndexOp op) {
        // The loop's counter has the slot: compileGeneric said so.
        return success(slots.contains(op));
      })
      .Case([&](affine::AffineApplyOp op) {
        return compileAffine(op, op.getAffineMap(), Opcode::MoveF, code);
      })
      .Case([&](affine::AffineMaxOp op) {
        return compileAffine(op, op.getAffineMap(), Opcode::MaxSI, code);
      })
      .Case([&](affine::AffineMinOp op) {
        return compileAffine(op, op.getAffineMap(), Opcode::MinSI, code);
      })
      .Default([](Operation *op) {
        return op->emitOpError("is not an op that the interpreter knows");
      });
}

LogicalResult ProgramCompiler::compileConstant(arith::ConstantOp op) {
  Slot value;
  if (auto number = dyn_cast<FloatAttr>(op.getValue())) {
    value.f = number.getValueAsDouble();
    if (precision == Precision::Wide && number.getType().isF32())
      value.f = fractionOf(value.f);
    if (precision == Precision::Single)
      value.f = static_cast<float>(value.f);
    if (precision == Precision::Exact)
      value.i = field::ofDouble(value.f);
  } else if (auto number = dyn_cast<IntegerAttr>(op.getValue())) {
    bool isBool = number.getType().isInteger(1);
    value.i = isBool ? number.getValue().getZExtValue()
                     : number.getValue().getSExtValue();
  } else {
    return op.emitOpError("is not a scalar");
  }
  slots[op.getResult()] = constantSlot(value);
  return success();
}

/// Between integers that differ in signedness. Unsigned ones are stored as the
/// numbers they are, not sign-extended.
LogicalResult ProgramCompiler::compileSignCast(UnrealizedConversionCastOp op,
                                               Code &code) {
  if (op.getNumOperands() != 1 || op.getNumResults() != 1 ||
      !op.getOperand(0).getType().isInteger() ||
      !op.getResult(0).getType().isInteger())
    return op.emitOpError("is not an op that the interpreter knows");
  Type from = op.getOperand(0).getType(), to = op.getResult(0).getType();
  Instruction instruction;
  instruction.opcode =
      to.isUnsignedInteger() ? Opcode::Unsigned : Opcode::Signed;
  if (!from.isUnsignedInteger())
    instruction.fromWidth = from.getIntOrFloatBitWidth();
  if (!to.isUnsignedInteger())
    instruction.width = to.getIntOrFloatBitWidth();
  instruction.operands[0] = slotOf(op.getOperand(0));
  instruction.result = slotOf(op.getResult(0));
  code.push_back(instruction);
  return success();
}

LogicalResult ProgramCompiler::compileLoop(scf::ForOp op, Code &code) {
  if (!llvm::all_of(op.getResultTypes(),
                    [](Type type) { return type.isIntOrIndexOrFloat(); }))
    return op.emitOpError("carries more than scalars from turn to turn");
  auto &node = addNode<LoopNode>(code);
  node.lower = slotOf(op.getLowerBound());
  node.upper = slotOf(op.getUpperBound());
  node.step = slotOf(op.getStep());
  node.induction = slotOf(op.getInductionVar());
  node.inits = slotsOf(op.getInitArgs());
  node.arguments = slotsOf(op.getRegionIterArgs());
  node.results = slotsOf(op.getResults());
  if (failed(compileBlock(*op.getBody(), node.body)))
    return failure();
  node.yields = slotsOf(op.getBody()->getTerminator()->getOperands());
  return success();
}

LogicalResult ProgramCompiler::compileIf(scf::IfOp op, Code &code) {
  auto &node = addNode<IfNode>(code);
  node.condition = slotOf(op.getCondition());
  node.results = slotsOf(op.getResults());
  if (failed(compileBlock(*op.thenBlock(), node.thenCode)))
    return failure();
  node.thenYields = slotsOf(op.thenYield().getOperands());
  if (!op.elseBlock())
    return success();
  if (failed(compileBlock(*op.elseBlock(), node.elseCode)))
    return failure();
  node.elseYields = slotsOf(op.elseYield().getOperands());
  return success();
}

// --- Buffers -----------------------------------------------------------------

LogicalResult ProgramCompiler::compileAlloc(Operation *op, Code &code) {
  auto type = cast<MemRefType>(op->getResult(0).getType());
  if (!type.hasStaticShape())
    return op->emitOpError("has a dynamic shape");
  // The same memory each time: its contents before a write are undefined.
  program->storage.emplace_back(std::max<int64_t>(type.getNumElements(), 1));
  View view;
  view.base = view.data = program->storage.back().data();
  view.sizes = SmallVector<int64_t, 6>(type.getShape());
  int64_t stride = 1;
  view.strides.assign(type.getRank(), 1);
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
    view.strides[dim] = stride;
    stride *= type.getDimSize(dim);
  }
  uint32_t result = viewOf(op->getResult(0));
  program->frame.views[result] = std::move(view);
  return success();
}

LogicalResult ProgramCompiler::compileSubview(memref::SubViewOp op,
                                              Code &code) {
  uint32_t source = viewOf(op.getSource()), result = viewOf(op);
  auto &node = addNode<SubviewNode>(code);
  node.source = source;
  node.result = result;
  node.offsets = extentsOf(op.getMixedOffsets());
  node.sizes = extentsOf(op.getMixedSizes());
  node.strides = extentsOf(op.getMixedStrides());
  llvm::SmallBitVector dropped = op.getDroppedDims();
  for (unsigned dim = 0; dim < node.offsets.size(); ++dim)
    node.dropped.push_back(dropped.test(dim));
  return success();
}

LogicalResult
ProgramCompiler::compileRegroup(Operation *op, bool expands,
                                ArrayRef<ReassociationIndices> groups,
                                Code &code) {
  auto type = cast<MemRefType>(op->getResult(0).getType());
  if (!type.hasStaticShape())
    return op->emitOpError("has a dynamic shape");
  uint32_t source = viewOf(op->getOperand(0)),
           result = viewOf(op->getResult(0));
  auto &node = addNode<RegroupNode>(code);
  node.source = source;
  node.result = result;
  node.expands = expands;
  for (const ReassociationIndices &group : groups)
    node.groups.emplace_back(group.begin(), group.end());
  node.resultSizes = SmallVector<int64_t, 6>(type.getShape());
  return success();
}

LogicalResult ProgramCompiler::compileAccess(Value buffer, ValueRange indices,
                                             Value element, bool stores,
                                             Code &code) {
  auto &node = addNode<AccessNode>(code);
  node.view = viewOf(buffer);
  node.value = slotOf(element);
  node.indices = slotsOf(indices);
  node.stores = stores;
  return success();
}

// --- Affine ------------------------------------------------------------------

uint32_t ProgramCompiler::emit(Opcode opcode, uint32_t a, uint32_t b,
                               Code &code) {
  Instruction instruction;
  instruction.opcode = opcode;
  instruction.operands[0] = a;
  instruction.operands[1] = b;
  instruction.result = newSlot();
  code.push_back(instruction);
  return instruction.result;
}

uint32_t ProgramCompiler::compileExpr(AffineExpr expr, ValueRange operands,
                                      unsigned numDims, Code &code) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return integerSlot(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return slotOf(operands[dim.getPosition()]);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return slotOf(operands[numDims + symbol.getPosition()]);
  auto binary = cast<AffineBinaryOpExpr>(expr);
  uint32_t a = compileExpr(binary.getLHS(), operands, numDims, code);
  uint32_t b = compileExpr(binary.getRHS(), operands, numDims, code);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return emit(Opcode::AddI, a, b, code);
  case AffineExprKind::Mul:
    return emit(Opcode::MulI, a, b, code);
  case AffineExprKind::Mod:
    return emit(Opcode::Mod, a, b, code);
  case AffineExprKind::FloorDiv:
    return emit(Opcode::FloorDivSI, a, b, code);
  default:
    return emit(Opcode::CeilDivSI, a, b, code);
  }
}

LogicalResult ProgramCompiler::compileAffine(Operation *op, AffineMap map,
                                             Opcode combine, Code &code) {
  uint32_t result = 0;
  for (auto [index, expr] : llvm::enumerate(map.getResults())) {
    uint32_t value =
        compileExpr(expr, op->getOperands(), map.getNumDims(), code);
    result = index == 0 ? value : emit(combine, result, value, code);
  }
  slots[op->getResult(0)] = result;
  return success();
}

// --- linalg.generic ----------------------------------------------------------

/// Whether an index expression moves evenly with every loop.
static bool isLinear(AffineExpr expr) {
  bool linear = true;
  expr.walk([&](AffineExpr part) {
    AffineExprKind kind = part.getKind();
    linear &= kind == AffineExprKind::Add || kind == AffineExprKind::Mul ||
              kind == AffineExprKind::Constant || kind == AffineExprKind::DimId;
  });
  return linear;
}

LogicalResult ProgramCompiler::addOperand(linalg::GenericOp op,
                                          OpOperand &operand,
                                          GenericNode &node) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  unsigned numLoops = op.getNumLoops();
  GenericNode::Operand &added = node.operands.emplace_back();
  added.view = viewOf(operand.get());
  BlockArgument argument = op.getMatchingBlockArgument(&operand);
  added.isRead = !argument.use_empty();
  added.argument = slotOf(argument);
  added.isWritten = op.isDpsInit(&operand);
  for (AffineExpr expr : map.getResults()) {
    if (!isLinear(expr))
      return op.emitOpError("has an indexing map that is not linear");
    auto valueAt = [&](int unitLoop) {
      SmallVector<int64_t> point(numLoops, 0);
      if (unitLoop >= 0)
        point[unitLoop] = 1;
      AffineMap single = AffineMap::get(numLoops, 0, expr);
      return single.compose(point)[0];
    };
    int64_t start = valueAt(-1);
    added.constants.push_back(start);
    auto &moves = added.coefficients.emplace_back();
    for (unsigned loop = 0; loop < numLoops; ++loop)
      moves.push_back(valueAt(loop) - start);
  }
  return success();
}

LogicalResult ProgramCompiler::findRanges(linalg::GenericOp op,
                                          GenericNode &node) {
  unsigned numLoops = op.getNumLoops();
  node.rangeOperands.assign(numLoops, 0);
  node.rangeDims.assign(numLoops, 0);
  SmallVector<bool> found(numLoops, false);
  unsigned index = 0;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [dim, expr] : llvm::enumerate(map.getResults()))
      if (auto loop = dyn_cast<AffineDimExpr>(expr)) {
        found[loop.getPosition()] = true;
        node.rangeOperands[loop.getPosition()] = index;
        node.rangeDims[loop.getPosition()] = dim;
      }
    ++index;
  }
  if (llvm::is_contained(found, false))
    return op.emitOpError("has a loop that is no operand's dim");
  return success();
}

static void setRowBody(GenericNode &node) {
  Registers given = node.counters, yielded;
  for (const GenericNode::Operand &operand : node.operands) {
    given.push_back(operand.argument);
    if (operand.isWritten)
      yielded.push_back(operand.yield);
  }
  node.rowBody.set(node.body, given, yielded);
}

LogicalResult ProgramCompiler::compileGeneric(linalg::GenericOp op,
                                              Code &code) {
  if (!op.hasPureBufferSemantics())
    return op.emitOpError("works on tensors");
  auto &node = addNode<GenericNode>(code);
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType())) {
      slots[op.getMatchingBlockArgument(&operand)] = slotOf(operand.get());
      continue;
    }
    if (failed(addOperand(op, operand, node)))
      return failure();
  }
  if (failed(findRanges(op, node)))
    return failure();
  op.getBody()->walk([&](linalg::IndexOp index) {
    if (node.counters.empty())
      for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
        node.counters.push_back(newSlot());
    slots[index.getResult()] = node.counters[index.getDim()];
  });
  if (failed(compileBlock(*op.getBody(), node.body)))
    return failure();
  size_t firstOutput = node.operands.size() - op.getNumDpsInits();
  for (auto [index, yielded] :
       llvm::enumerate(op.getBody()->getTerminator()->getOperands()))
    node.operands[firstOutput + index].yield = slotOf(yielded);
  setRowBody(node);
  return success();
}

FailureOr<std::unique_ptr<Program>> compile(func::FuncOp func,
                                            Precision precision) {
  SmallVector<linalg::LinalgOp> named;
  func.walk([&](linalg::LinalgOp op) {
    if (!isa<linalg::GenericOp>(op))
      named.push_back(op);
  });
  IRRewriter rewriter(func.getContext());
  for (linalg::LinalgOp op : named) {
    rewriter.setInsertionPoint(op);
    if (failed(linalg::generalizeNamedOp(rewriter, op)))
      return op.emitOpError("cannot be written as linalg.generic");
  }
  return ProgramCompiler(precision).compile(func);
}

} // namespace zc::interpreter
