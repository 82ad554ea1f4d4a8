//===- HostUpdates.cpp - --zc-host-updates --------------------------------===//
//
// ZeRO-Offload: what the optimizer holds never comes to the device. Its new
// values are computed where it lies, on the host, from gradients that go there
// as soon as they are complete. Micro-batches' gradients are added up there,
// too, and what is summed up of the sums, as for a norm, is read there.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/Notes.h"
#include "dialects/Train/TrainDialect.h"
#include "passes/Scheduling/OffloadTimes.h"
#include "passes/Scheduling/Passes.h"
#include "passes/Scheduling/TrainProgram.h"
#include "passes/Target/Target.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace zc::sched;

namespace zc {
#define GEN_PASS_DEF_HOSTUPDATESPASS
#include "passes/Scheduling/Passes.h.inc"

namespace {

/// The kernels of a module that the host has, too.
class HostKernels {
public:
  explicit HostKernels(ModuleOp module) : symbols(module) {}

  KernelOp lookup(LaunchOp launch) {
    return symbols.lookup<KernelOp>(launch.getKernel());
  }

  /// The same kernel for the host.
  KernelOp get(KernelOp kernel) {
    KernelOp &own = kernels[kernel];
    if (own)
      return own;
    own = kernel.clone();
    own.setSymName((kernel.getSymName() + "_host").str());
    own.setHost(true);
    symbols.insert(own);
    return own;
  }

private:
  SymbolTable symbols;
  llvm::DenseMap<Operation *, KernelOp> kernels;
};

/// One program.
class HostUpdates {
public:
  HostUpdates(ProgramOp program, HostKernels &kernels)
      : body(program.getBody().front()), kernels(kernels),
        builder(program.getContext()), target(getTarget(program)),
        rates(target.rates()) {
    for (auto op : body.getOps<InstructionOpInterface>())
      noteUses(op);
    for (auto output : body.getOps<OutputOp>())
      users[getRoot(output.getBuffer())].insert(output);
  }

  /// Returns how many launches the host has.
  unsigned run() {
    chooseLaunches();
    findFetched();
    if (chosen.empty())
      return 0;
    noteTimes();
    for (Operation *launch : chosen)
      move(cast<LaunchOp>(launch));
    placeWaits(placeReturns());
    eraseUnused();
    return chosen.size();
  }

  /// The states that come to the device although the host is to update them:
  /// what uses them there is no work of the host's.
  ArrayRef<train::StateOp> getFetched() const { return fetched; }

private:
  static train::StateOp getState(Value root);

  /// A copy to the host that frees what it reads once it has been waited for.
  struct Sent {
    CopyOp op;
    OffloadCopy times;
  };
  /// A value that the host computes and the device has.
  struct Returned {
    LaunchOp launch;
    Value host, device;
  };
  using Waits = llvm::MapVector<Operation *, SmallVector<CopyOp>>;

  void noteUses(InstructionOpInterface op);
  void noteTimes();
  void chooseLaunches();
  void findFetched();
  bool isHostWork(LaunchOp launch);
  bool isOnHostAlone(Value root) const;
  bool isHosts(Value root) const;
  void move(LaunchOp launch);
  Value send(Value buffer, LaunchOp launch);
  Operation *whenWritten(Value value, LaunchOp launch);
  Value resolve(Value buffer) const;
  Value allocate(Value like, Operation *before);
  CopyOp copy(Value from, Value to, LaunchOp launch, StringRef what);
  Operation *nextUse(Operation *behind, Value root, bool writes) const;
  Operation *laterMain(double seconds) const;
  Waits placeReturns();
  void placeWaits(Waits waits);
  void eraseUnused();

