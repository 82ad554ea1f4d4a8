// Weights in 16 bits and the float32 that they are trained as.
#ifndef ZC_RUNTIME_PLAN_FLOATBYTES_H
#define ZC_RUNTIME_PLAN_FLOATBYTES_H

#include "runtime/Plan/Types.h"

#include <string>
#include <string_view>

namespace zc {

/// Whether convertFloats knows both: float32, and floats of 16 bits.
bool canConvertFloats(plan::DataType from, plan::DataType to);

/// The elements that `bytes` holds, in another type; rounded to nearest, ties
/// to even, where that has fewer digits.
std::string convertFloats(std::string_view bytes, plan::DataType from,
                          plan::DataType to);

} // namespace zc

#endif // ZC_RUNTIME_PLAN_FLOATBYTES_H
