//===- InspectPictures.h - who has what, and when ---------------*- C++ -*-===//
#ifndef ZC_COMPILER_EXPORT_INSPECTPICTURES_H
#define ZC_COMPILER_EXPORT_INSPECTPICTURES_H

#include "compiler/Export/Inspect.h"

#include <map>

namespace zc {

/// How many copies there are of what is trained: the bytes that all ranks hold
/// together over those of whole tensors. Gradients count with the most at once,
/// which may be less than one copy where they are freed one after another.
struct ResidentCopies {
  double parameters = 0, gradients = 0, optimizer = 0;
};

/// Data parallelism of n ranks has n of each; ZeRO has one of the optimizer's
/// states, then of gradients, then of parameters.
ResidentCopies countCopies(const plan::Manifest &manifest);

namespace html {

/// Bytes by class at the peak, as one bar; with what is unused they are it.
std::string drawPeak(const MemoryReport &report);

/// How often ranks hold what they train; tensors as rectangles that ranks cut,
/// in a color for each part; what a rank sends; the order of a pipeline.
/// Nothing of one rank.
std::string drawRanks(const plan::Manifest &manifest);

} // namespace html
} // namespace zc

#endif // ZC_COMPILER_EXPORT_INSPECTPICTURES_H
