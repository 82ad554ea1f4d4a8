//===- SchedulingSimulationTest.cpp ---------------------------------------===//
//
// Random programs go down from `train` to offsets and are then executed on a
// simulated memory of 64-byte blocks that hold symbols instead of numbers.
// Every state and output must hold what the program said before.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/DistDialect.h"

#include "compiler/Driver/TargetServices.h"
#include "dialects/Sched/TargetAttr.h"
#include "passes/Allocation/Passes.h"
#include "passes/Contents/Contents.h"
#include "passes/Scheduling/TrainProgram.h"
#include "passes/Target/Target.h"
#include "test/unit/passes/Scheduling/RandomTrainProgram.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/Hashing.h"
#include "gtest/gtest.h"

#include <map>

using namespace mlir;

namespace zc {
namespace {

using Symbol = size_t;
using Symbols = std::map<std::string, Symbol>; // of states and outputs

Symbol nameSymbol(llvm::StringRef name) { return llvm::hash_value(name); }

Symbol apply(int64_t function, llvm::ArrayRef<Symbol> operands, size_t result) {
  return llvm::hash_combine(
      function, result,
      llvm::hash_combine_range(operands.begin(), operands.end()));
}

/// Computes the states and outputs of a train program symbolically.
Symbols evaluate(func::FuncOp program) {
  llvm::DenseMap<Value, Symbol> symbols;
  for (BlockArgument argument : program.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto state =
        program.getArgAttrOfType<FlatSymbolRefAttr>(index, train::kStateAttr);
    auto input = program.getArgAttrOfType<StringAttr>(index, train::kInputAttr);
    symbols[argument] = nameSymbol(state ? state.getValue() : input.strref());
  }
  Symbols results;
  for (Operation &op : program.getBody().front()) {
    std::vector<Symbol> operands;
    for (Value operand : op.getOperands())
      operands.push_back(symbols.at(operand));
    if (auto fused = dyn_cast<train::FusedOp>(op)) {
      for (OpResult result : op.getResults())
        symbols[result] = apply(getFunctionNumber(fused.getBody()), operands,
                                result.getResultNumber());
    } else if (isa<train::ReshapeOp>(op)) {
      symbols[op.getResult(0)] = operands[0];
    } else {
      for (auto [index, symbol] : llvm::enumerate(operands)) {
        auto state = program.getResultAttrOfType<FlatSymbolRefAttr>(
            index, train::kStateAttr);
        auto output =
            program.getResultAttrOfType<StringAttr>(index, train::kOutputAttr);
        results[state ? state.getValue().str() : output.str()] = symbol;
      }
    }
  }
  return results;
}

/// Executes a program on three regions of blocks.
class Machine {
public:
  explicit Machine(ModuleOp module) : module(module) {
    auto bytes =
        module->getAttrOfType<IntegerAttr>(sched::kPersistentBytesAttr);
    regions[0].resize(bytes.getInt() / 64);
    if (auto offloaded =
            module->getAttrOfType<IntegerAttr>(sched::kOffloadedBytesAttr))
      regions[2].resize(offloaded.getInt() / 64);
  }

  Symbols run(sched::ProgramOp program) {
    regions[1].assign(*program.getTransientBytes() / 64, 0);
    for (auto state : module.getOps<train::StateOp>())
      fill(regionOf(state), offsetOf(state), nameSymbol(state.getSymName()));
    Symbols results;
    for (Operation &op : program.getBody().front()) {
      for (Operation *ended : underWay.step(op))
        finish(*ended);
      if (isa<sched::InstructionOpInterface>(op) &&
          sched::getStream(&op) != sched::kMainStream) {
        awaited[&op] = underWay.getAwaitedBy(op);
        begun.push_back(&op);
      }
      if (auto collective = dyn_cast<sched::CollectiveOp>(op))
        begin(collective);
      else if (auto input = dyn_cast<sched::InputOp>(op))
        write(input, nameSymbol(input.getName()));
      else if (auto copy = dyn_cast<sched::CopyOp>(op))
        begin(copy);
      else if (auto launch = dyn_cast<sched::LaunchOp>(op))
        begin(launch);
    }
    for (Operation *last : underWay.get())
      finish(*last);
    for (auto output : program.getOps<sched::OutputOp>())
      results[output.getName().str()] = read(output.getBuffer());
    for (auto state : module.getOps<train::StateOp>())
      results[state.getSymName().str()] = regionOf(state)[offsetOf(state)];
    return results;
  }

private:
  static constexpr int64_t kBlocks = 4; // of a tensor of 64 floats

