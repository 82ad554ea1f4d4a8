//===- EncodeKept.cpp - values in fewer bytes until the backward ----------===//
//
// An elementwise encoding costs no pass over memory of its own if a region goes
// over the value anyway: the last of the forward that reads it, or the one that
// makes it, also leaves the encoded value, and regions of the backward decode
// their operands. Libraries and other kernels read a value that is decoded for
// them, just before the first of them runs.
//
//===----------------------------------------------------------------------===//
#include "passes/Memory/EncodeKept.h"

#include "dialects/Train/Ops/OpSupport.h"
#include "passes/Analysis/LoopNests.h"
#include "passes/Analysis/Tensors.h"
#include "passes/Memory/StepAnalysis.h"
#include "passes/Scheduling/TrainProgram.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
namespace {

// Encoding less saves nothing that is worth a kernel, or digits.
constexpr int64_t kFewestEncodedBytes = 4096;
constexpr int64_t kLeastPart = 64; // of the largest kept value

bool isNest(FusedOp op) {
  return !op.getLibrary() && isSingleLoopNest(op.getBody().front());
}

/// Whether an operand of `op` may be computed on the way: loop nests, perhaps
/// with sums of what they read.
bool mayDecode(FusedOp op) {
  return !op.getLibrary() &&
         llvm::all_of(op.getBody().front().without_terminator(),
                      [](Operation &inner) {
                        return isInlinable(&inner) || isPlainReduction(&inner);
                      });
}

/// Tells of every fused op that is made.
struct FusedOps : public OpBuilder::Listener {
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    if (auto fused = dyn_cast<FusedOp>(op))
      made.push_back(fused);
  }
  SmallVector<FusedOp> made;
};

/// Encodes the program's saved activations, one encoder after another: the next
/// may encode a result further.
class Encoding {
public:
  explicit Encoding(func::FuncOp program) : program(program) {
    StepAnalysis analysis(program);
    for (FusedOp op : analysis.getForward())
      forward.insert(op.getOperation());
    for (FusedOp op : analysis.getBackward())
      backward.insert(op.getOperation());
    int64_t largest = 0;
    for (unsigned index : analysis.getSaved().set_bits())
      largest = std::max(largest, bytesOf(analysis.getValue(index)));
    fewestBytes = std::max(kFewestEncodedBytes, largest / kLeastPart);
    for (unsigned index : analysis.getSaved().set_bits())
      entries.push_back({index, analysis.getValue(index)});
    encodable.resize(analysis.numValues());
  }

  /// Without `values`, only finds the values that it could encode.
  void run(KeptEncoder &encoder, const llvm::BitVector *values) {
    encoder.prepare(program);
    // Entries appended in this loop are for the next encoder.
    for (size_t i = 0, end = entries.size(); i < end; ++i) {
      if (values && !values->test(entries[i].origin))
        continue;
      std::optional<KeptValue> kept = describe(entries[i].value);
      if (!kept || !encoder.accepts(*kept))
        continue;
      encodable.set(entries[i].origin);
      if (values)
        encode(encoder, *kept, i);
    }
  }

  const llvm::BitVector &getEncodable() const { return encodable; }

private:
  struct Entry {
    unsigned origin; // the number of the value that is kept so
    Value value;
  };

  std::optional<KeptValue> describe(Value value) const;
  bool collectReads(Value value, KeptValue &kept) const;
  FusedOp findLast(const KeptValue &kept) const;
  void encode(const KeptEncoder &encoder, const KeptValue &kept, size_t entry);
  SmallVector<Value> encodeIn(const KeptEncoder &encoder,
                              const KeptValue &kept);
  Value encodeInNest(const KeptEncoder &encoder, const KeptValue &kept,
                     FusedOp last);
  FusedOp addResult(FusedOp op,
                    llvm::function_ref<Value(OpBuilder &, Block &)> make);
  SmallVector<Value> encodeBehind(const KeptEncoder &encoder, Value value,
                                  FusedOp last);
  void decodeIn(const KeptEncoder &encoder, OpOperand &read, Value encoded);
  Value decodeBefore(const KeptEncoder &encoder, FusedOp reader,
                     ValueRange encoded, RankedTensorType type);
  void moveUp(FusedOp reader, Value kept) const;
  void moveOffload(OpResult from, ArrayRef<Value> to);

