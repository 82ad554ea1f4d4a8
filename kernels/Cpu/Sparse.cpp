// Sparse tensors: blocks in parallel. Where a block's values begin depends on
// which thread comes first; what they decode to does not.
#include "kernels/Cpu/InstructionSet.h"
#include "kernels/Cpu/Parallel.h"
#include "kernels/Cpu/Primitive.h"
#include "kernels/Cpu/SparseBlock.h"
#include "kernels/Cpu/WorkHint.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>

namespace zc::kernels {
namespace {

class Sparse final : public Primitive {
public:
  explicit Sparse(const SparseSpec &spec)
      : spec(spec), bytes(elementBytes(spec.type)), set(widestInstructionSet()),
        functions(ZC_OF_INSTRUCTION_SET(set, sparseFunctions(bytes))),
        blocks((spec.elements + kSparseBlock - 1) / kSparseBlock),
        threads(teamSize()) {}

  bool execute(void *const *pointers, void *,
               std::string *error) noexcept override {
    dense = static_cast<char *>(pointers[0]);
    bits = static_cast<uint8_t *>(pointers[1]);
    offsets = static_cast<int64_t *>(pointers[2]);
    values = static_cast<char *>(pointers[3]);
    next = 0;
    parallelForEach(blocks, threads, [this](int64_t block) {
      spec.decode ? decode(block) : encode(block);
    });
    if (spec.decode)
      return true;
    offsets[blocks] = next;
    if (next <= spec.capacity)
      return true;
    *error = explain();
    return false;
  }

  std::string implementation() const override {
    return std::string("sparse:") + nameOf(set);
  }
  uint64_t workspaceBytes() const override { return 0; }

private:
  SparseBlock at(int64_t block) const {
    int64_t begin = block * kSparseBlock;
    return {dense + begin * bytes, bits + begin / 8,
            std::min(kSparseBlock, spec.elements - begin)};
  }

  void encode(int64_t index) {
    SparseBlock block = at(index);
    int64_t count = functions.findBits(block);
    int64_t place = next.fetch_add(count, std::memory_order_relaxed);
    offsets[index] = place;
    if (place + count <= spec.capacity)
      functions.pack(block, values + place * bytes);
  }

  void decode(int64_t index) const {
    int64_t place = std::clamp<int64_t>(offsets[index], 0, spec.capacity);
    functions.unpack(at(index), values + place * bytes, spec.capacity - place);
  }

  /// A little more than was wanted, where that would still save bytes.
  std::string adviseRoom(double share) const {
    constexpr double kMostKept = 0.95; // as the compiler has it
    double wanted = std::ceil(100 * share + 5) / 100;
    if (wanted + 1.0 / static_cast<double>(8 * bytes) >= kMostKept)
      return "";
    char text[64];
    std::snprintf(text, sizeof text,
                  "with --compress-activations sparse=%.2f or ", wanted);
    return text;
  }

  /// In percent, with one digit: the share rounded up, the room down.
  std::string explain() const {
    auto percent = [&](double share, bool up) {
      double tenths = 1000 * share;
      char text[32];
      std::snprintf(text, sizeof text, "%.1f%%",
                    (up ? std::ceil(tenths) : std::floor(tenths)) / 10);
      return std::string(text);
    };
    auto elements = static_cast<double>(spec.elements);
    double share = static_cast<double>(next) / elements;
    return percent(share, true) + " of its " + std::to_string(spec.elements) +
           " elements are not zero, but there is room for " +
           percent(static_cast<double>(spec.capacity) / elements, false) +
           "; compile " + adviseRoom(share) + "without 'sparse'";
  }

  SparseSpec spec;
  int64_t bytes;
  InstructionSet set;
  SparseFunctions functions;
  int64_t blocks;
  int threads;
  // The operands of the current call, and its next block.
  char *dense = nullptr, *values = nullptr;
  uint8_t *bits = nullptr;
  int64_t *offsets = nullptr;
  std::atomic<int64_t> next{0};
};

} // namespace

/// Encoding fails where there is no room, and says how much is needed.
std::unique_ptr<Primitive> createPrimitive(const SparseSpec &spec, uint64_t,
                                           std::string *error, Way) noexcept {
  int64_t bytes = elementBytes(spec.type);
  if (bytes != 2 && bytes != 4) {
    *error = "sparse tensors have elements of 2 or 4 bytes";
    return nullptr;
  }
  return std::make_unique<Sparse>(spec);
}

WorkHint hintOf(const SparseSpec &spec, const Primitive &) {
  return {secondsOfMemory(2 * double(spec.elements * elementBytes(spec.type))),
          false, false};
}

std::vector<void *> operandsOf(const SparseLaunch &launch) {
  return {launch.dense, launch.bits, launch.offsets, launch.values};
}

} // namespace zc::kernels