  Block &body;
  HostKernels &kernels;
  OpBuilder builder;
  const Target &target;
  const MachineRates &rates;
  llvm::DenseMap<Value, Operation *> writers; // by what they write
  llvm::DenseMap<Value, llvm::SmallPtrSet<Operation *, 4>> users; // by root
  llvm::SetVector<Operation *> chosen; // launches that the host has
  std::vector<Operation *> main;       // instructions of the main stream
  std::vector<double> begins;          // of those, in seconds, and the end
  llvm::DenseMap<Operation *, unsigned> times; // how many of those are ahead
  llvm::MapVector<std::pair<Value, Type>, Value> onHost; // by resolved value
  llvm::DenseMap<Value, CopyOp> sentBy; // by the buffer on the host
  SmallVector<train::StateOp> fetched;
  std::vector<Sent> sent;
  std::vector<Returned> returned;
};

} // namespace

void HostUpdates::noteUses(InstructionOpInterface op) {
  for (Value write : op.getWrites())
    writers[write] = op;
  for (Value operand : op->getOperands())
    users[getRoot(operand)].insert(op);
}

/// Launches that the host will have take the device no time.
void HostUpdates::noteTimes() {
  begins.push_back(0);
  for (Operation &op : body) {
    times[&op] = main.size();
    if (!isa<InstructionOpInterface>(op) || getStream(&op) != kMainStream ||
        chosen.contains(&op))
      continue;
    main.push_back(&op);
    begins.push_back(begins.back() + estimateInstructionSeconds(&op));
  }
}

//===----------------------------------------------------------------------===//
// The launches that the host has
//===----------------------------------------------------------------------===//

train::StateOp HostUpdates::getState(Value root) {
  auto use = root.getDefiningOp<sched::StateOp>();
  return use ? SymbolTable::lookupNearestSymbolFrom<train::StateOp>(
                   use, use.getStateAttr())
             : train::StateOp();
}

/// Whether the buffer lies in the second memory.
bool HostUpdates::isHosts(Value root) const {
  train::StateOp state = getState(root);
  return state ? state.getOffloaded() : isOffloadedAlloc(root.getDefiningOp());
}

/// Whether the code gives a few numbers of many, besides.
static bool isReduction(Block &code) {
  return llvm::all_of(code, [](Operation &op) {
    return isa<ElementwiseOpInterface, train::BroadcastOp, train::ReshapeOp,
               train::ConstantOp, train::ReduceOp, train::YieldOp>(op);
  });
}

/// Whether it computes new values of states where they lie, of the old ones or
/// of nothing, or reads them beside nothing but single numbers.
bool HostUpdates::isHostWork(LaunchOp launch) {
  bool reads = false, updates = false, readsOthers = false;
  llvm::SmallPtrSet<Value, 8> read;
  for (Value input : launch.getInputs()) {
    Value root = getRoot(input);
    read.insert(root);
    train::StateOp state = getState(root);
    if (isHosts(root) && (!state || !state.getHostUpdate()))
      return false;
    reads |= isHosts(root);
    readsOthers |= !isHosts(root) &&
                   cast<ShapedType>(input.getType()).getNumElements() > 1;
  }
  for (Value output : launch.getOutputs()) {
    Value root = getRoot(output);
    train::StateOp state = getState(root);
    if (isHosts(root) && (!state || !state.getHostUpdate()))
      return false;
    updates |= isHosts(root) && (read.empty() || read.contains(root));
  }
  Block &code = kernels.lookup(launch).getBody().front();
  return (updates && isElementwise(code)) ||
         (reads && !readsOthers && isReduction(code));
}

/// Whether the host alone uses what lies there.
bool HostUpdates::isOnHostAlone(Value root) const {
  return llvm::all_of(users.at(root),
                      [&](Operation *user) { return chosen.contains(user); });
}

/// A state that anything else uses comes to the device for all of its uses.
void HostUpdates::chooseLaunches() {
  for (auto launch : body.getOps<LaunchOp>())
    if (isHostWork(launch))
      chosen.insert(launch);
  auto sharesState = [&](Operation *launch) {
    return llvm::any_of(launch->getOperands(), [&](Value operand) {
      Value root = getRoot(operand);
      return isHosts(root) && !isOnHostAlone(root);
    });
  };
  while (chosen.remove_if(sharesState))
    ;
}

void HostUpdates::findFetched() {
  for (auto root : body.getOps<sched::StateOp>())
    if (train::StateOp state = getState(root);
        state.getHostUpdate() && users.contains(root) && !isOnHostAlone(root))
      fetched.push_back(state);
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

void HostUpdates::move(LaunchOp launch) {
  KernelOp kernel = kernels.lookup(launch);
  llvm::DenseMap<int64_t, Value> inPlace; // the input, by the output
  for (auto [index, input] : llvm::enumerate(launch.getInputs())) {
    Value buffer = isHosts(getRoot(input)) ? Value(input) : send(input, launch);
    ArrayRef<int64_t> shared = kernel.getShared();
    for (size_t i = 0; i < shared.size(); i += 2)
      if (shared[i] == int64_t(index))
        inPlace[shared[i + 1]] = buffer;
    launch.getInputsMutable()[index].set(buffer);
  }
  for (auto [index, output] : llvm::enumerate(launch.getOutputs())) {
    Value device = output;
    if (isHosts(getRoot(device)))
      continue;
    Value host = inPlace.lookup(index);
    builder.setInsertionPoint(launch);
    host = host ? ViewOp::create(builder, launch.getLoc(), device.getType(),
                                 host, /*memory_class=*/nullptr)
                      .getBuffer()
                : allocate(device, launch);
    launch.getOutputsMutable()[index].set(host);
    onHost[{device, device.getType()}] = host;
    Value root = getRoot(device);
    if (!root.getDefiningOp<AllocOp>() || !isOnHostAlone(root))
      returned.push_back({launch, host, device});
  }
  launch.setKernelAttr(
      FlatSymbolRefAttr::get(kernels.get(kernel).getSymNameAttr()));
  launch.setHost(true);
}

Value HostUpdates::allocate(Value like, Operation *before) {
  builder.setInsertionPoint(before);
  return AllocOp::create(builder, like.getLoc(),
                         cast<MemRefType>(like.getType()), kOffloaded,
                         /*offset=*/nullptr);
}

CopyOp HostUpdates::copy(Value from, Value to, LaunchOp launch,
                         StringRef what) {
  const double bytes = 2.0 * static_cast<double>(getByteSize(from));
  std::string label = (what + launch.getLabel().value_or("")).str();
  return CopyOp::create(builder, launch.getLoc(), from, to,
                        builder.getUnitAttr(), builder.getStringAttr(label),
                        builder.getF64FloatAttr(0),
                        builder.getF64FloatAttr(bytes));
}

/// The value that `buffer` is a name for.
Value HostUpdates::resolve(Value buffer) const {
  while (!writers.contains(buffer)) {
    auto view = buffer.getDefiningOp<ViewOp>();
    if (!view)
      break;
    buffer = view.getSource();
  }
  return buffer;
}

/// The operation behind which the value can be read: what writes it, or waits
/// for that; null: right in front of the launch.
Operation *HostUpdates::whenWritten(Value value, LaunchOp launch) {
  Operation *writer = writers.lookup(value);
  if (!writer || getStream(writer) == kMainStream)
    return writer;
  UnderWay underWay;
  for (Operation &op : body) {
    if (llvm::is_contained(underWay.step(op), writer))
      return &op;
    if (&op == launch)
      break;
  }
  return nullptr;
}

/// Copies to the host what a launch there reads; returns the copy.
Value HostUpdates::send(Value buffer, LaunchOp launch) {
  Value value = resolve(buffer);
  Value &host = onHost[{value, buffer.getType()}];
  if (host)
    return host;
  Operation *behind = whenWritten(value, launch);
  Operation *named = buffer.getDefiningOp();
  if (behind && behind->isBeforeInBlock(named))
    behind = named;
  Operation *place = behind ? behind->getNextNode() : launch.getOperation();
  host = allocate(buffer, place);
  CopyOp op = copy(buffer, host, launch, "to the host for ");
  const unsigned time = behind && getStream(behind) == kMainStream &&
                                isa<InstructionOpInterface>(behind)
                            ? times.lookup(behind) + 1
                            : times.lookup(behind ? behind : launch);
  sent.push_back({op, {/*isFetch=*/false, getByteSize(buffer), time, time}});
  sentBy[host] = op;
  return host;
}

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

/// The first op behind `behind` that names the root; with `writes`, that may
/// change what it holds.
Operation *HostUpdates::nextUse(Operation *behind, Value root,
                                bool writes) const {
  for (Operation *op = behind->getNextNode(); op; op = op->getNextNode()) {
    auto instruction = dyn_cast<InstructionOpInterface>(op);
    if (!instruction && !isa<OutputOp>(op))
      continue;
    SmallVector<Value> used;
    if (writes && instruction) {
      used = instruction.getWrites();
      if (Value scratch = instruction.getScratch())
        used.push_back(scratch);
    } else if (!writes) {
      used = llvm::to_vector(op->getOperands());
    }
    if (llvm::any_of(used, [&](Value each) { return getRoot(each) == root; }))
      return op;
  }
  return nullptr;
}

/// The first instruction of the main stream that begins at that time or later;
/// null: the program has ended by then.
Operation *HostUpdates::laterMain(double seconds) const {
  auto found = std::lower_bound(begins.begin(), begins.end() - 1, seconds);
  return found == begins.end() - 1 ? nullptr
                                   : main[size_t(found - begins.begin())];
}

/// Brings back what the host computes about when it has computed it, so that
/// other fetches need not wait for the host. Returns the copies
/// that are waited for, in front of what reads them.
HostUpdates::Waits HostUpdates::placeReturns() {
  Waits waits;
  double linkFree = 0, hostFree = 0;
  Operation *last = nullptr; // copies keep the order of the launches
  for (Returned &each : returned) {
    double there = begins[times.lookup(each.launch)];
    for (Value input : each.launch.getInputs())
      if (CopyOp op = sentBy.lookup(input)) {
        linkFree = std::max(linkFree, begins[times.lookup(each.launch)]) +
                   estimateCopySeconds(rates, getByteSize(input));
        there = std::max(there, linkFree);
        sentBy.erase(input);
      }
    hostFree = std::max(hostFree, there) +
               each.launch.getBytes().convertToDouble() / rates.hostBytes;
    Operation *place = laterMain(hostFree);
    if (place && place->isBeforeInBlock(each.launch))
      place = each.launch->getNextNode();
    if (place && last && place->isBeforeInBlock(last))
      place = last;
    last = place ? place : last;
    Operation *user = nextUse(each.launch, getRoot(each.device), false);
    if (user && (!place || user->isBeforeInBlock(place)))
      place = user;
    place ? builder.setInsertionPoint(place)
          : builder.setInsertionPointToEnd(&body);
    CopyOp op = copy(each.host, each.device, each.launch, "from the host of ");
    if (user)
      waits[user].push_back(op);
  }
  return waits;
}

/// Gradients' memory is free once they are on the host.
void HostUpdates::placeWaits(Waits waits) {
  std::vector<OffloadCopy> copies;
  for (const Sent &each : sent)
    copies.push_back(each.times);
  SmallVector<double> seconds;
  for (size_t i = 0; i < main.size(); ++i)
    seconds.push_back(begins[i + 1] - begins[i]);
  chooseOffloadTimes(target, seconds, copies);
  for (auto [each, times] : llvm::zip(sent, copies)) {
    Operation *place = times.time < main.size() ? main[times.time] : nullptr;
    Operation *writer =
        nextUse(each.op, getRoot(each.op.getSource()), /*writes=*/true);
    if (writer && getStream(writer) == kFetchStream)
      writer = nullptr; // it begins behind all that it shares memory with
    if (writer && (!place || writer->isBeforeInBlock(place)))
      place = writer;
    if (place)
      waits[place].push_back(each.op);
  }
  UnderWay underWay;
  for (Operation &op : llvm::make_early_inc_range(body)) {
    for (CopyOp each : waits.lookup(&op)) {
      if (!llvm::is_contained(underWay.get(), each.getOperation()))
        continue;
      builder.setInsertionPoint(&op);
      underWay.step(
          *WaitOp::create(builder, each.getLoc(), each.getDestination()));
    }
    underWay.step(op);
  }
}

/// Buffers of the device in whose place the host has its own.
void HostUpdates::eraseUnused() {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isa<ViewOp, AllocOp>(op) && op.use_empty())
      op.erase();
}

namespace {

struct HostUpdatesPass : impl::HostUpdatesPassBase<HostUpdatesPass> {
  void runOnOperation() override {
    const bool any =
        llvm::any_of(getOperation().getOps<train::StateOp>(),
                     [](auto state) { return state.getHostUpdate(); });
    if (!any)
      return markAllAnalysesPreserved();
    HostKernels kernels(getOperation());
    llvm::SmallPtrSet<Operation *, 8> fetched;
    for (ProgramOp program : getOperation().getOps<ProgramOp>()) {
      HostUpdates updates(program, kernels);
      numUpdates += updates.run();
      // Evaluation reads them, and initial values are made on the device.
      if (program.getSymName() != train::kInitProgram &&
          program.getSymName() != train::kEvalProgram)
        for (train::StateOp state : updates.getFetched())
          fetched.insert(state);
    }
    eraseUnused();
    if (!fetched.empty())
      say(fetched);
  }

private:
  void say(const llvm::SmallPtrSetImpl<Operation *> &fetched) {
    int64_t bytes = 0;
    for (Operation *state : fetched)
      bytes += getByteSize(cast<train::StateOp>(state).getTensorType());
    dist::addNote(
        getOperation(),
        llvm::formatv("--offload update: {0} tensor{1} of {2:F2} MiB that the "
                      "host keeps come{3} to the device for what no "
                      "elementwise code computes",
                      fetched.size(), fetched.size() == 1 ? "" : "s",
                      double(bytes) / (1 << 20), fetched.size() == 1 ? "s" : "")
            .str());
  }

  void eraseUnused() {
    llvm::DenseSet<StringRef> used;
    getOperation().walk([&](LaunchOp op) { used.insert(op.getKernel()); });
    for (KernelOp kernel :
         llvm::make_early_inc_range(getOperation().getOps<KernelOp>()))
      if (!used.contains(kernel.getSymName()))
        kernel.erase();
  }
};

} // namespace
} // namespace zc
