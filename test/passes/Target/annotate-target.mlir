// RUN: zc-opt %s --zc-annotate-target | FileCheck %s --check-prefix=CPU
// RUN: zc-opt %s --zc-annotate-target="threads=2 features=avx512bw libraries=-onednn.convolution" | FileCheck %s --check-prefix=FEATURES
// RUN: zc-opt %s --zc-annotate-target="device=cuda libraries=all,cublaslt.relu-bits" | FileCheck %s --check-prefix=CUDA
// RUN: zc-opt %s --zc-annotate-target="device=cuda cluster=h100-dgx axes=dp=4,tp=2" | FileCheck %s --check-prefix=MACHINE

// CPU: module attributes {sched.target = #sched.target<device = "cpu">}
// FEATURES: sched.target = #sched.target<device = "cpu", threads = 2, features = ["avx512bw"], libraries = "-onednn.convolution">
// CUDA: sched.target = #sched.target<device = "cuda", libraries = "all,cublaslt.relu-bits">
// MACHINE: sched.target = #sched.target<device = "cuda",
// MACHINE-SAME: machine = <name = "h100-dgx", rates = [#sched.rate<work = "kernel", type = "f32", flops = 3.350000e+13 : f64>,
// MACHINE-SAME: #sched.rate<work = "attention", type = "bf16", flops = 3.956000e+14 : f64>
// MACHINE-SAME: links = [#sched.link<ranks = 8, seconds = 9.9999999999999995E-7 : f64, bytes = 3.700000e+11 : f64>,
// MACHINE-SAME: ways = ["ring", "tree"], axes = ["dp", "tp"], sizes = [4, 2]>>
module {
}
