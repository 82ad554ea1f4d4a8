//===- JoinLaunches.cpp - --zc-join-launches ------------------------------===//
//
// A kernel that computes a few thousand numbers takes a GPU less time than it
// takes to begin. Small launches wait until something needs what they write;
// then those whose own needs are met run as one, whether needed yet or not.
//
//===----------------------------------------------------------------------===//
#include "passes/Scheduling/KernelTable.h"
#include "passes/Scheduling/Passes.h"
#include "passes/Target/Target.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace zc::sched;

namespace zc {
#define GEN_PASS_DEF_JOINLAUNCHESPASS
#include "passes/Scheduling/Passes.h.inc"

namespace {

/// Buffers of one launch: a kernel's parameters are 4 KiB, 8 bytes each.
constexpr size_t kMaxBuffers = 480;
/// Bytes of transient buffers that may be kept for launches that wait.
constexpr int64_t kMaxHeld = 4 << 20;

/// A launch that waits, and the roots of its buffers.
struct Waiting {
  explicit Waiting(LaunchOp op) : op(op) {
    for (Value input : op.getInputs())
      reads.insert(getRoot(input));
    for (Value output : op.getOutputs())
      writes.insert(getRoot(output));
  }

  bool touches(Value root) const {
    return reads.contains(root) || writes.contains(root);
  }

  LaunchOp op;
  llvm::SmallPtrSet<Value, 16> reads, writes;
};

/// Whether one of them reads what the other writes, or both write the same.
bool mustKeepOrder(const Waiting &a, const Waiting &b) {
  return llvm::any_of(a.writes, [&](Value root) { return b.touches(root); }) ||
         llvm::any_of(b.writes, [&](Value root) { return a.touches(root); });
}

bool mustKeepOrder(const Waiting &a, InstructionOpInterface b) {
  SmallVector<Value> writes = b.getWrites();
  if (Value scratch = b.getScratch())
    writes.push_back(scratch);
  return llvm::any_of(writes,
                      [&](Value each) { return a.touches(getRoot(each)); }) ||
         llvm::any_of(b.getReads(), [&](Value each) {
           return a.writes.contains(getRoot(each));
         });
}

/// The kernels of a module, and those made of several.
class JoinedKernels {
public:
  explicit JoinedKernels(ModuleOp module)
      : prefix(getKernelPrefix(module)), symbols(module) {
    for (KernelOp kernel : module.getOps<KernelOp>())
      numbers[kernel.getSymName()] = numbers.size();
  }

  unsigned numberOf(LaunchOp op) const {
    return numbers.lookup(op.getKernel());
  }

  KernelOp get(ArrayRef<LaunchOp> parts) {
    std::string key;
    for (LaunchOp part : parts)
      key += (part.getKernel() + " ").str();
    KernelOp &kernel = joined[key];
    if (!kernel)
      kernel = join(parts);
    return kernel;
  }

private:
  /// The bodies one behind the other, which share no value.
  KernelOp join(ArrayRef<LaunchOp> parts) {
    MLIRContext *context = symbols.getOp()->getContext();
    OpBuilder builder(context);
    Block *block = new Block();
    SmallVector<Location> locations;
    SmallVector<Value> yielded;
    SmallVector<int64_t> shared;
    builder.setInsertionPointToStart(block);
    for (LaunchOp part : parts) {
      auto kernel = symbols.lookup<KernelOp>(part.getKernel());
      locations.push_back(kernel.getLoc());
      for (auto [i, number] : llvm::enumerate(kernel.getShared()))
        shared.push_back(
            number + (i % 2 == 0 ? block->getNumArguments() : yielded.size()));
      copyBody(builder, kernel, *block, yielded);
    }
    Location loc = builder.getFusedLoc(locations);
    train::YieldOp::create(builder, loc, yielded);
    OperationState state(loc, KernelOp::getOperationName());
    auto &properties = state.getOrAddProperties<KernelOp::Properties>();
    properties.sym_name = builder.getStringAttr(
        prefix + "joined_" + std::to_string(joined.size() - 1));
    properties.shared = builder.getDenseI64ArrayAttr(shared);
    state.addRegion()->push_back(block);
    auto result = cast<KernelOp>(Operation::create(state));
    symbols.insert(result);
    return result;
  }

