// From the element types of data files to those of a program's inputs.
#ifndef ZC_RUNTIME_IO_CONVERT_H
#define ZC_RUNTIME_IO_CONVERT_H

#include "runtime/Plan/Npy.h"

namespace zc {

/// Converts `count` elements. Returns the index of the first value that the
/// target cannot hold, or `count`.
using Converter = int64_t (*)(const char *source, char *target, int64_t count);

/// The conversion from an array's type, or null when it is not allowed: any
/// integer becomes any integer that can hold its values, any float a float that
/// can hold all its values (float32 also bfloat16, which NumPy lacks), bool
/// alone becomes bool.
Converter findConverter(const NpyArray &array, plan::DataType target);

/// A conversion that findConverter does not have but that a user means: float64
/// becomes a narrower float; a label's integers and truth values become floats
/// or integers. Null where there is none.
Converter findMeantConverter(const NpyArray &array, plan::DataType target,
                             bool isLabel);

/// An array without elements of that type, as NumPy describes it; an item size
/// of 0: NumPy has no such type.
NpyArray describeElements(plan::DataType type);

/// One element of an integer array, for messages and range checks.
int64_t integerAt(const char *data, plan::DataType type, int64_t index);

/// Whether no element is an infinity or NaN; integers never are.
bool allFinite(plan::DataType type, std::string_view bytes);

} // namespace zc

#endif // ZC_RUNTIME_IO_CONVERT_H
