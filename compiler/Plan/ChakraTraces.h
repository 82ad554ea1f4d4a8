//===- ChakraTraces.h - a plan for other simulators -------------*- C++ -*-===//
//
// Chakra execution traces, one a rank, as mlcommons/chakra defines them
// (schema/protobuf/et_def.proto): a GlobalMetadata, then Nodes, each behind its
// length. Beside them what ASTRA-sim needs to run them: network.yml of its
// analytical backend, system.json, memory.json, comm_groups.json.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_COMPILER_PLAN_CHAKRATRACES_H
#define ZC_COMPILER_PLAN_CHAKRATRACES_H

#include "compiler/Plan/PlanReport.h"

#include <functional>

namespace zc {

/// Takes a file by its name in the folder.
using FileSink =
    std::function<Status(const std::string &name, const std::string &bytes)>;

/// More ranks than that: one of each role has a trace.
constexpr int64_t kMostTraces = 256;

/// The files of a simulated step, of a report with spans. Ranks are numbered by
/// the devices that they stand on. A node names in data_deps whatever it waits
/// for, and of these in ctrl_deps what is in front of it on its stream alone.
/// Fails as the sink does.
Status planAsChakra(const plan::Manifest &manifest, const Cluster &cluster,
                    const PlanReport &report,
                    const std::vector<std::string> &placement,
                    const FileSink &sink);

/// Levels of the cluster as dims of ASTRA-sim's analytical network, as far as
/// `ranks` neighbouring devices reach.
std::string networkOf(const Cluster &cluster, int64_t ranks);

} // namespace zc

#endif // ZC_COMPILER_PLAN_CHAKRATRACES_H
