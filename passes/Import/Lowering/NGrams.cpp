//===- NGrams.cpp - TfIdfVectorizer ---------------------------------------===//
//
// Counts how often each n-gram of a vocabulary occurs in a row of integers. All
// of them are compared everywhere, so vocabularies are small.
//
//===----------------------------------------------------------------------===//
#include "passes/Import/Lowering/LoweringRegistry.h"
#include "passes/Import/Lowering/NodeContext.h"

using namespace mlir;
using namespace zc;

static constexpr size_t kMostGrams = 1024;

namespace {
struct Gram {
  ArrayRef<int64_t> words;
  int64_t column;
  double weight;
};

class GramCounter {
public:
  explicit GramCounter(NodeContext &context)
      : context(context), build(context.build) {}
  LogicalResult run();

private:
  FailureOr<SmallVector<Gram>> readGrams();
  Value matches(const Gram &gram, int64_t step);
  Value count(const Gram &gram);

  NodeContext &context;
  TensorBuilder &build;
  Value rows; // [N, length]
};
} // namespace

FailureOr<SmallVector<Gram>> GramCounter::readGrams() {
  auto &node = context.node;
  auto pool = node.getInts("pool_int64s");
  auto counts = node.getInts("ngram_counts");
  auto columns = node.getInts("ngram_indexes");
  if (!pool || !counts || !columns || columns->size() > kMostGrams) {
    context.emitError() << "expected n-grams of integers, at most "
                        << kMostGrams;
    return failure();
  }
  auto weights = node.getNodeAttributes().getAs<DenseF32ArrayAttr>("weights");
  int64_t least = node.getInt("min_gram_length", 1);
  int64_t most = node.getInt("max_gram_length", 1);
  SmallVector<Gram> grams;
  size_t number = 0;
  for (size_t length = 1; length <= counts->size(); ++length) {
    size_t begin = (*counts)[length - 1];
    size_t end = length < counts->size() ? (*counts)[length] : pool->size();
    for (size_t at = begin; at + length <= end && number < columns->size();
         at += length, ++number)
      if (int64_t(length) >= least && int64_t(length) <= most)
        grams.push_back({pool->slice(at, length), (*columns)[number],
                         weights ? weights.asArrayRef()[number] : 1.0});
  }
  return grams;
}

/// How often the words stand `step` apart, [N].
Value GramCounter::matches(const Gram &gram, int64_t step) {
  int64_t last = (static_cast<int64_t>(gram.words.size()) - 1) * step;
  int64_t starts = shapeOf(rows)[1] - last;
  if (starts < 1)
    return Value();
  Value all;
  for (auto [index, word] : llvm::enumerate(gram.words)) {
    Value at = build.slice(rows, 1, static_cast<int64_t>(index) * step, starts);
    Value equal = build.compare(Predicate::Eq, at, static_cast<double>(word));
    all = all ? train::AndOp::create(build.builder, build.loc, all.getType(),
                                     all, equal)
              : equal;
  }
  return build.reduce(ReduceKind::Sum,
                      build.convert(all, context.resultType().getElementType()),
                      1);
}

Value GramCounter::count(const Gram &gram) {
  int64_t skips =
      gram.words.size() == 1 ? 0 : context.node.getInt("max_skip_count", 0);
  Value sum;
  for (int64_t skip = 0; skip <= skips; ++skip)
    if (Value found = matches(gram, skip + 1))
      sum = sum ? build.add(sum, found) : found;
  StringRef mode = context.node.getString("mode", "TF");
  if (!sum || mode == "TF")
    return sum;
  if (mode == "IDF")
    sum = build.convert(build.compare(Predicate::Gt, sum, 0.0),
                        elementTypeOf(sum));
  return build.mul(sum, gram.weight);
}

LogicalResult GramCounter::run() {
  Value words = context.operand(0);
  if (isFloat(words) || rankOf(words) > 2 || rankOf(words) < 1)
    return context.emitError()
           << "expected one or two dims of integers, found " << words.getType();
  FailureOr<SmallVector<Gram>> grams = readGrams();
  if (failed(grams))
    return failure();
  int64_t length = shapeOf(words).back(),
          columns = context.resultShape().back();
  int64_t samples = rankOf(words) == 2 ? shapeOf(words)[0] : 1;
  rows = build.reshape(words, {samples, length});
  Value zero = build.splat(
      RankedTensorType::get({samples}, context.resultType().getElementType()),
      0);
  SmallVector<Value> results(columns, zero);
  for (const Gram &gram : *grams)
    if (Value counted = count(gram); counted && gram.column < columns)
      results[gram.column] = counted;
  for (Value &result : results)
    result = build.reshape(result, {samples, 1});
  return context.set(
      build.reshape(build.concat(results, 1), context.resultShape()));
}

static LogicalResult lowerGrams(NodeContext &context) {
  return GramCounter(context).run();
}

void zc::registerNGrams(LoweringRegistry &registry) {
  registry.add("TfIdfVectorizer", 9, 9, lowerGrams);
}
