//===- ShareCode.cpp - one code for kernels of many sizes -----------------===//
#include "passes/Codegen/ShareCode.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/OperationSupport.h"
#include "passes/Codegen/EqualKernels.h"
#include "passes/Codegen/LoopBlocks.h"
#include "passes/Codegen/Passes.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/MapVector.h"

#include <map>
#include <memory>
#include <vector>

using namespace mlir;

namespace zc {
#define GEN_PASS_DEF_SHARECODEPASS
#include "passes/Codegen/Passes.h.inc"

namespace {

/// Fewer kernels than this keep a function each, which LLVM knows the sizes of.
constexpr size_t kFewestKernels = 4;

/// The constant behind `value` if it is a size, a stride or a bound, else null.
LLVM::ConstantOp asNumber(Value value) {
  auto constant = value.getDefiningOp<LLVM::ConstantOp>();
  if (!constant)
    return {};
  auto number = dyn_cast<IntegerAttr>(constant.getValue());
  return number && number.getType().isIndex() ? constant : LLVM::ConstantOp();
}

/// Divisions by a known number are multiplications, and the stack that a
/// function takes is known: such numbers stay. So do strides between neighbours
/// of an innermost loop, by which LLVM chooses how vectors are loaded.
bool mayBeArgument(OpOperand &place, const LoopBlocks &loops) {
  Operation *op = place.getOwner();
  if (isa<LLVM::MulOp>(op))
    return !loops.variesInnermost(op->getOperand(1 - place.getOperandNumber()));
  return isa<LLVM::AddOp, LLVM::SubOp, LLVM::ICmpOp>(op) ||
         op->hasTrait<OpTrait::IsTerminator>();
}

/// A kernel's function as a program in which some numbers are left open.
class Program {
public:
  explicit Program(LLVM::LLVMFuncOp function) : function(function) {
    LoopBlocks loops(function);
    sharable = !loops.addsUpInRegisters();
    for (Block &block : function.getBody()) {
      for (Value argument : block.getArguments())
        values.try_emplace(argument, values.size());
      for (Operation &op : block)
        if (!isa<LLVM::ConstantOp>(op) || !asNumber(op.getResult(0)))
          add(op, loops);
    }
    key = computeHash();
  }

  LLVM::LLVMFuncOp getFunction() const { return function; }
  ArrayRef<OpOperand *> getOpen() const { return open; }
  bool isSharable() const { return sharable && !open.empty(); }
  size_t hash() const { return key; }

  /// The numbers at the open places, in the order of the program.
  SmallVector<int64_t> numbers() const {
    return llvm::map_to_vector(
        open, [](OpOperand *place) { return numberAt(*place); });
  }

  /// Whether both do the same but for the numbers at the open places.
  bool equals(const Program &other) const {
    return LLVM::LLVMFuncOp(function).getFunctionType() ==
               LLVM::LLVMFuncOp(other.function).getFunctionType() &&
           ops.size() == other.ops.size() && closed == other.closed &&
           llvm::all_of(llvm::zip(ops, other.ops), [&](auto pair) {
             return doSame(std::get<0>(pair), std::get<1>(pair), other);
           });
  }

private:
  static int64_t numberAt(OpOperand &place) {
    return cast<IntegerAttr>(asNumber(place.get()).getValue()).getInt();
  }

  void add(Operation &op, const LoopBlocks &loops) {
    ops.push_back(&op);
    for (Value result : op.getResults())
      values.try_emplace(result, values.size());
    for (OpOperand &place : op.getOpOperands())
      if (!asNumber(place.get()))
        continue;
      else if (mayBeArgument(place, loops))
        open.push_back(&place);
      else
        closed.push_back(numberAt(place));
  }

  size_t computeHash() {
    llvm::hash_code hash = llvm::hash_combine(
        mlir::hash_value(function.getFunctionType()),
        llvm::hash_combine_range(closed.begin(), closed.end()));
    auto ofOperand = [&](Value value) {
      return llvm::hash_code(asNumber(value) ? 0 : values.lookup(value) + 1);
    };
    for (Operation *op : ops)
      hash = llvm::hash_combine(
          hash, OperationEquivalence::computeHash(
                    op, ofOperand, OperationEquivalence::ignoreHashValue,
                    OperationEquivalence::IgnoreLocations));
    return hash;
  }

  bool doSame(Operation *own, Operation *op, const Program &other) const {
    auto readSame = [&](Value left, Value right) {
      if (asNumber(left) || asNumber(right))
        return success(asNumber(left) && asNumber(right));
      return success(values.lookup(left) == other.values.lookup(right));
    };
    return OperationEquivalence::isEquivalentTo(
               own, op, readSame, /*markEquivalent=*/nullptr,
               OperationEquivalence::IgnoreLocations) &&
           llvm::equal(own->getSuccessors(), op->getSuccessors(),
                       [](Block *left, Block *right) {
                         return left->computeBlockNumber() ==
                                right->computeBlockNumber();
                       });
  }

