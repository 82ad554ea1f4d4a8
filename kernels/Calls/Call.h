// A library call in plain values: an op of dialect train with its attributes
// and the tensors that it reads and writes, as the compiler knows it and as
// plans hold it. Each kind of call has a room in this folder, which says when a
// call of the kind is sound and which kernel it asks for. All rooms have the
// same static members; `Pooling.h` documents them. Links nothing.
#ifndef ZC_KERNELS_CALLS_CALL_H
#define ZC_KERNELS_CALLS_CALL_H

#include "kernels/Spec.h"

#include <array>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace zc::kernels {

/// Where a tensor lies: equal for tensors that begin at the same byte.
using CallPlace = std::array<uint64_t, 3>;

/// A dense row-major tensor.
struct CallTensor {
  ElementType type = ElementType::F32;
  std::vector<int64_t> dims; // each at least 1
  CallPlace place = {};

  int64_t numElements() const;
};

/// An attribute of an op: a list of integers, a number, a text, or, with none
/// of them, a mark. One inside of a dictionary is called "dictionary.name".
struct CallAttribute {
  std::string name;
  std::vector<int64_t> integers;
  double number = 0;
  std::string text;
};

struct LibraryCall {
  std::string op; // without its dialect: "conv_input_grad"
  std::vector<CallTensor> inputs, outputs;
  std::vector<CallAttribute> attributes;
  bool hasWorkspace = false;

  /// Null if the call does not have it.
  const CallAttribute *find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// Empty, 0 or "" if the call does not have it.
  std::vector<int64_t> integers(std::string_view name) const;
  double number(std::string_view name) const;
  std::string text(std::string_view name) const;
};

/// Where the tensors of a call lie.
struct CallAddresses {
  std::vector<void *> inputs, outputs;
  void *workspace = nullptr;
  uint64_t workspaceBytes = 0;
};

/// A share of its peak that a simulated machine reaches, by its key among the
/// efficiencies of a cluster file.
struct CallRate {
  std::string_view name;
  /// The share that counts where a file does not have this one; empty: 1.
  std::string_view otherwise = {};
};

/// c [m, n] = a [m, k] b [k, n], `batch` times.
struct CallProduct {
  int64_t m = 1, n = 1, k = 1;
  int64_t batch = 1;
  /// In memory an operand's columns follow one another, not its rows.
  bool transposesA = false, transposesB = false;
};

/// How a simulated machine computes a call: as generated kernels, or by its
/// matrix units at a share of their peak.
struct CallWork {
  std::string_view rate = {};          // one of kRates, or "matmul", or empty
  ElementType type = ElementType::F32; // of the factors
  std::optional<CallProduct> product;  // if the rate depends on its form
  /// Of other calls the sizes that the rate depends on, but for how many equal
  /// parts there are: an attention's queries, keys, width, and 2 if causal.
  std::vector<int64_t> form = {};
};

/// Members that most rooms have alike.
struct CallRoom {
  /// The name for `--libraries` of a call that stands for several ops, on CPUs
  /// and GPUs, where there is one. Calls of one op are named where the device's
  /// patterns are (passes/Target).
  static constexpr const char *kCpuLibrary = "";
  static constexpr const char *kCudaLibrary = "";
  static constexpr std::array<std::string_view, 0> kImplied = {};
  static constexpr std::array<CallRate, 0> kRates = {};
  static CallWork workOf(const LibraryCall &) { return {}; }
  template <typename Spec> static uint64_t cpuWorkspace(const Spec &, int) {
    return 0;
  }
  template <typename Spec> static uint64_t cudaWorkspace(const Spec &) {
    return 0;
  }
};

/// The most that a dim, a stride or a pad may be.
constexpr int64_t kMostOfDim = int64_t(1) << 40;

/// float32, bfloat16 or float16: what libraries multiply.
bool isMatrixType(ElementType type);

/// "float32".
const char *nameOfType(ElementType type);
/// "[4, 8]".
std::string printDims(const std::vector<int64_t> &dims);
/// "float32 [4, 8]".
std::string print(const CallTensor &tensor);

/// "its operands have different or unsuitable types" unless all have one type,
/// which libraries multiply; else empty.
std::string checkTypes(std::initializer_list<ElementType> types);

/// "it has 2 inputs and 1 outputs; expected 3 and 1", or empty.
std::string checkCounts(const LibraryCall &call, size_t inputs, size_t outputs);

/// A tensor seen with its dims in another order: dim i is `order[i]` in memory.
StridedTensor permuted(const CallTensor &tensor,
                       const std::vector<int64_t> &order);
StridedTensor asItIs(const CallTensor &tensor);
/// An image in the order N, C, spatial, whatever the order in memory.
StridedTensor asImage(const CallTensor &tensor, bool channelsLast);

} // namespace zc::kernels

#endif // ZC_KERNELS_CALLS_CALL_H