  func::FuncOp program;
  DenseSet<Operation *> forward, backward;
  SmallVector<Entry> entries;
  int64_t fewestBytes = 0;
  llvm::BitVector encodable;
};

} // namespace

//===----------------------------------------------------------------------===//
// Readers of a value
//===----------------------------------------------------------------------===//

/// False where the value leaves the program.
bool Encoding::collectReads(Value value, KeptValue &kept) const {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (auto view = dyn_cast<ReshapeOp>(user)) {
      if (!collectReads(view.getResult(), kept))
        return false;
    } else if (!isa<FusedOp>(user)) {
      return false;
    } else {
      (backward.contains(user) ? kept.backward : kept.forward).push_back(&use);
    }
  }
  return true;
}

FusedOp Encoding::findLast(const KeptValue &kept) const {
  auto last = cast<FusedOp>(kept.value.getOwner());
  for (OpOperand *read : kept.forward)
    if (forward.contains(read->getOwner()) &&
        last->isBeforeInBlock(read->getOwner()))
      last = cast<FusedOp>(read->getOwner());
  return last;
}

/// None where the value is small, leaves the program, or is read by the
/// backward before the forward has done with it.
std::optional<KeptValue> Encoding::describe(Value value) const {
  KeptValue kept{cast<OpResult>(value), {}, {}};
  if (bytesOf(value) < fewestBytes || !collectReads(value, kept) ||
      kept.backward.empty())
    return std::nullopt;
  auto comesFirst = [](OpOperand *a, OpOperand *b) {
    if (a->getOwner() == b->getOwner())
      return a->getOperandNumber() < b->getOperandNumber();
    return a->getOwner()->isBeforeInBlock(b->getOwner());
  };
  llvm::sort(kept.forward, comesFirst);
  llvm::sort(kept.backward, comesFirst);
  if (!findLast(kept)->isBeforeInBlock(kept.backward.front()->getOwner()))
    return std::nullopt;
  return kept;
}

//===----------------------------------------------------------------------===//
// Encoding
//===----------------------------------------------------------------------===//

/// Adds the results of `make`, built in the region, to the results of `op`.
FusedOp
Encoding::addResult(FusedOp op,
                    llvm::function_ref<Value(OpBuilder &, Block &)> make) {
  Block &body = op.getBody().front();
  Operation *end = body.getTerminator();
  OpBuilder inner(end);
  Value added = make(inner, body);
  end->insertOperands(end->getNumOperands(), added);
  SmallVector<Type> types(op.getResultTypes());
  types.push_back(added.getType());
  OpBuilder builder(op);
  auto wider = FusedOp::create(builder, op.getLoc(), types, op.getInputs());
  wider.getProperties() = op.getProperties();
  wider.getBody().takeBody(op.getBody());
  auto results = wider.getResults().drop_back();
  for (Entry &entry : entries)
    if (entry.value.getDefiningOp() == op)
      entry.value = results[cast<OpResult>(entry.value).getResultNumber()];
  op.replaceAllUsesWith(results);
  forward.erase(op.getOperation());
  forward.insert(wider.getOperation());
  op.erase();
  return wider;
}

/// By the last reader, so that both live at once for as short as can be, or by
/// the maker; null where neither is a loop nest over the value.
Value Encoding::encodeInNest(const KeptEncoder &encoder, const KeptValue &kept,
                             FusedOp last) {
  Location loc = kept.value.getLoc();
  auto maker = cast<FusedOp>(kept.value.getOwner());
  unsigned number = kept.value.getResultNumber();
  if (last != maker && isNest(last)) {
    unsigned operand = operandsWithRoot(last, kept.value).front();
    Block &body = last.getBody().front();
    Value read = body.getArgument(operand);
    if (isReadInPlace(body, body.getArgument(operand)) &&
        shapeOf(read) == shapeOf(last->getResult(0)))
      return addResult(last,
                       [&](OpBuilder &inner, Block &block) {
                         return encoder
                             .encode(inner, loc, block.getArgument(operand))
                             .front();
                       })
          ->getResults()
          .back();
  }
  if (!isNest(maker))
    return {};
  return addResult(maker,
                   [&](OpBuilder &inner, Block &block) {
                     Value value = block.getTerminator()->getOperand(number);
                     return encoder.encode(inner, loc, value).front();
                   })
      ->getResults()
      .back();
}

