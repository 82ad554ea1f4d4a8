//===- KernelParts.cpp - kernels that were joined -------------------------===//
#include "passes/Codegen/Cuda/KernelParts.h"

#include "passes/Codegen/EqualKernels.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace zc::sched;

namespace zc::cuda {

namespace {

class Splitter {
public:
  explicit Splitter(KernelOp kernel)
      : kernel(kernel), body(kernel.getBody().front()) {
    for (Value input : kernel.getInputs())
      classes.insert(input);
    for (Operation &op : body.without_terminator()) {
      for (Value value : op.getResults())
        classes.unionSets(op.getResult(0), value);
      for (Value value : op.getOperands())
        classes.unionSets(op.getResult(0), value);
    }
  }

  std::vector<KernelPart> run() {
    std::vector<KernelPart> parts;
    for (auto &[leader, buffers] : collectBuffers()) {
      KernelOp part = extract(leader, buffers, parts.size());
      auto equal = llvm::find_if(parts, [&](const KernelPart &other) {
        return isEqual(part, KernelOp(other.kernel));
      });
      if (equal == parts.end()) {
        parts.push_back({part, {buffers}});
        continue;
      }
      equal->copies.push_back(buffers);
      part->erase();
    }
    return parts;
  }

private:
  using Buffers = SmallVector<int32_t>;

  Value leaderOf(Value value) { return classes.getLeaderValue(value); }

  /// The buffers of each part that has outputs.
  llvm::MapVector<Value, Buffers> collectBuffers() {
    llvm::MapVector<Value, Buffers> all;
    for (auto [index, input] : llvm::enumerate(kernel.getInputs()))
      all[leaderOf(input)].push_back(index);
    llvm::SmallDenseSet<Value> writing;
    for (auto [index, output] : llvm::enumerate(kernel.getOutputs())) {
      all[leaderOf(output)].push_back(kernel.getInputs().size() + index);
      writing.insert(leaderOf(output));
    }
    all.remove_if(
        [&](const auto &item) { return !writing.contains(item.first); });
    return all;
  }

  /// The part's ops with the buffers of it.
  KernelOp extract(Value leader, ArrayRef<int32_t> buffers, size_t number) {
    OpBuilder builder(kernel.getContext());
    OperationState state(kernel.getLoc(), KernelOp::getOperationName());
    auto &properties = state.getOrAddProperties<KernelOp::Properties>();
    properties.sym_name = builder.getStringAttr(kernel.getFunctionName() + "_" +
                                                std::to_string(number));
    properties.shared = builder.getDenseI64ArrayAttr(sharedPairs(buffers));
    Block *block = new Block();
    state.addRegion()->push_back(block);
    builder.setInsertionPointToStart(block);
    IRMapping mapping;
    int32_t inputs = kernel.getInputs().size();
    for (int32_t buffer : buffers)
      if (buffer < inputs) {
        Value input = kernel.getInputs()[buffer];
        mapping.map(input, block->addArgument(input.getType(), input.getLoc()));
      }
    for (Operation &op : body.without_terminator())
      if (leaderOf(op.getResult(0)) == leader)
        builder.clone(op, mapping);
    SmallVector<Value> yielded;
    for (int32_t buffer : buffers)
      if (buffer >= inputs)
        yielded.push_back(mapping.lookup(kernel.getOutputs()[buffer - inputs]));
    train::YieldOp::create(builder, kernel.getLoc(), yielded);
    return cast<KernelOp>(Operation::create(state));
  }

  SmallVector<int64_t> sharedPairs(ArrayRef<int32_t> buffers) {
    int64_t inputs = kernel.getInputs().size();
    int64_t own = llvm::count_if(
        buffers, [&](int32_t buffer) { return buffer < inputs; });
    auto placeOf = [&](int64_t buffer) {
      return llvm::find(buffers, buffer) - buffers.begin();
    };
    ArrayRef<int64_t> pairs = kernel.getShared();
    SmallVector<int64_t> result;
    for (size_t i = 0; i + 1 < pairs.size(); i += 2)
      if (llvm::is_contained(buffers, pairs[i]))
        result.append(
            {placeOf(pairs[i]), placeOf(inputs + pairs[i + 1]) - own});
    return result;
  }

  static bool isEqual(KernelOp a, KernelOp b) {
    return a.getShared() == b.getShared() &&
           OperationEquivalence::isRegionEquivalentTo(
               &a.getBody(), &b.getBody(),
               OperationEquivalence::IgnoreLocations);
  }

  KernelOp kernel;
  Block &body;
  llvm::EquivalenceClasses<Value> classes;
};

} // namespace

std::vector<KernelPart> splitKernel(KernelOp kernel) {
  return Splitter(kernel).run();
}

int64_t declareJoined(KernelOp kernel, ArrayRef<KernelPart> parts,
                      ArrayRef<func::FuncOp> functions, ModuleOp module) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto function =
      func::FuncOp::create(builder, kernel.getLoc(), kernel.getFunctionName(),
                           builder.getFunctionType({}, {}));
  function.setPrivate();
  int64_t teams = 0, threads = 0;
  SmallVector<Attribute> list;
  for (auto [part, each] : llvm::zip(parts, functions)) {
    func::FuncOp own = each;
    auto signature = own->getAttrOfType<DenseI64ArrayAttr>(kSignatureAttr);
    teams += signature[0] * static_cast<int64_t>(part.copies.size());
    threads = std::max(threads, signature[1]);
    SmallVector<Attribute> copies;
    for (const auto &buffers : part.copies)
      copies.push_back(builder.getDenseI32ArrayAttr(buffers));
    list.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("copies", builder.getArrayAttr(copies)),
         builder.getNamedAttr("function", FlatSymbolRefAttr::get(own))}));
  }
  SmallVector<int64_t> numbers = {teams, threads};
  for (ValueRange values :
       {ValueRange(kernel.getInputs()), ValueRange(kernel.getOutputs())})
    for (Value value : values)
      numbers.push_back(getByteSize(cast<ShapedType>(value.getType())));
  function->setAttr(kSignatureAttr, builder.getDenseI64ArrayAttr(numbers));
  function->setAttr(kPartsAttr, builder.getArrayAttr(list));
  return teams;
}

} // namespace zc::cuda
