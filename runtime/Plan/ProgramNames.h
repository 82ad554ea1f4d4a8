// The programs of an artifact, by their names (dialects/Train/TrainDialect.h
// says what each computes; the compiler compares the two).
#ifndef ZC_RUNTIME_PLAN_PROGRAMNAMES_H
#define ZC_RUNTIME_PLAN_PROGRAMNAMES_H

#include <cstdint>
#include <string>

namespace zc::programs {

inline constexpr char kInit[] = "init";
/// Makes the states of kind COPY from the parameters.
inline constexpr char kCopy[] = "copy";
inline constexpr char kStep[] = "step";
inline constexpr char kMicro[] = "micro";
inline constexpr char kForward[] = "forward";
inline constexpr char kBackward[] = "backward";
inline constexpr char kWeights[] = "weight_gradients";
inline constexpr char kApply[] = "apply";
/// In place of kApply behind the manifest's freeze_step.
inline constexpr char kCompressedApply[] = "apply.compressed";
inline constexpr char kEval[] = "eval";
inline constexpr char kGather[] = "gather";

} // namespace zc::programs

namespace zc {

// More stages than any role has.
constexpr uint32_t kMostChunks = 1024;

/// A program's name in parts: "forward.1" is kForward of the role's second
/// stage.
struct ProgramName {
  std::string base;
  uint32_t chunk = 0;

  /// A name that ends with no number, or too large a one, is whole its base.
  static ProgramName parse(const std::string &name);
};

} // namespace zc

#endif // ZC_RUNTIME_PLAN_PROGRAMNAMES_H