SmallVector<Value> Encoding::encodeBehind(const KeptEncoder &encoder,
                                          Value value, FusedOp last) {
  FusedOps ops;
  OpBuilder builder(program.getContext(), &ops);
  builder.setInsertionPointAfter(last);
  SmallVector<Value> encoded;
  if (encoder.isElementwise())
    encoded = llvm::to_vector(makeRegion(
        builder, value.getLoc(), value,
        [&](OpBuilder &inner, ValueRange arguments) {
          return encoder.encode(inner, value.getLoc(), arguments.front());
        }));
  else
    encoded = encoder.encode(builder, value.getLoc(), value);
  for (FusedOp op : ops.made)
    forward.insert(op.getOperation());
  return encoded;
}

SmallVector<Value> Encoding::encodeIn(const KeptEncoder &encoder,
                                      const KeptValue &kept) {
  FusedOp last = findLast(kept);
  if (encoder.isElementwise())
    if (Value encoded = encodeInNest(encoder, kept, last))
      return {encoded};
  return encodeBehind(encoder, kept.value, last);
}

/// Offloads the encoded values `to` if `from` was to be offloaded.
void Encoding::moveOffload(OpResult from, ArrayRef<Value> to) {
  auto owner = cast<FusedOp>(from.getOwner());
  if (!llvm::is_contained(owner.getOffloaded(),
                          int64_t(from.getResultNumber())))
    return;
  auto change = [&](FusedOp op,
                    llvm::function_ref<void(SmallVector<int64_t> &)> edit) {
    SmallVector<int64_t> numbers = llvm::to_vector(op.getOffloaded());
    edit(numbers);
    llvm::sort(numbers);
    op.setOffloaded(numbers);
  };
  change(owner, [&](SmallVector<int64_t> &numbers) {
    llvm::erase(numbers, int64_t(from.getResultNumber()));
  });
  for (Value value : to) {
    auto result = cast<OpResult>(getTensorRoot(value));
    change(cast<FusedOp>(result.getOwner()),
           [&](SmallVector<int64_t> &numbers) {
             numbers.push_back(result.getResultNumber());
           });
  }
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

/// Lets the region that `read` belongs to read what is encoded.
void Encoding::decodeIn(const KeptEncoder &encoder, OpOperand &read,
                        Value encoded) {
  auto reader = cast<FusedOp>(read.getOwner());
  unsigned number = read.getOperandNumber();
  auto type = cast<RankedTensorType>(read.get().getType());
  OpBuilder builder(reader);
  read.set(reshape(builder, reader.getLoc(), encoded, type.getShape()));
  Block &body = reader.getBody().front();
  Location loc = reader.getLoc();
  Value whole = body.getArgument(number);
  Value argument = body.insertArgument(number + 1, read.get().getType(), loc);
  OpBuilder inner = OpBuilder::atBlockBegin(&body);
  whole.replaceAllUsesWith(encoder.decode(inner, loc, argument, type));
  body.eraseArgument(number);
  SmallVector<int64_t> pairs;
  ArrayRef<int64_t> old = reader.getSharedBuffers();
  for (size_t i = 0; i + 1 < old.size(); i += 2)
    if (old[i] != int64_t(number))
      pairs.append({old[i], old[i + 1]});
  reader.setSharedBuffers(pairs);
}

Value Encoding::decodeBefore(const KeptEncoder &encoder, FusedOp reader,
                             ValueRange encoded, RankedTensorType type) {
  FusedOps ops;
  OpBuilder builder(program.getContext(), &ops);
  builder.setInsertionPoint(reader);
  Location loc = reader.getLoc();
  Value decoded;
  if (encoder.isElementwise())
    decoded = makeRegion(builder, loc, encoded,
                         [&](OpBuilder &inner, ValueRange arguments) {
                           return SmallVector<Value>{
                               encoder.decode(inner, loc, arguments, type)};
                         })
                  .front();
  else
    decoded = encoder.decode(builder, loc, encoded, type);
  for (FusedOp op : ops.made) {
    op.setRecomputed(true);
    backward.insert(op.getOperation());
  }
  return decoded;
}

/// In front of the ops of the backward that read another operand of the
/// reader's, such as the same gradient: the decoded value has gone when these
/// make theirs. The reader passes ops of the backward and views alone, and none
/// whose results it reads.
void Encoding::moveUp(FusedOp reader, Value kept) const {
  DenseSet<Value> roots;
  for (Value operand : reader.getInputs())
    if (getTensorRoot(operand) != kept)
      roots.insert(getTensorRoot(operand));
  Operation *place = reader;
  for (Operation *op = reader->getPrevNode();
       op && (isa<ReshapeOp>(op) || backward.contains(op)) &&
       !llvm::is_contained(op->getUsers(), reader.getOperation());
       op = op->getPrevNode())
    if (auto other = dyn_cast<FusedOp>(op))
      if (llvm::any_of(other.getInputs(), [&](Value operand) {
            return roots.contains(getTensorRoot(operand));
          }))
        place = op;
  if (place != reader)
    reader->moveBefore(place);
}

void Encoding::encode(const KeptEncoder &encoder, const KeptValue &kept,
                      size_t entry) {
  RankedTensorType type = kept.getType();
  SmallVector<Value> encoded = encodeIn(encoder, kept);
  // The value's producer may be another op by now.
  auto value = cast<OpResult>(entries[entry].value);
  moveOffload(value, encoded);
  auto decodesItself = [&](OpOperand *read) {
    return encoder.isElementwise() &&
           mayDecode(cast<FusedOp>(read->getOwner()));
  };
  bool isAlone = llvm::count_if(kept.backward, [&](OpOperand *read) {
                   return !decodesItself(read);
                 }) == 1;
  Value decoded;
  for (OpOperand *read : kept.backward) {
    auto reader = cast<FusedOp>(read->getOwner());
    if (decodesItself(read)) {
      decodeIn(encoder, *read, encoded.front());
      continue;
    }
    if (isAlone)
      moveUp(reader, value);
    if (!decoded)
      decoded = decodeBefore(encoder, reader, encoded, type);
    OpBuilder builder(reader);
    read->set(reshape(builder, reader.getLoc(), decoded, shapeOf(read->get())));
  }
  unsigned origin = entries[entry].origin;
  entries[entry].value = getTensorRoot(encoded.front());
  for (Value more : ArrayRef(encoded).drop_front())
    entries.push_back({origin, getTensorRoot(more)});
}

//===----------------------------------------------------------------------===//
// All encoders
//===----------------------------------------------------------------------===//

static KeptEncoders makeEncoders(const EncodingChoice &choice) {
  std::string error;
  KeptEncoders encoders = *parseEncodings(choice.encodings, error);
  // Last: the values sent are then those kept.
  if (!choice.partition.empty())
    encoders.push_back(createPartitionEncoder(choice.partition));
  return encoders;
}

std::vector<EncodingChoice> listParts(const EncodingChoice &whole) {
  SmallVector<StringRef> words = splitEncodings(whole.encodings);
  const size_t count = words.size() + !whole.partition.empty();
  std::vector<std::vector<EncodingChoice>> bySize(count + 1);
  for (unsigned subset = 1; subset < 1u << count; ++subset) {
    SmallVector<StringRef> chosen;
    for (auto [bit, word] : llvm::enumerate(words))
      if (subset >> bit & 1)
        chosen.push_back(word);
    EncodingChoice part;
    if (!chosen.empty())
      part.encodings = llvm::join(chosen, ",");
    if (subset >> words.size() & 1)
      part.partition = whole.partition;
    bySize[llvm::popcount(subset)].push_back(std::move(part));
  }
  std::vector<EncodingChoice> parts;
  for (std::vector<EncodingChoice> &each : bySize)
    llvm::move(each, std::back_inserter(parts));
  return parts;
}

llvm::BitVector findEncodable(func::FuncOp program,
                              const EncodingChoice &choice) {
  Encoding encoding(program);
  for (const auto &encoder : makeEncoders(choice))
    encoding.run(*encoder, nullptr);
  return encoding.getEncodable();
}

unsigned encodeKept(func::FuncOp program, const EncodingChoice &choice) {
  if (choice.isNone())
    return 0;
  Encoding encoding(program);
  llvm::BitVector values =
      choice.values ? *choice.values : findEncodable(program, choice);
  for (const auto &encoder : makeEncoders(choice))
    encoding.run(*encoder, &values);
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(program.getBody().front())))
    if (isa<ReshapeOp>(op) && op.use_empty())
      op.erase();
  values &= encoding.getEncodable();
  return values.count();
}

} // namespace zc
