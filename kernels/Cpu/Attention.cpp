// Attention over all heads: one task per batch entry and head, on the one team.
#include "kernels/Cpu/AttentionHead.h"
#include "kernels/Cpu/InstructionSet.h"
#include "kernels/Cpu/Parallel.h"
#include "kernels/Cpu/Primitive.h"
#include "kernels/Cpu/Workspace.h"

#include <algorithm>

namespace zc::kernels {
namespace {

class Attention final : public Primitive {
public:
  Attention(const AttentionSpec &spec, uint64_t perThread, int threads)
      : spec(spec), set(widestInstructionSet()),
        functions(ZC_OF_INSTRUCTION_SET(set, attentionFunctions())),
        perThread(perThread), threads(threads) {}

  bool execute(void *const *pointers, void *workspace,
               std::string *) noexcept override {
    struct Call {
      const Attention *kernel;
      void *const *pointers;
      char *workspace;
    } call{this, pointers, static_cast<char *>(workspace)};
    void *argument = &call;
    // One work item a thread, so that each has scratch memory of its own.
    parallelFor(
        threads, threads,
        [](void *const *arguments, int64_t begin, int64_t end) {
          auto *call = static_cast<const Call *>(arguments[0]);
          for (int64_t item = begin; item < end; ++item)
            call->kernel->runShare(call->pointers, call->workspace, item);
        },
        &argument);
    return true;
  }

  std::string implementation() const override {
    return std::string("blocked:") + nameOf(set);
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

  AttentionHead makeHead(void *const *pointers, int64_t task,
                         float *scratch) const {
    int64_t row = spec.heads * spec.width;
    auto part = [&](int index, int64_t tokens) {
      auto *data = static_cast<float *>(pointers[index]);
      int64_t at =
          task / spec.heads * tokens * row + task % spec.heads * spec.width;
      return HeadRows{data ? data + at : nullptr, row};
    };
    AttentionHead head = {
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

  HeadRows mask(void *pointer, int64_t task) const {
    if (!spec.masked)
      return {};
    return {static_cast<float *>(pointer) +
                task / spec.heads * spec.maskStrides[0] +
                task % spec.heads * spec.maskStrides[1],
            spec.maskStrides[2]};
  }

  AttentionSpec spec;
  InstructionSet set;
  AttentionFunctions functions;
  uint64_t perThread;
  int threads;
};

} // namespace

std::unique_ptr<Primitive> createAttention(const AttentionSpec &spec,
                                           uint64_t workspaceBytes,
                                           std::string *error) noexcept {
  uint64_t perThread = attentionWorkspaceBound(spec, 1);
  int64_t threads =
      std::min<int64_t>({teamSize(), spec.batch * spec.heads,
                         static_cast<int64_t>(workspaceBytes / perThread)});
  if (threads < 1) {
    *error = "attention needs " + std::to_string(perThread) +
             " bytes of scratch memory, but " + std::to_string(workspaceBytes) +
             " were planned for it";
    return nullptr;
  }
  return std::make_unique<Attention>(spec, perThread,
                                     static_cast<int>(threads));
}

} // namespace zc::kernels
