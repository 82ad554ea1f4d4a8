//===- Einsum.cpp - sums of products by index letters ---------------------===//
//
// Operands are taken in from the left, two at a time: letters that both have
// and that are still needed are batch dims of a matmul, letters that both have
// and nobody needs any more are what it sums over.
//
//===----------------------------------------------------------------------===//
#include "passes/Import/Lowering/LoweringRegistry.h"
#include "passes/Import/Lowering/NodeContext.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace zc;

namespace {

/// Dims that '...' stands for get letters of their own, outside of ASCII; the
/// last one is the same in all operands.
constexpr char kLastHidden = static_cast<char>(0xff);

using Letters = std::string;

struct Term {
  Value value;
  Letters letters;
};

bool has(const Letters &letters, char letter) {
  return letters.find(letter) != Letters::npos;
}

/// The letters of `letters` for which `keep` holds, in order.
Letters filter(const Letters &letters, llvm::function_ref<bool(char)> keep) {
  Letters result;
  llvm::copy_if(letters, std::back_inserter(result), keep);
  return result;
}

class Einsum {
public:
  explicit Einsum(NodeContext &context)
      : context(context), build(context.build) {}

  LogicalResult run() {
    if (failed(parse()))
      return failure();
    Term sum = terms.front();
    for (size_t next = 1; next < terms.size(); ++next)
      sum = product(sum, terms[next], next + 1);
    sum = sumOver(sum, filter(sum.letters, [&](char letter) {
                    return !has(output, letter);
                  }));
    return context.set(inOrder(sum, output));
  }

private:
  LogicalResult parse();
  FailureOr<Letters> spell(StringRef text, int64_t rank);
  LogicalResult addTerm(StringRef text, Value value);
  LogicalResult readOutput(StringRef text);
  void guessOutput();

  int64_t size(char letter) { return sizes.lookup(letter); }
  Term diagonal(Term term);
  Term withoutRepeated(const Term &term);
  Term sumOver(const Term &term, const Letters &letters);
  Term product(Term a, Term b, size_t firstLater);
  Value inOrder(const Term &term, const Letters &letters);
  SmallVector<int64_t> shape(const Letters &letters);

