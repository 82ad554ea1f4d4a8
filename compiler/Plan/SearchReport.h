//===- SearchReport.h - layouts that were tried, the best -------*- C++ -*-===//
#ifndef ZC_COMPILER_PLAN_SEARCHREPORT_H
#define ZC_COMPILER_PLAN_SEARCHREPORT_H

#include "compiler/Plan/Layouts.h"

namespace zc {

/// A layout and its exact plan.
struct TriedLayout {
  StepLayout layout;
  LayoutEstimate estimate;
  std::string failure; // why it does not compile; empty: it does
  double seconds = 0;
  double bytes = 0;     // the peak of the largest role
  double hostBytes = 0; // of the node that needs most
  bool fits = true, fitsDevice = true;
  double bubble = 0, hfu = 0, mfu = 0;
  /// Where the time of the slowest role goes: "compute", "bubble", "dp", ...
  std::map<std::string, double> parts;
  /// Bytes by class at the largest role's peak: "activations", ...
  std::map<std::string, double> memory;
  std::vector<std::string> limits; // see findLimits()
};

struct SearchReport {
  size_t composed = 0;            // layouts whose time was estimated
  std::vector<TriedLayout> tried; // compiled and simulated
  double seconds = 0;             // that it took
  bool isComplete = false;        // every layout was tried
  /// The options, besides those given and a layout's, with which `zc compile`
  /// makes its program: "--target cuda".
  std::string missingOptions;

  /// The layouts that fit, the quickest first.
  std::vector<const TriedLayout *> ranking() const;
  /// The tried layouts that no other beats in both time and memory.
  std::vector<const TriedLayout *> pareto() const;
};

/// Copies a plan's numbers and limits to its layout.
void takeReport(const plan::Manifest &manifest, const Cluster &cluster,
                const PlanReport &report, TriedLayout &tried);

/// Between parent and child.
std::string triedAsText(const TriedLayout &tried);
bool triedFromText(const std::string &text, TriedLayout &tried);

/// Why one takes longer than the other: the part that differs most.
std::string explainLoss(const TriedLayout &winner, const TriedLayout &loser);

std::string printSearch(const SearchReport &report, const Cluster &cluster);
std::string searchAsJson(const SearchReport &report, const Cluster &cluster);

} // namespace zc

#endif // ZC_COMPILER_PLAN_SEARCHREPORT_H