  static int64_t offsetOf(train::StateOp state) {
    return int64_t(*state.getOffset()) / 64;
  }

  std::vector<Symbol> &regionOf(train::StateOp state) {
    return regions[state.getOffloaded() ? 2 : 0];
  }

  static void fill(std::vector<Symbol> &region, int64_t offset, Symbol symbol) {
    std::fill_n(region.begin() + offset, kBlocks, symbol);
  }

  std::pair<std::vector<Symbol> *, int64_t> locate(Value buffer) {
    Operation *root = sched::getRoot(buffer).getDefiningOp();
    if (auto use = dyn_cast<sched::StateOp>(root)) {
      auto state = module.lookupSymbol<train::StateOp>(use.getState());
      return {&regionOf(state), offsetOf(state)};
    }
    if (auto input = dyn_cast<sched::InputOp>(root))
      return {&regions[1], *input.getOffset() / 64};
    return {&regions[sched::isOffloadedAlloc(root) ? 2 : 1],
            *cast<sched::AllocOp>(root).getOffset() / 64};
  }

  void write(Value buffer, Symbol symbol) {
    auto [region, offset] = locate(buffer);
    fill(*region, offset, symbol);
  }

  Symbol read(Value buffer) {
    auto [region, offset] = locate(buffer);
    Symbol symbol = (*region)[offset];
    for (int64_t block = 0; block < kBlocks; ++block)
      EXPECT_EQ((*region)[offset + block], symbol) << "a value was torn";
    return symbol;
  }

  /// An async instruction reads as late as it may; what it writes is torn from
  /// the beginning on, which is behind what its stream does before.
  void tear(Operation *op, Value destination) {
    Value root = sched::getRoot(destination);
    bool isUsed = llvm::any_of(underWay.get(), [&](Operation *other) {
      return other != op &&
             (sched::getStream(other) == sched::getStream(op) ||
              llvm::is_contained(awaited[op], other)) &&
             llvm::any_of(other->getOperands(), [&](Value operand) {
               return sched::getRoot(operand) == root;
             });
    });
    if (!isUsed)
      write(destination, nameSymbol("torn"));
  }

  void begin(sched::CollectiveOp collective) {
    if (!collective.getAsync())
      return execute(collective);
    ++numAsync;
    Value destination = collective.getDestination();
    if (sched::getRoot(destination) != sched::getRoot(collective.getSource()))
      tear(collective, destination);
  }

  void begin(sched::CopyOp copy) {
    if (!copy.getAsync())
      return execute(copy);
    ++numCopies;
    tear(copy, copy.getDestination());
  }

  void begin(sched::LaunchOp launch) {
    if (!launch.getHost())
      return execute(launch);
    ++numOnHost;
    for (Value output : launch.getOutputs())
      if (llvm::none_of(launch.getInputs(), [&](Value input) {
            return sched::getRoot(input) == sched::getRoot(output);
          }))
        tear(launch, output);
  }

  /// Executes an async instruction behind those that it begins behind, once.
  void finish(Operation &op) {
    if (!finished.insert(&op).second)
      return;
    for (Operation *each : begun)
      if (each == &op)
        break;
      else if (sched::getStream(each) == sched::getStream(&op))
        finish(*each);
    for (Operation *each : awaited[&op])
      finish(*each);
    execute(op);
  }

  void execute(Operation &op) {
    if (auto launch = dyn_cast<sched::LaunchOp>(op))
      execute(launch);
    else if (auto collective = dyn_cast<sched::CollectiveOp>(op))
      execute(collective);
    else
      execute(cast<sched::CopyOp>(op));
  }

  void execute(sched::CopyOp copy) {
    write(copy.getDestination(), read(copy.getSource()));
  }

  void execute(sched::CollectiveOp collective) {
    write(collective.getDestination(),
          apply(kCollectiveFunction, read(collective.getSource()), 0));
  }

  void execute(sched::LaunchOp launch) {
    auto kernel = module.lookupSymbol<sched::KernelOp>(launch.getKernel());
    std::vector<Symbol> operands;
    for (Value input : launch.getInputs())
      operands.push_back(read(input));
    for (auto [index, output] : llvm::enumerate(launch.getOutputs()))
      write(output,
            apply(getFunctionNumber(kernel.getBody()), operands, index));
  }

