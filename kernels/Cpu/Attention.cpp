// Attention over all heads: one task per batch entry and head, on the one team.
#include "kernels/Cpu/AttentionHead.h"
#include "kernels/Cpu/InstructionSet.h"
#include "kernels/Cpu/Parallel.h"
#include "kernels/Cpu/Primitive.h"
#include "kernels/Cpu/WorkHint.h"

#include <algorithm>
#include <cstring>

namespace zc::kernels {
namespace {

template <typename Element>
using HeadFunction = void (*)(const AttentionHeadOf<Element> &);

template <typename Element> struct HeadFunctions {
  HeadFunction<Element> forward, backward;
  std::string name;
};

//===----------------------------------------------------------------------===//
// bfloat16 without tile registers: in float32
//===----------------------------------------------------------------------===//

float widen(uint16_t value) {
  uint32_t bits = uint32_t(value) << 16;
  float wide;
  std::memcpy(&wide, &bits, sizeof(wide));
  return wide;
}

/// The nearest number, of two the even one; NaN stays NaN.
uint16_t narrow(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  if (value != value)
    return 0x7fc0;
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// A head as one of float32, whose rows lie in its scratch memory.
class WidenedHead {
public:
  explicit WidenedHead(const NarrowAttentionHead &head)
      : head(head), next(head.scratch) {
    wide.queries = head.queries;
    wide.keys = head.keys;
    wide.width = head.width;
    wide.scale = head.scale;
    wide.causal = head.causal;
    wide.q = widened(head.q, head.queries);
    wide.k = widened(head.k, head.keys);
    wide.v = widened(head.v, head.keys);
    wide.logSumExp = head.logSumExp;
    wide.lastKeys = head.lastKeys;
  }

  void forward(AttentionFunction run) {
    wide.out = take(head.queries);
    finish(run);
    write(wide.out, head.queries, head.out);
  }

  void backward(AttentionFunction run) {
    wide.out = widened(head.out, head.queries);
    wide.outGrad = widened(head.outGrad, head.queries);
    auto takeFor = [&](const HeadRowsOf<uint16_t> &rows, int64_t count) {
      return rows.data ? take(count) : HeadRows{nullptr, 0};
    };
    wide.qGrad = takeFor(head.qGrad, head.queries);
    wide.kGrad = takeFor(head.kGrad, head.keys);
    wide.vGrad = takeFor(head.vGrad, head.keys);
    finish(run);
    write(wide.qGrad, head.queries, head.qGrad);
    write(wide.kGrad, head.keys, head.kGrad);
    write(wide.vGrad, head.keys, head.vGrad);
  }

private:
  HeadRows take(int64_t rows, int64_t width) {
    HeadRows taken = {next, width};
    next += rows * width;
    return taken;
  }
  HeadRows take(int64_t rows) { return take(rows, head.width); }

  HeadRows widened(const HeadRowsOf<uint16_t> &from, int64_t rows) {
    return widened(from, rows, head.width);
  }
  HeadRows widened(const HeadRowsOf<uint16_t> &from, int64_t rows,
                   int64_t width) {
    HeadRows to = take(rows, width);
    for (int64_t r = 0; r < rows; ++r)
      std::transform(from.data + r * from.stride,
                     from.data + r * from.stride + width,
                     to.data + r * to.stride, widen);
    return to;
  }

  void finish(AttentionFunction run) {
    if (head.mask.data)
      wide.mask = widened(head.mask, head.queries, head.keys);
    wide.scratch = head.scratch + (next - head.scratch + 15) / 16 * 16;
    run(wide);
  }

  void write(const HeadRows &from, int64_t rows,
             const HeadRowsOf<uint16_t> &to) const {
    if (!to.data)
      return;
    for (int64_t r = 0; r < rows; ++r)
      std::transform(from.data + r * from.stride,
                     from.data + r * from.stride + head.width,
                     to.data + r * to.stride, narrow);
  }

  const NarrowAttentionHead &head;
  float *next;
  AttentionHead wide = {};
};

AttentionFunctions wideFunctions() {
  return ZC_OF_INSTRUCTION_SET(widestInstructionSet(), attentionFunctions());
}

HeadFunctions<float> functionsFor(float) {
  AttentionFunctions functions = wideFunctions();
  return {functions.forward, functions.backward,
          nameOf(widestInstructionSet())};
}

HeadFunctions<uint16_t> functionsFor(uint16_t) {
#if defined(__x86_64__)
  if (hasAmx())
    return {amx::attentionForward, amx::attentionBackward, "amx"};
#endif
  return {[](const NarrowAttentionHead &head) {
            WidenedHead(head).forward(wideFunctions().forward);
          },
          [](const NarrowAttentionHead &head) {
            WidenedHead(head).backward(wideFunctions().backward);
          },
          nameOf(widestInstructionSet())};
}

//===----------------------------------------------------------------------===//
// All heads
//===----------------------------------------------------------------------===//

template <typename Element> class Attention final : public Primitive {
public:
  Attention(const AttentionSpec &spec, uint64_t perThread, int threads)
      : spec(spec), functions(functionsFor(Element())), perThread(perThread),
        threads(threads) {}

  bool execute(void *const *pointers, void *workspace,
               std::string *) noexcept override {
    // One work item a thread, so that each has scratch memory of its own.
    parallelForEach(threads, threads, [&](int64_t item) {
      runShare(pointers, static_cast<char *>(workspace), item);
    });
    return true;
  }

  std::string implementation() const override {
    return "blocked:" + functions.name;
  }
  uint64_t workspaceBytes() const override { return threads * perThread; }

private:
  /// The heads of one thread.
  void runShare(void *const *pointers, char *workspace, int64_t item) const {
    int64_t tasks = spec.batch * spec.heads;
    char *scratch = workspace + item * perThread;
    auto run = spec.backward ? functions.backward : functions.forward;
    for (int64_t task = tasks * item / threads;
         task < tasks * (item + 1) / threads; ++task)
      run(makeHead(pointers, task, reinterpret_cast<float *>(scratch)));
  }

  AttentionHeadOf<Element> makeHead(void *const *pointers, int64_t task,
                                    float *scratch) const {
    int64_t row = spec.heads * spec.width;
    auto part = [&](int index, int64_t tokens) {
      auto *data = static_cast<Element *>(pointers[index]);
      int64_t at =
          task / spec.heads * tokens * row + task % spec.heads * spec.width;
      return HeadRowsOf<Element>{data ? data + at : nullptr, row};
    };
    AttentionHeadOf<Element> head = {
        spec.queries,
        spec.keys,
        spec.width,
        static_cast<float>(spec.scale),
        spec.causal,
        part(0, spec.queries),
        part(1, spec.keys),
        part(2, spec.keys),
        part(3, spec.queries),
        static_cast<float *>(pointers[4]),
        {},
        {},
        {},
        {},
        scratch,
        mask(pointers[9], task),
        spec.bounded ? static_cast<const int64_t *>(pointers[9]) : nullptr};
    if (head.logSumExp)
      head.logSumExp += task * spec.queries;
    if (spec.backward) {
      head.outGrad = part(5, spec.queries);
      head.qGrad = part(6, spec.queries);
      head.kGrad = part(7, spec.keys);
      head.vGrad = part(8, spec.keys);
    }
    return head;
  }

  HeadRowsOf<Element> mask(void *pointer, int64_t task) const {
    if (!spec.masked)
      return {};
    return {static_cast<Element *>(pointer) +
                task / spec.heads * spec.maskStrides[0] +
                task % spec.heads * spec.maskStrides[1],
            spec.maskStrides[2]};
  }

  AttentionSpec spec;
  HeadFunctions<Element> functions;
  uint64_t perThread;
  int threads;
};

} // namespace

std::unique_ptr<Primitive> createPrimitive(const AttentionSpec &spec,
                                           uint64_t workspaceBytes,
                                           std::string *error, Way) noexcept {
  uint64_t perThread = AttentionCall::cpuWorkspace(spec, 1);
  int64_t threads =
      std::min<int64_t>({teamSize(), spec.batch * spec.heads,
                         static_cast<int64_t>(workspaceBytes / perThread)});
  if (threads < 1) {
    *error = "attention needs " + std::to_string(perThread) +
             " bytes of scratch memory, but " + std::to_string(workspaceBytes) +
             " were planned for it";
    return nullptr;
  }
  int team = static_cast<int>(threads);
  if (spec.type == ElementType::BF16)
    return std::make_unique<Attention<uint16_t>>(spec, perThread, team);
  return std::make_unique<Attention<float>>(spec, perThread, team);
}

WorkHint hintOf(const AttentionSpec &spec, const Primitive &) {
  // Short rows are padded, and their exponentials take longer than products.
  constexpr double kHeadSeconds = 3e-7, kPowersPerSecond = 5e8;
  const double products = spec.backward ? 5 : 2;
  const auto queries = double(spec.queries),
             keys = double(attentionRoundUp(spec.keys, 16)),
             width = double(attentionRoundUp(spec.width, 16));
  const double scores = (spec.causal || spec.bounded ? 0.5 : 1.0) * queries *
                        std::max(32.0, keys);
  return {double(spec.batch * spec.heads) *
              (kHeadSeconds + scores / kPowersPerSecond +
               secondsOfProducts(2 * products * scores * width)),
          false, false};
}

/// q, k, v, result, logs of sums; then, backward, the result's gradient and
/// those of q, k, v.
std::vector<void *> operandsOf(const AttentionLaunch &launch) {
  return launch.buffers;
}

} // namespace zc::kernels