  static void copyBody(OpBuilder &builder, KernelOp kernel, Block &block,
                       SmallVectorImpl<Value> &yielded) {
    IRMapping mapping;
    for (Value input : kernel.getInputs())
      mapping.map(input, block.addArgument(input.getType(), input.getLoc()));
    for (Operation &op : kernel.getBody().front().without_terminator())
      builder.clone(op, mapping);
    for (Value output : kernel.getOutputs())
      yielded.push_back(mapping.lookup(output));
  }

  std::string prefix; // of names
  SymbolTable symbols;
  llvm::StringMap<unsigned> numbers;
  llvm::StringMap<KernelOp> joined;
};

/// One program.
class Joiner {
public:
  Joiner(ProgramOp program, JoinedKernels &kernels, const Target &target)
      : body(program.getBody().front()), kernels(kernels), target(target),
        rates(target.rates()) {}

  /// Returns how many launches there are less.
  unsigned run() {
    for (Operation &op : llvm::make_early_inc_range(body)) {
      auto instruction = dyn_cast<InstructionOpInterface>(op);
      auto launch = dyn_cast<LaunchOp>(op);
      if (launch && isSmall(launch))
        wait(launch);
      else if (instruction)
        release(instruction);
    }
    releaseAll(firstOfOutputs());
    return numSaved;
  }

private:
  /// The first of the outputs that end the program, or null.
  Operation *firstOfOutputs() const {
    Operation *first = nullptr;
    for (Operation &op : llvm::reverse(body)) {
      if (!isa<OutputOp>(op))
        break;
      first = &op;
    }
    return first;
  }

  /// Attention computes much with few bytes, and hides what is on its way: it
  /// stays where it is.
  bool isSmall(LaunchOp op) const {
    const double bytes = op.getBytes().convertToDouble();
    const double flops = op.getFlops().convertToDouble();
    return bytes < rates.launchSeconds * rates.bytes &&
           flops < rates.launchSeconds * target.flopsOf(op) &&
           op->getNumOperands() < kMaxBuffers &&
           llvm::none_of(op->getOperands(), isOffloaded);
  }

  /// Whether the buffer is offloaded: fetches are timed for single launches.
  static bool isOffloaded(Value buffer) {
    Operation *root = getRoot(buffer).getDefiningOp();
    if (auto state = dyn_cast<StateOp>(root))
      return SymbolTable::lookupNearestSymbolFrom<train::StateOp>(
                 root, state.getStateAttr())
          .getOffloaded();
    auto alloc = dyn_cast<AllocOp>(root);
    return alloc && alloc.getOffload();
  }

  /// Counts the transient buffers that are kept for it.
  void hold(const Waiting &each) {
    for (Value root : each.reads)
      if (isa_and_nonnull<AllocOp>(root.getDefiningOp()) &&
          heldRoots.insert(root).second)
        held += getByteSize(root);
  }

  void wait(LaunchOp op) {
    waiting.emplace_back(op);
    hold(waiting.back());
    if (held > kMaxHeld)
      releaseAll(op->getNextNode());
  }

  /// Emits before `op` the waiting launches that it depends on.
  void release(InstructionOpInterface op) {
    std::vector<bool> needed(waiting.size());
    bool any = false;
    for (size_t i = 0; i < waiting.size(); ++i)
      any |= needed[i] = mustKeepOrder(waiting[i], op);
    if (!any)
      return;
    for (size_t i = waiting.size(); i > 0; --i)
      for (size_t before = 0; needed[i - 1] && before < i - 1; ++before)
        if (!needed[before])
          needed[before] = mustKeepOrder(waiting[before], waiting[i - 1]);
    emit(std::move(needed), op);
  }

  void releaseAll(Operation *before) {
    emit(std::vector<bool>(waiting.size(), true), before);
  }

