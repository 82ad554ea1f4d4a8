// The axes of a mesh that an artifact may have, by their names
// (dialects/Dist/Axes.h says what each divides; the compiler compares the two).
#ifndef ZC_RUNTIME_PLAN_AXES_H
#define ZC_RUNTIME_PLAN_AXES_H

namespace zc::axes {

inline constexpr char kRole[] = "pp";
inline constexpr char kSample[] = "dp";
/// The two that `dp` is where groups of its ranks divide ZeRO's units.
inline constexpr char kOuterSample[] = "dp_outer";
inline constexpr char kInnerSample[] = "dp_inner";
inline constexpr char kExpert[] = "ep";
inline constexpr char kToken[] = "sp";
inline constexpr char kTensor[] = "tp";

} // namespace zc::axes

#endif // ZC_RUNTIME_PLAN_AXES_H
