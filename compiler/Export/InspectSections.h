//===- InspectSections.h - the two forms of a report ------------*- C++ -*-===//
#ifndef ZC_COMPILER_EXPORT_INSPECTSECTIONS_H
#define ZC_COMPILER_EXPORT_INSPECTSECTIONS_H

#include "compiler/Export/Inspect.h"

namespace zc {

std::string inspectAsJson(const plan::Manifest &manifest,
                          const InspectOptions &options);
std::string inspectAsText(const plan::Manifest &manifest,
                          const InspectOptions &options);

/// A layer of experts, of the whole model and batch.
struct ExpertLayerReport {
  int64_t experts = 0, chosen = 0; // of a token
  int64_t rows = 0;                // tokens times those chosen
  int64_t parameters = 0;          // of all its experts
  int64_t flops = 0;               // of a forward, for the chosen
  double room = 1, multiplied = 1; // as multiples of the rows

  /// The share of experts that a token uses.
  double share() const { return double(chosen) / double(experts); }
  /// The tokens of an expert, if all have as many.
  double rowsPerExpert() const { return double(rows) / double(experts); }
};

/// The number of different parts of a tensor among the ranks: a part that
/// several ranks have counts once. The maximum over all tensors of a kind.
struct OwnershipReport {
  int64_t ranks = 1;
  int64_t experts = 1; // of weights that ep divides
  int64_t weights = 1; // of the others
  int64_t tokens = 1;
};

OwnershipReport describeOwnership(const plan::Manifest &manifest);

struct ExpertReport {
  std::vector<ExpertLayerReport> layers;
  int64_t parameters = 0; // of the model
  double active = 0;      // of these, for one token
  int64_t ranks = 1;      // that divide experts
};

/// Nothing where the model has no experts.
std::optional<ExpertReport> describeExperts(const plan::Manifest &manifest);
std::string printExperts(const plan::Manifest &manifest);

} // namespace zc

#endif // ZC_COMPILER_EXPORT_INSPECTSECTIONS_H