  LLVM::LLVMFuncOp function;
  SmallVector<Operation *> ops; // all but numbers
  llvm::DenseMap<Value, unsigned> values;
  SmallVector<OpOperand *> open;
  SmallVector<int64_t> closed; // at the other places
  size_t key = 0;
  bool sharable = false;
};

using Programs = std::vector<std::unique_ptr<Program>>;

/// Programs that do the same but for their numbers.
class ProgramTable {
public:
  void add(LLVM::LLVMFuncOp function) {
    auto program = std::make_unique<Program>(function);
    if (!program->isSharable())
      return;
    auto [first, last] = byHash.equal_range(program->hash());
    for (auto known = first; known != last; ++known)
      if (groups[known->second].front()->equals(*program)) {
        groups[known->second].push_back(std::move(program));
        return;
      }
    byHash.emplace(program->hash(), groups.size());
    groups.emplace_back().push_back(std::move(program));
  }

  std::vector<Programs> groups;

private:
  std::multimap<size_t, size_t> byHash;
};

/// Makes one function of a group.
class Sharing {
public:
  explicit Sharing(const Programs &programs) : programs(programs) {}

  void run() {
    llvm::MapVector<SmallVector<int64_t>, SmallVector<OpOperand *>> columns;
    SmallVector<SmallVector<int64_t>> rows;
    for (const auto &program : programs)
      rows.push_back(program->numbers());
    for (auto [index, place] : llvm::enumerate(programs.front()->getOpen())) {
      SmallVector<int64_t> column;
      for (const auto &row : rows)
        column.push_back(row[index]);
      if (!llvm::all_equal(column))
        columns[column].push_back(place);
    }
    addArguments(columns.getArrayRef());
    for (auto [index, program] : llvm::enumerate(programs))
      describe(*program, index, columns.getArrayRef());
    for (const auto &program : llvm::drop_begin(programs))
      LLVM::LLVMFuncOp(program->getFunction()).erase();
  }

private:
  /// An argument for numbers that are alike in each of the kernels.
  using Column = std::pair<SmallVector<int64_t>, SmallVector<OpOperand *>>;

  void addArguments(ArrayRef<Column> columns) {
    LLVM::LLVMFuncOp shared = programs.front()->getFunction();
    const unsigned first = shared.getNumArguments();
    addIntegers(shared, columns.size());
    for (auto [index, column] : llvm::enumerate(columns))
      for (OpOperand *place : column.second)
        place->set(shared.getArgument(first + index));
  }

  /// (insertArguments() cannot: a function of the LLVM dialect that returns
  /// nothing has one result type, void.)
  static void addIntegers(LLVM::LLVMFuncOp function, size_t count) {
    MLIRContext *context = function.getContext();
    Type integer = IntegerType::get(context, 64);
    LLVM::LLVMFunctionType old = function.getFunctionType();
    SmallVector<Type> types(old.getParams());
    types.append(count, integer);
    SmallVector<Attribute> attributes(count, DictionaryAttr::get(context));
    if (ArrayAttr known = function.getArgAttrsAttr()) {
      attributes.insert(attributes.begin(), known.begin(), known.end());
      function.setArgAttrsAttr(ArrayAttr::get(context, attributes));
    }
    function.setFunctionType(
        LLVM::LLVMFunctionType::get(old.getReturnType(), types));
    for (size_t i = 0; i < count; ++i)
      function.getBody().front().addArgument(integer, function.getLoc());
  }

  /// Adds the kernels that the function of `program` computed to the shared
  /// one's, with their numbers.
  void describe(const Program &program, size_t row, ArrayRef<Column> columns) {
    LLVM::LLVMFuncOp own = program.getFunction();
    LLVM::LLVMFuncOp shared = programs.front()->getFunction();
    Builder builder(shared.getContext());
    auto numbers = builder.getDenseI64ArrayAttr(llvm::map_to_vector(
        columns, [&](const Column &column) { return column.first[row]; }));
    SmallVector<Attribute> aliases;
    if (auto known = own->getAttrOfType<ArrayAttr>(kAliasesAttr))
      for (auto alias : known.getAsRange<DictionaryAttr>())
        aliases.push_back(withNumbers(alias, numbers));
    if (own == shared)
      shared->setAttr(kNumbersAttr, numbers);
    else
      aliases.push_back(withNumbers(describeKernel(own), numbers));
    if (auto known = shared->getAttrOfType<ArrayAttr>(kAliasesAttr);
        known && own != shared)
      aliases.insert(aliases.begin(), known.begin(), known.end());
    if (!aliases.empty())
      shared->setAttr(kAliasesAttr, builder.getArrayAttr(aliases));
  }

  static DictionaryAttr withNumbers(DictionaryAttr alias, Attribute numbers) {
    NamedAttrList entry(alias);
    entry.set(kNumbersAttr, numbers);
    return entry.getDictionary(alias.getContext());
  }

  const Programs &programs;
};

struct ShareCode : public impl::ShareCodePassBase<ShareCode> {
  void runOnOperation() override {
    SmallVector<ModuleOp> modules;
    for (auto nested : getOperation().getOps<ModuleOp>())
      modules.push_back(nested);
    shareCode(modules);
  }
};

} // namespace

void shareCode(ArrayRef<ModuleOp> modules) {
  ProgramTable table;
  for (ModuleOp module : modules)
    for (auto function : module.getOps<LLVM::LLVMFuncOp>())
      if (function->hasAttr(kBuffersAttr))
        table.add(function);
  for (const Programs &programs : table.groups)
    if (programs.size() >= kFewestKernels)
      Sharing(programs).run();
}

} // namespace zc
