// RUN: not zc-opt %s --zc-annotate-target=device=tpu 2>&1 | FileCheck %s --check-prefix=DEVICE
// RUN: not zc-opt %s --zc-annotate-target=threads=0 2>&1 | FileCheck %s --check-prefix=THREADS
// RUN: not zc-opt %s --zc-annotate-target=libraries=cudnn.norm 2>&1 | FileCheck %s --check-prefix=LIBRARIES
// RUN: not zc-opt %s --zc-annotate-target="device=cuda libraries=all,-onednn.matmul" 2>&1 | FileCheck %s --check-prefix=CUDA
// RUN: not zc-opt %s --zc-annotate-target=cluster=no-such 2>&1 | FileCheck %s --check-prefix=CLUSTER
// RUN: not zc-opt %s --zc-annotate-target="device=cuda cluster=piz-daint axes=dp=8192" 2>&1 | FileCheck %s --check-prefix=ROOM
// RUN: not zc-opt %s --zc-annotate-target="cluster=cpu-cluster axes=dp" 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not zc-opt %s --zc-annotate-target="axes=dp=2" 2>&1 | FileCheck %s --check-prefix=NO-AXES
// RUN: not zc-opt %s --zc-annotate-target="tf32" 2>&1 | FileCheck %s --check-prefix=NO-TF32
// RUN: not zc-opt %s --zc-annotate-target="cluster=ideal axes=dp=2,dp=2" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not zc-opt %s --zc-annotate-target="cluster=ideal axes==4" 2>&1 | FileCheck %s --check-prefix=NAMELESS
// RUN: not zc-opt %s --zc-annotate-target="cluster=ideal axes=dp=4294967296,tp=4294967296" 2>&1 | FileCheck %s --check-prefix=OVERFLOW
// RUN: not zc-opt %s --zc-annotate-target="cluster=h100-dgx" 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not zc-opt %s --zc-annotate-target="device=cuda cluster=cpu-cluster" 2>&1 | FileCheck %s --check-prefix=CPUS

// DEVICE: target: expected device "cpu" or "cuda", found "tpu"
// THREADS: target: expected at least 1 thread, found 0
// LIBRARIES: target: 'cudnn.norm' is no library call of device cpu; expected all, none, or of these, with - before what is left out: onednn.matmul, onednn.convolution, zc.attention, zc.grouped-matmul
// CUDA: target: '-onednn.matmul' is no library call of device cuda
// CLUSTER: target: there is no cluster file 'no-such'; presets are a100-dgx,
// KIND: target: cluster 'h100-dgx' has devices of kind 'cuda', not 'cpu'
// CPUS: target: cluster 'cpu-cluster' has devices of kind 'cpu', not 'cuda'
// ROOM: target: cluster 'piz-daint' has room for 5704 ranks, fewer than 8192
// AXIS: target: expected AXIS=SIZE, found 'dp'
// NO-AXES: target: expected a cluster with axes, whose machine has them; found none
// NO-TF32: target: expected a cluster with tf32, whose machine has them; found none
// TWICE: target: expected each axis once, found 'dp' twice
// NAMELESS: target: expected AXIS=SIZE, found '=4'
// OVERFLOW: target: expected axes of fewer than 2^63 ranks together
module {
}
