// Library kernels behind a plain interface: no library type and no exception
// leaves this folder.
#ifndef ZC_KERNELS_CPU_PRIMITIVE_H
#define ZC_KERNELS_CPU_PRIMITIVE_H

#include "kernels/Cpu/CpuCalls.h" // written by CMake

#include <memory>
#include <string>

namespace zc::kernels {

/// A kernel for one spec, ready to run any number of times, by one caller at
/// a time.
class Primitive {
public:
  virtual ~Primitive() = default;

  /// Runs the kernel. `pointers` are the operands in the order of operandsOf()
  /// (CpuCalls.h); `workspace` is 64-byte aligned and as large
  /// as promised at creation.
  /// Returns false and says why in `error` if the library fails.
  virtual bool execute(void *const *pointers, void *workspace,
                       std::string *error) noexcept = 0;

  /// The implementation that the library chose, for people.
  virtual std::string implementation() const = 0;

  /// Whether parts may wait for one another, so that each needs a thread of its
  /// own. For convolutions the name tells (WorkHint.cpp).
  virtual bool mayMeet() const { return false; }

  /// The part of the workspace that the kernel really uses.
  virtual uint64_t workspaceBytes() const = 0;
};

} // namespace zc::kernels

#endif // ZC_KERNELS_CPU_PRIMITIVE_H
