//===- EqualKernels.cpp - one code for kernels that differ little ---------===//
#include "passes/Codegen/EqualKernels.h"

#include "dialects/Train/TrainDialect.h"
#include "mlir/IR/OperationSupport.h"
#include "passes/Analysis/LoopNests.h"
#include "passes/Analysis/Tensors.h"
#include "llvm/ADT/Hashing.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

//===----------------------------------------------------------------------===//
// Where parts begin
//===----------------------------------------------------------------------===//

/// Elements of a tensor of this shape, row-major, in front of a place in it.
static int64_t placeOf(ArrayRef<int64_t> shape, ArrayRef<int64_t> offsets) {
  int64_t place = 0;
  for (auto [size, offset] : llvm::zip(shape, offsets))
    place = place * size + offset;
  return place;
}

/// The slices that alone read `input`, if they begin at one place.
static SmallVector<SliceOp> slicesOf(BlockArgument input) {
  SmallVector<SliceOp> slices;
  for (Operation *user : input.getUsers()) {
    auto slice = dyn_cast<SliceOp>(user);
    if (!slice ||
        (!slices.empty() && slice.getOffsets() != slices[0].getOffsets()))
      return {};
    slices.push_back(slice);
  }
  return slices;
}

SmallVector<int64_t> takeOffsets(Block &body, ArrayRef<int64_t> shared) {
  SmallVector<int64_t> shifts(body.getNumArguments(), 0);
  for (BlockArgument input : body.getArguments()) {
    unsigned number = input.getArgNumber();
    bool isShared = false;
    for (size_t i = 0; i < shared.size(); i += 2)
      isShared |= shared[i] == int64_t(number);
    SmallVector<SliceOp> slices = slicesOf(input);
    if (isShared || slices.empty())
      continue;
    ArrayRef<int64_t> shape = shapeOf(input);
    int64_t elements = std::max<int64_t>(1, ShapedType::getNumElements(shape));
    shifts[number] =
        placeOf(shape, slices[0].getOffsets()) * (bytesOf(input) / elements);
    SmallVector<int64_t> zeros(shape.size(), 0);
    for (SliceOp slice : slices)
      slice.setOffsets(zeros);
  }
  return shifts;
}

//===----------------------------------------------------------------------===//
// How many elements there are
//===----------------------------------------------------------------------===//

bool isFlat(Block &body) {
  auto outputs = body.getTerminator()->getOperands();
  if (outputs.empty() || !isSingleLoopNest(body))
    return false;
  ArrayRef<int64_t> shape = shapeOf(outputs.front());
  if (shape.size() != 1 || shape[0] < 2)
    return false;
  for (Operation &op : body.without_terminator())
    if (isa<TransposeOp>(op) ||
        !llvm::all_of(op.getResults(),
                      [&](Value result) { return shapeOf(result) == shape; }))
      return false;
  return llvm::all_of(body.getArguments(), [&](BlockArgument input) {
    return shapeOf(input) == shape ||
           ShapedType::getNumElements(shapeOf(input)) == 1;
  });
}

//===----------------------------------------------------------------------===//
// Equal functions
//===----------------------------------------------------------------------===//

/// Equal functions have equal hashes; operands count by where they are defined.
static size_t hashOf(func::FuncOp function) {
  llvm::DenseMap<Value, unsigned> numbers;
  auto number = [&](ValueRange values) {
    for (Value value : values)
      numbers.try_emplace(value, numbers.size());
  };
  llvm::hash_code hash = mlir::hash_value(function.getFunctionType());
  number(function.getBody().getArguments());
  function.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        number(block.getArguments());
    hash = llvm::hash_combine(
        hash, OperationEquivalence::computeHash(
                  op, [&](Value operand) { return numbers.lookup(operand); },
                  OperationEquivalence::ignoreHashValue,
                  OperationEquivalence::IgnoreLocations));
    number(op->getResults());
  });
  return hash;
}

DictionaryAttr describeKernel(FunctionOpInterface function) {
  Builder builder(function.getContext());
  NamedAttrList entry;
  entry.set("name", builder.getStringAttr(function.getName()));
  for (StringRef name : {kBuffersAttr, kSignatureAttr, kShiftsAttr})
    if (Attribute value = function->getAttr(name))
      entry.set(name, value);
  return entry.getDictionary(function.getContext());
}

void FunctionTable::add(func::FuncOp function) {
  size_t hash = hashOf(function);
  auto [first, last] = byHash.equal_range(hash);
  for (auto known = first; known != last; ++known) {
    func::FuncOp other = known->second;
    if (other.getFunctionType() != function.getFunctionType() ||
        !OperationEquivalence::isRegionEquivalentTo(
            &other.getBody(), &function.getBody(),
            OperationEquivalence::IgnoreLocations))
      continue;
    SmallVector<Attribute> aliases;
    if (auto old = other->getAttrOfType<ArrayAttr>(kAliasesAttr))
      llvm::append_range(aliases, old);
    aliases.push_back(describeKernel(function));
    if (auto own = function->getAttrOfType<ArrayAttr>(kAliasesAttr))
      llvm::append_range(aliases, own);
    other->setAttr(kAliasesAttr, ArrayAttr::get(other.getContext(), aliases));
    return function.erase();
  }
  byHash.emplace(hash, function);
}

void shareFunctions(ArrayRef<ModuleOp> modules) {
  FunctionTable table;
  for (ModuleOp module : modules)
    for (auto function :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      table.add(function);
}

} // namespace zc
