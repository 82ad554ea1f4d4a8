// RUN: zc-opt %s --zc-annotate-target | FileCheck %s --check-prefix=CPU
// RUN: zc-opt %s --zc-annotate-target="threads=2 features=avx512bw libraries=-onednn.convolution" | FileCheck %s --check-prefix=FEATURES
// RUN: zc-opt %s --zc-annotate-target="device=cuda libraries=all,cublaslt.relu-bits" | FileCheck %s --check-prefix=CUDA
// RUN: zc-opt %s --zc-annotate-target="device=cuda machine='#sched.machine<name = \"nodes\", flops = 2.0e13, bytes = 1.0e12, copy = 1.0e10, launch = 1.0e-6, links = [#sched.link<ranks = 4, seconds = 1.0e-6, bytes = 1.0e11>, #sched.link<ranks = 64, seconds = 1.0e-5, bytes = 1.0e9>], ways = [\"ring\", \"tree\"], axes = [\"dp\", \"tp\"], sizes = [4, 2]>'" | FileCheck %s --check-prefix=MACHINE

// CPU: module attributes {sched.target = #sched.target<device = "cpu">}
// FEATURES: sched.target = #sched.target<device = "cpu", threads = 2, features = ["avx512bw"], libraries = "-onednn.convolution">
// CUDA: sched.target = #sched.target<device = "cuda", libraries = "all,cublaslt.relu-bits">
// MACHINE: sched.target = #sched.target<device = "cuda",
// MACHINE-SAME: machine = <name = "nodes", flops = 2.000000e+13 : f64, bytes = 1.000000e+12 : f64, copy = 1.000000e+10 : f64, launch = 9.9999999999999995E-7 : f64,
// MACHINE-SAME: links = [#sched.link<ranks = 4, seconds = 9.9999999999999995E-7 : f64, bytes = 1.000000e+11 : f64>,
// MACHINE-SAME: ways = ["ring", "tree"], axes = ["dp", "tp"], sizes = [4, 2]>>
module {
}
