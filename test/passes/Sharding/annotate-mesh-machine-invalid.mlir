// RUN: not zc-opt %s --zc-annotate-mesh="mesh=dp=4" 2>&1 | FileCheck %s --check-prefix=LACKS
// RUN: not zc-opt %s --zc-annotate-mesh="mesh=dp=4,tp=4" 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: zc-opt %s --zc-annotate-mesh="mesh=dp=4,tp=2" | FileCheck %s
// RUN: not zc-opt %s --zc-annotate-mesh="mesh=tp=2,dp=4" 2>&1 | FileCheck %s --check-prefix=ORDER

// LACKS: mesh: the machine of sched.target has 2 ranks along 'tp', which #dist.mesh<dp=4> lacks
// SIZE: mesh: the machine of sched.target has 2 ranks along 'tp', which #dist.mesh<dp=4,tp=4> has not
// ORDER: mesh: the machine of sched.target has its axes in the order ["dp", "tp"], not in that of #dist.mesh<tp=2,dp=4>
// CHECK: dist.mesh = #dist.mesh<dp=4,tp=2>
module attributes {sched.target = #sched.target<device = "cpu", machine = #sched.machine<name = "nodes", flops = 2.0e13, bytes = 1.0e12,
    copy = 1.0e10, launch = 1.0e-6, links = [#sched.link<ranks = 64, seconds = 1.0e-6, bytes = 1.0e11>], ways = ["ring"],
    axes = ["dp", "tp"], sizes = [4, 2]>>} {
}
