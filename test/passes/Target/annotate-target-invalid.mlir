// RUN: not zc-opt %s --zc-annotate-target=device=tpu 2>&1 | FileCheck %s --check-prefix=DEVICE
// RUN: not zc-opt %s --zc-annotate-target=threads=0 2>&1 | FileCheck %s --check-prefix=THREADS
// RUN: not zc-opt %s --zc-annotate-target=libraries=cudnn.norm 2>&1 | FileCheck %s --check-prefix=LIBRARIES
// RUN: not zc-opt %s --zc-annotate-target="device=cuda libraries=all,-onednn.matmul" 2>&1 | FileCheck %s --check-prefix=CUDA
// RUN: not zc-opt %s --zc-annotate-target=cluster=no-such 2>&1 | FileCheck %s --check-prefix=CLUSTER
// RUN: not zc-opt %s --zc-annotate-target="device=cuda cluster=piz-daint axes=dp=8192" 2>&1 | FileCheck %s --check-prefix=ROOM
// RUN: not zc-opt %s --zc-annotate-target="cluster=cpu-cluster axes=dp" 2>&1 | FileCheck %s --check-prefix=AXIS

// DEVICE: target: expected device "cpu" or "cuda", found "tpu"
// THREADS: target: expected at least 1 thread, found 0
// LIBRARIES: target: 'cudnn.norm' is no library call of device cpu; expected all, none, or of these, with - before what is left out: onednn.matmul, onednn.convolution, zc.attention, zc.grouped-matmul
// CUDA: target: '-onednn.matmul' is no library call of device cuda
// CLUSTER: target: there is no cluster file 'no-such'; presets are a100-dgx,
// ROOM: target: cluster 'piz-daint' has room for 5704 ranks, fewer than 8192
// AXIS: target: expected AXIS=SIZE, found 'dp'
module {
}
