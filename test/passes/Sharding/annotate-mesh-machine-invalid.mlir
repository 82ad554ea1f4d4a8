// RUN: not zc-opt %s --zc-annotate-target="cluster=cpu-cluster axes=dp=4,tp=2" --zc-annotate-mesh="mesh=dp=4" 2>&1 | FileCheck %s --check-prefix=LACKS
// RUN: not zc-opt %s --zc-annotate-target="cluster=cpu-cluster axes=dp=4,tp=2" --zc-annotate-mesh="mesh=dp=4,tp=4" 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: zc-opt %s --zc-annotate-target="cluster=cpu-cluster axes=dp=4,tp=2" --zc-annotate-mesh="mesh=dp=4,tp=2" | FileCheck %s
// RUN: not zc-opt %s --zc-annotate-target="cluster=cpu-cluster axes=tp=2,dp=4" --zc-annotate-mesh="mesh=dp=4,tp=2" 2>&1 | FileCheck %s --check-prefix=ORDER

// LACKS: mesh: the machine of sched.target has 2 ranks along 'tp', which #dist.mesh<dp=4> lacks
// SIZE: mesh: the machine of sched.target has 2 ranks along 'tp', which #dist.mesh<dp=4,tp=4> has not
// ORDER: mesh: the machine of sched.target has its axes in the order ["tp", "dp"], not in that of #dist.mesh<dp=4,tp=2>
// CHECK: dist.mesh = #dist.mesh<dp=4,tp=2>
module {
}
