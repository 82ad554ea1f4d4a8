// Numbers below the smallest normal one, 2^-126 in float32, as zeros. Some
// processors take a hundred cycles and more for an instruction that reads or
// makes one: a model that has learnt its batch by heart, whose gradients
// vanish, then trains at a quarter of its rate on Intel's. Libraries' products
// and our own do without them; generated kernels keep them, for their functions
// are right to the last digits.
#ifndef ZC_KERNELS_CPU_UNDERFLOW_H
#define ZC_KERNELS_CPU_UNDERFLOW_H

#include <cstdint>

namespace zc::kernels {

/// How the calling thread rounds: a register of the processor.
using FloatMode = uint64_t;

#if defined(__x86_64__)
constexpr FloatMode kFlushUnderflow = 0x8040; // FTZ and DAZ of MXCSR
inline FloatMode floatMode() { return __builtin_ia32_stmxcsr(); }
inline void setFloatMode(FloatMode mode) {
  __builtin_ia32_ldmxcsr(static_cast<unsigned>(mode));
}
#elif defined(__aarch64__)
constexpr FloatMode kFlushUnderflow = 1u << 24; // FZ of FPCR
inline FloatMode floatMode() {
  FloatMode mode;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}
inline void setFloatMode(FloatMode mode) {
  __asm__ volatile("msr fpcr, %0" : : "r"(mode));
}
#else
constexpr FloatMode kFlushUnderflow = 0;
inline FloatMode floatMode() { return 0; }
inline void setFloatMode(FloatMode) {}
#endif

/// Such numbers are zeros for a scope, as operands and as results, on the
/// calling thread and in what it has its team do.
class FlushedUnderflow {
public:
  FlushedUnderflow() : before(floatMode()) {
    setFloatMode(before | kFlushUnderflow);
  }
  ~FlushedUnderflow() { setFloatMode(before); }
  FlushedUnderflow(const FlushedUnderflow &) = delete;

private:
  FloatMode before;
};

} // namespace zc::kernels

#endif // ZC_KERNELS_CPU_UNDERFLOW_H
