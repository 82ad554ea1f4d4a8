// Described clusters as passes know them.
#ifndef ZC_COMPILER_DRIVER_MACHINES_H
#define ZC_COMPILER_DRIVER_MACHINES_H

#include "passes/Target/Target.h"
#include "runtime/Simulate/Cluster.h"

namespace zc {

/// The share of a cluster's machine that each of `ranks` ranks has, without
/// axes. Rates of products are those of products large enough for the device. A
/// copy's latency and the host's memory are the usual machine's where the file
/// leaves them out.
sched::MachineAttr makeMachine(mlir::MLIRContext *context,
                               const Cluster &cluster, int64_t ranks,
                               bool allowsTf32);

/// The same for the cluster of a name. Fails with loadCluster()'s message, and
/// where it has no room for the ranks.
llvm::Expected<sched::MachineAttr>
describeCluster(mlir::MLIRContext *context, const MachineRequest &request);

/// The links and ways of a machine, as the simulator has them.
Cluster linksOf(sched::MachineAttr machine);

} // namespace zc

#endif