  NodeContext &context;
  TensorBuilder &build;
  SmallVector<Term> terms;
  Letters output;
  // By letters as integers: a map of char has no key for the last two.
  llvm::DenseMap<int, int64_t> sizes;
  int64_t hiddenDims = 0;
};

// `rank` is that of the operand; -1 for the output, which has all hidden dims.
FailureOr<Letters> Einsum::spell(StringRef text, int64_t rank) {
  auto [before, after] = text.split("...");
  bool dots = text.contains("...");
  int64_t written = before.size() + after.size();
  int64_t hidden = rank < 0 ? hiddenDims : rank - written;
  if (!llvm::all_of(before, llvm::isAlpha) ||
      !llvm::all_of(after, llvm::isAlpha) || hidden < 0 ||
      (rank >= 0 && hidden > 0 && !dots)) {
    context.emitError() << "cannot read '" << text << "' of the equation '"
                        << context.node.getString("equation", "") << "'"
                        << (rank < 0 ? ""
                                     : " for an operand of " +
                                           std::to_string(rank) + " dims");
    return failure();
  }
  Letters letters = before.str();
  for (int64_t dim = hidden; dots && dim > 0; --dim)
    letters.push_back(static_cast<char>(kLastHidden - (dim - 1)));
  if (rank >= 0)
    hiddenDims = std::max(hiddenDims, hidden);
  return letters + after.str();
}

LogicalResult Einsum::addTerm(StringRef text, Value value) {
  FailureOr<Letters> letters = spell(text, rankOf(value));
  if (failed(letters))
    return failure();
  for (auto [letter, size] : llvm::zip(*letters, shapeOf(value))) {
    int64_t &known = sizes.try_emplace(letter, size).first->second;
    if (known != size && known != 1 && size != 1)
      return context.emitError() << "the dims of one letter of the equation '"
                                 << context.node.getString("equation", "")
                                 << "' have sizes " << known << " and " << size;
    known = std::max(known, size);
  }
  terms.push_back({value, *letters});
  return success();
}

// Without "->": the letters that occur once, in alphabetical order.
void Einsum::guessOutput() {
  std::map<char, int> counts;
  for (const Term &term : terms)
    for (char letter : term.letters)
      ++counts[letter];
  for (int64_t dim = hiddenDims; dim > 0; --dim)
    output.push_back(static_cast<char>(kLastHidden - (dim - 1)));
  for (auto [letter, count] : counts)
    if (count == 1 && !has(output, letter))
      output.push_back(letter);
}

LogicalResult Einsum::readOutput(StringRef text) {
  FailureOr<Letters> letters = spell(text, -1);
  if (failed(letters))
    return failure();
  output = *letters;
  for (char letter : output)
    if (!sizes.count(letter) || llvm::count(output, letter) > 1)
      return context.emitError()
             << "expected the output '" << text
             << "' of the equation to name letters of the operands, each once";
  return success();
}

LogicalResult Einsum::parse() {
  std::string equation = context.node.getString("equation", "").str();
  llvm::erase(equation, ' ');
  auto [left, right] = StringRef(equation).split("->");
  SmallVector<StringRef> texts;
  left.split(texts, ',');
  if (texts.size() != context.getNumOperands())
    return context.emitError()
           << "the equation '" << equation << "' is of " << texts.size()
           << " operands, found " << context.getNumOperands();
  for (auto [index, text] : llvm::enumerate(texts))
    if (failed(context.requireFloat(index)) ||
        failed(addTerm(text, context.operand(index))))
      return failure();
  if (StringRef(equation).contains("->")) {
    if (failed(readOutput(right)))
      return failure();
  } else {
    guessOutput();
  }
  for (Term &term : terms)
    term = diagonal(withoutRepeated(term));
  return success();
}

SmallVector<int64_t> Einsum::shape(const Letters &letters) {
  SmallVector<int64_t> result;
  for (char letter : letters)
    result.push_back(size(letter));
  return result;
}

/// Without the dims of size 1 that stand for more elements.
Term Einsum::withoutRepeated(const Term &term) {
  Term result{term.value, ""};
  SmallVector<int64_t> kept;
  for (auto [letter, length] : llvm::zip(term.letters, shapeOf(term.value))) {
    if (length != size(letter))
      continue;
    result.letters.push_back(letter);
    kept.push_back(length);
  }
  result.value = build.reshape(term.value, kept);
  return result;
}

/// Where a letter stands twice, only elements with equal indices count.
Term Einsum::diagonal(Term term) {
  for (size_t second = 1; second < term.letters.size(); ++second) {
    size_t first = term.letters.find(term.letters[second]);
    if (first == second)
      continue;
    Type integer = build.builder.getI64Type();
    ArrayRef<int64_t> dims = shapeOf(term.value);
    Value equal = build.compare(Predicate::Eq, build.iota(dims, first, integer),
                                build.iota(dims, second, integer));
    Value kept =
        build.select(equal, term.value, build.splatLike(term.value, 0));
    term.value =
        build.reduce(ReduceKind::Sum, kept, static_cast<int64_t>(second));
    term.letters.erase(second--, 1);
  }
  return term;
}

Term Einsum::sumOver(const Term &term, const Letters &letters) {
  if (letters.empty())
    return term;
  SmallVector<int64_t> dims;
  for (char letter : letters)
    dims.push_back(static_cast<int64_t>(term.letters.find(letter)));
  llvm::sort(dims);
  return {build.reduce(ReduceKind::Sum, term.value, dims),
          filter(term.letters, [&](char l) { return !has(letters, l); })};
}

/// The term's dims in the order of `letters`.
Value Einsum::inOrder(const Term &term, const Letters &letters) {
  SmallVector<int64_t> permutation;
  for (char letter : letters)
    permutation.push_back(static_cast<int64_t>(term.letters.find(letter)));
  if (llvm::is_sorted(permutation))
    return term.value;
  return build.transpose(term.value, permutation);
}

Term Einsum::product(Term a, Term b, size_t firstLater) {
  auto isNeeded = [&](char letter) {
    return has(output, letter) ||
           llvm::any_of(ArrayRef(terms).drop_front(firstLater),
                        [&](const Term &t) { return has(t.letters, letter); });
  };
  auto own = [&](const Term &term, const Term &other, bool needed) {
    return filter(term.letters, [&](char letter) {
      return !has(other.letters, letter) && isNeeded(letter) == needed;
    });
  };
  a = sumOver(a, own(a, b, false));
  b = sumOver(b, own(b, a, false));
  Letters freeA = own(a, b, true), freeB = own(b, a, true);
  Letters batch, summed;
  for (char letter : a.letters)
    if (has(b.letters, letter))
      (isNeeded(letter) ? batch : summed).push_back(letter);
  Letters letters = batch + freeA + freeB;
  auto count = [&](const Letters &of) {
    return ShapedType::getNumElements(shape(of));
  };
  if (summed.empty()) {
    auto spread = [&](const Term &term, const Letters &free, size_t first) {
      SmallVector<int64_t> dims;
      for (size_t dim = 0; dim < batch.size(); ++dim)
        dims.push_back(dim);
      for (size_t dim = 0; dim < free.size(); ++dim)
        dims.push_back(first + dim);
      return build.broadcast(inOrder(term, batch + free), shape(letters), dims);
    };
    return {build.mul(spread(a, freeA, batch.size()),
                      spread(b, freeB, batch.size() + freeA.size())),
            letters};
  }
  SmallVector<int64_t> left, right;
  if (!batch.empty())
    left = right = {count(batch)};
  left.append({count(freeA), count(summed)});
  right.append({count(summed), count(freeB)});
  Value product =
      build.matmul(build.reshape(inOrder(a, batch + freeA + summed), left),
                   build.reshape(inOrder(b, batch + summed + freeB), right));
  return {build.reshape(product, shape(letters)), letters};
}

} // namespace

static LogicalResult lowerEinsum(NodeContext &context) {
  return Einsum(context).run();
}

void zc::registerEinsum(LoweringRegistry &registry) {
  registry.add("Einsum", 12, 28, lowerEinsum);
}
