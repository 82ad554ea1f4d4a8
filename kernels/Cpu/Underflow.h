// Results below the smallest normal number, 2^-126 in float32, are zeros. Some
// processors take a hundred cycles and more for an instruction that makes or
// reads a smaller one: a model that has learnt its batch by heart, whose
// gradients vanish, then trained at a quarter of its rate on Intel's.
#ifndef ZC_KERNELS_CPU_UNDERFLOW_H
#define ZC_KERNELS_CPU_UNDERFLOW_H

#include <cstdint>

namespace zc::kernels {

/// Makes them zeros for a scope, on the calling thread. Smaller operands, which
/// may come from files alone, are read as they are: a logarithm has its value.
class FlushedUnderflow {
public:
  FlushedUnderflow() : before(mode()) { setMode(before | kFlush); }
  ~FlushedUnderflow() { setMode(before); }
  FlushedUnderflow(const FlushedUnderflow &) = delete;

private:
#if defined(__x86_64__)
  using Mode = uint32_t;
  static constexpr Mode kFlush = 1u << 15; // FTZ of MXCSR
  static Mode mode() { return __builtin_ia32_stmxcsr(); }
  static void setMode(Mode value) { __builtin_ia32_ldmxcsr(value); }
#elif defined(__aarch64__)
  using Mode = uint64_t;
  static constexpr Mode kFlush = 1u << 24; // FZ of FPCR: operands, too
  static Mode mode() {
    Mode value;
    __asm__ volatile("mrs %0, fpcr" : "=r"(value));
    return value;
  }
  static void setMode(Mode value) {
    __asm__ volatile("msr fpcr, %0" : : "r"(value));
  }
#else
  using Mode = uint32_t;
  static constexpr Mode kFlush = 0;
  static Mode mode() { return 0; }
  static void setMode(Mode) {}
#endif

  Mode before;
};

} // namespace zc::kernels

#endif // ZC_KERNELS_CPU_UNDERFLOW_H
