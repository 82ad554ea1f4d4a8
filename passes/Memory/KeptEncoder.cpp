//===- KeptEncoder.cpp - which encodings there are ------------------------===//
#include "passes/Memory/KeptEncoder.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
namespace {

/// One word of the list, perhaps with a parameter: NAME or NAME=PARAMETER.
struct EncodingKind {
  StringRef name, parameter; // the latter for people
  bool rounds;
  /// None where the parameter, empty if none is given, is not understood.
  KeptEncoders (*create)(StringRef parameter);
};

template <std::unique_ptr<KeptEncoder> (*...create)()>
KeptEncoders withoutParameter(StringRef parameter) {
  KeptEncoders encoders;
  if (parameter.empty())
    (encoders.push_back(create()), ...);
  return encoders;
}

KeptEncoders createSparse(StringRef parameter) {
  double density = kSparseDensity;
  bool isWrong = !parameter.empty() && parameter.getAsDouble(density);
  KeptEncoders encoders;
  if (!isWrong && density > 0 && density < 1)
    encoders.push_back(createSparseEncoder(density));
  return encoders;
}

// In the order in which they are tried: exact ones first, then the fewest bits;
// a value is rounded once, as no encoder takes what another has rounded.
constexpr EncodingKind kKinds[] = {
    {"bits", "", false, withoutParameter<createSignEncoder, createBitEncoder>},
    {"sparse", "[=DENSITY]", false, createSparse},
    {"fp8", "", true, withoutParameter<createFloat8Encoder>},
    {"bf16", "", true, withoutParameter<createBfloat16Encoder>},
    {"fp16", "", true, withoutParameter<createFloat16Encoder>},
};

std::string listKinds() {
  std::string names = "none";
  for (const EncodingKind &kind : kKinds)
    names += (", " + kind.name + kind.parameter).str();
  return names;
}

StringRef nameOf(StringRef word) { return word.split('=').first; }

bool isRounding(StringRef word) {
  return llvm::any_of(kKinds, [&](const EncodingKind &kind) {
    return kind.rounds && kind.name == nameOf(word);
  });
}

} // namespace

SmallVector<StringRef> splitEncodings(StringRef list) {
  SmallVector<StringRef> words;
  if (list != "none")
    list.split(words, ',');
  return words;
}

std::optional<KeptEncoders> parseEncodings(StringRef list, std::string &error) {
  SmallVector<StringRef> words = splitEncodings(list);
  const bool hasTwoOf16 =
      llvm::is_contained(words, "bf16") && llvm::is_contained(words, "fp16");
  KeptEncoders encoders;
  for (const EncodingKind &kind : kKinds) {
    auto *word = llvm::find_if(
        words, [&](StringRef each) { return nameOf(each) == kind.name; });
    if (word == words.end())
      continue;
    KeptEncoders made = kind.create(word->split('=').second);
    if (made.empty() || word->back() == '=')
      continue;
    llvm::move(made, std::back_inserter(encoders));
    words.erase(word);
  }
  if (words.empty() && !hasTwoOf16)
    return encoders;
  error = words.empty()
              ? "expected one of bf16 and fp16, found '" + list.str() + "'"
              : "expected a list, separated by commas, of " + listKinds() +
                    ", found '" + list.str() + "'";
  return std::nullopt;
}

bool roundsValues(StringRef list) {
  return llvm::any_of(splitEncodings(list), isRounding);
}

std::string withoutRounding(StringRef list) {
  SmallVector<StringRef> words = splitEncodings(list);
  llvm::erase_if(words, isRounding);
  return words.empty() ? "none" : llvm::join(words, ",");
}

ValueRange
makeRegion(OpBuilder &builder, Location loc, ValueRange inputs,
           llvm::function_ref<SmallVector<Value>(OpBuilder &, ValueRange)> body,
           StringRef library) {
  auto block = std::make_unique<Block>();
  for (Value input : inputs)
    block->addArgument(input.getType(), loc);
  OpBuilder inner(builder.getContext()); // the block is nowhere yet
  inner.setInsertionPointToEnd(block.get());
  SmallVector<Value> yielded = body(inner, block->getArguments());
  YieldOp::create(inner, loc, yielded);
  auto region =
      FusedOp::create(builder, loc, TypeRange(ValueRange(yielded)), inputs);
  if (!library.empty())
    region.setLibrary(library);
  region.getBody().push_back(block.release());
  return region.getResults();
}

} // namespace zc
