//===- InspectOverview.h - what an artifact is of ---------------*- C++ -*-===//
//
// Answers a user's first questions about an artifact: its inputs, how it was
// compiled, its trained parameters.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_COMPILER_EXPORT_INSPECTOVERVIEW_H
#define ZC_COMPILER_EXPORT_INSPECTOVERVIEW_H

#include "compiler/Export/Inspect.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace zc {

/// An input or output, of all ranks and micro-batches of a step together.
struct OverviewTensor {
  std::string name;
  plan::TensorType type;
  bool isLabel = false;
  std::string note; // which values it has, and the like
};

/// Trained parameters whose names begin alike.
struct OverviewModule {
  std::string name; // "encoder.*", or a parameter's
  uint64_t tensors = 0, elements = 0;
};

using NamedTexts = std::vector<std::pair<std::string, std::string>>;

struct Overview {
  std::vector<OverviewTensor> inputs, outputs; // labels last
  NamedTexts options, mesh;
  std::vector<OverviewModule> modules;
};

Overview describeOverview(const plan::Manifest &manifest);

/// All modules together.
OverviewModule sumOf(const std::vector<OverviewModule> &modules);

std::string printOverview(const Overview &overview);
std::string overviewAsHtml(const Overview &overview);

/// "1,234,567".
std::string withCommas(uint64_t number);

} // namespace zc

#endif // ZC_COMPILER_EXPORT_INSPECTOVERVIEW_H