  ModuleOp module;
  sched::UnderWay underWay;
  std::vector<Operation *> begun; // async ones, in their order
  llvm::DenseMap<Operation *, SmallVector<Operation *>> awaited;
  llvm::DenseSet<Operation *> finished;
  std::vector<Symbol> regions[3]; // persistent, transient, offloaded

public:
  unsigned numAsync = 0, numCopies = 0, numOnHost = 0;
};

/// Marks some states and results to lie in the second memory.
void markSome(ModuleOp module, std::mt19937 &random) {
  for (auto state : module.getOps<train::StateOp>())
    if (random() % 3 == 0)
      state.setOffloaded(true);
  for (auto state : module.getOps<train::StateOp>())
    state.setHostUpdate(state.getOffloaded() && random() % 4 != 0);
  module.walk([&](train::FusedOp op) {
    if (random() % 3 == 0 && op.getNumResults() > 0)
      op.setOffloaded({0});
  });
}

unsigned countOffloaded(ModuleOp module) {
  return llvm::count_if(
      module.getOps<train::StateOp>(),
      [](train::StateOp state) { return state.getOffloaded(); });
}

// Tests that order, conversion and offsets together keep every value until its
// last reader, whatever is returned as what, whatever lies in the second
// memory or is updated on the host, and however long collectives, copies and
// the host take.
TEST(SchedulingSimulationTest, RandomProgramsKeepTheirMeaning) {
  DialectRegistry registry;
  registerTargets(registry, makeTargetServices());
  MLIRContext context(registry);
  context
      .loadDialect<train::TrainDialect, func::FuncDialect, sched::SchedDialect,
                   dist::DistDialect, memref::MemRefDialect>();
  PassManager manager(&context);
  addInstructions(manager, PassOptions());
  manager.addPass(createVerifyOffsetsPass());
  // Copies of this GPU take as long as two or three kernels; none are joined.
  Attribute gpu = parseAttribute(
      "#sched.target<device = \"cuda\", machine = #sched.machine<name = \"g\", "
      "rates = [#sched.rate<work = \"kernel\", type = \"f32\", flops = "
      "1.0e9>], "
      "bytes = 1.0e9, copy = 1.0e8, copy_seconds = 1.0e-5, host = 5.0e10, "
      "launch = 0.0, links = "
      "[#sched.link<ranks = 4, seconds = 1.0e-6, bytes = 1.0e9>], ways = "
      "[\"ring\"], axes = [\"dp\"], sizes = [4]>>",
      &context);
  ASSERT_TRUE(gpu);
  std::mt19937 random(6);
  unsigned numAsync = 0, numCopies = 0, numOnHost = 0, numStaying = 0,
           numAway = 0;
  for (int round = 0; round < 400; ++round) {
    OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
    Symbols expected = evaluate(buildRandomProgram(*module, random));
    if (round % 2 == 1)
      markSome(*module, random);
    if (round % 4 == 3 || round % 8 == 5) // values may stay for their next use
      (*module)->setAttr(sched::kTargetAttr, gpu);
    if (round % 4 == 3) // and states for good
      (*module)->setAttr(kKeepsBusyAttr, UnitAttr::get(&context));
    const unsigned numMarked = countOffloaded(*module);
    ASSERT_TRUE(succeeded(manager.run(*module))) << "round " << round;
    numStaying += numMarked - countOffloaded(*module);
    if (round % 8 == 5) {
      ASSERT_EQ(countOffloaded(*module), numMarked) << "round " << round;
      numAway += numMarked;
    }
    auto program = *module->getOps<sched::ProgramOp>().begin();
    Machine machine(*module);
    Symbols found = machine.run(program);
    numAsync += machine.numAsync;
    numCopies += machine.numCopies;
    numOnHost += machine.numOnHost;
    for (const auto &[name, symbol] : expected)
      ASSERT_EQ(found.at(name), symbol) << name << " in round " << round;
    for (auto state : module->getOps<train::StateOp>()) {
      std::string name = state.getSymName().str();
      if (!expected.count(name)) {
        ASSERT_EQ(found.at(name), nameSymbol(name)) << "round " << round;
      }
    }
  }
  EXPECT_GT(numAsync, 400u);
  EXPECT_GT(numCopies, 300u);
  EXPECT_GT(numOnHost, 5u);
  EXPECT_GT(numStaying, 5u);
  EXPECT_GT(numAway, 20u);
}

} // namespace
} // namespace zc