  /// Round by round all launches that wait for no other one, until all that are
  /// needed run.
  void emit(std::vector<bool> needed, Operation *before) {
    while (llvm::is_contained(needed, true)) {
      std::vector<bool> ready(waiting.size());
      for (size_t i = 0; i < waiting.size(); ++i)
        ready[i] = llvm::none_of(llvm::seq<size_t>(0, i), [&](size_t earlier) {
          return mustKeepOrder(waiting[earlier], waiting[i]);
        });
      std::vector<LaunchOp> together;
      for (bool need : {true, false})
        for (size_t i = 0; i < waiting.size(); ++i)
          if (ready[i] && needed[i] == need)
            together.push_back(waiting[i].op);
      launch(together, before);
      remove(needed, ready);
    }
    heldRoots.clear();
    held = 0;
    for (const Waiting &each : waiting)
      hold(each);
  }

  void remove(std::vector<bool> &needed, const std::vector<bool> &done) {
    size_t kept = 0;
    for (size_t i = 0; i < done.size(); ++i) {
      if (done[i])
        continue;
      needed[kept] = needed[i];
      if (kept != i)
        waiting[kept] = std::move(waiting[i]);
      ++kept;
    }
    needed.resize(kept);
    waiting.erase(waiting.begin() + kept, waiting.end());
  }

  /// Joins as few launches as the limit of buffers allows. Equal kernels stand
  /// in a row, as they share code.
  void launch(ArrayRef<LaunchOp> ops, Operation *before) {
    while (!ops.empty()) {
      size_t count = 0, buffers = 0;
      while (count < ops.size() &&
             (buffers += ops[count]->getNumOperands()) <= kMaxBuffers)
        ++count;
      SmallVector<LaunchOp> parts(ops.take_front(count));
      llvm::stable_sort(parts, [&](LaunchOp a, LaunchOp b) {
        return kernels.numberOf(a) < kernels.numberOf(b);
      });
      launchTogether(parts, before);
      ops = ops.drop_front(count);
    }
  }

  void launchTogether(ArrayRef<LaunchOp> parts, Operation *before) {
    if (parts.size() == 1)
      return before ? parts[0]->moveBefore(before)
                    : parts[0]->moveBefore(&body, body.end());
    SmallVector<Value> inputs, outputs;
    double flops = 0, bytes = 0;
    for (LaunchOp part : parts) {
      llvm::append_range(inputs, part.getInputs());
      llvm::append_range(outputs, part.getOutputs());
      flops += part.getFlops().convertToDouble();
      bytes += part.getBytes().convertToDouble();
    }
    OpBuilder builder(body.getParentOp()->getContext());
    before ? builder.setInsertionPoint(before)
           : builder.setInsertionPointToEnd(&body);
    LaunchOp first = parts[0];
    std::string label = first.getLabel().value_or("").str() + " and " +
                        std::to_string(parts.size() - 1) + " more";
    LaunchOp::create(
        builder, first.getLoc(),
        FlatSymbolRefAttr::get(kernels.get(parts).getSymNameAttr()), inputs,
        outputs, builder.getStringAttr(label), builder.getF64FloatAttr(flops),
        builder.getF64FloatAttr(bytes), /*host=*/nullptr);
    for (LaunchOp part : parts)
      part.erase();
    numSaved += parts.size() - 1;
  }

  Block &body;
  JoinedKernels &kernels;
  const Target &target;
  const MachineRates &rates;
  std::vector<Waiting> waiting; // in the program's order
  llvm::DenseSet<Value> heldRoots;
  int64_t held = 0;
  unsigned numSaved = 0;
};

struct JoinLaunches : public impl::JoinLaunchesPassBase<JoinLaunches> {
  void runOnOperation() override {
    const Target &target = getTarget(getOperation());
    if (!target.runsThreadBlocks() || target.rates().launchSeconds == 0)
      return;
    JoinedKernels kernels(getOperation());
    for (auto program : getOperation().getOps<ProgramOp>())
      numSaved += Joiner(program, kernels, target).run();
    eraseUnused();
  }

private:
  void eraseUnused() {
    llvm::StringSet<> used;
    getOperation().walk([&](LaunchOp op) { used.insert(op.getKernel()); });
    for (auto kernel :
         llvm::make_early_inc_range(getOperation().getOps<KernelOp>()))
      if (!used.contains(kernel.getSymName()))
        kernel.erase();
  }
};

} // namespace
} // namespace zc
