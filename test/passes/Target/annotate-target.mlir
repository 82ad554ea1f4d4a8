// RUN: zc-opt %s --zc-annotate-target | FileCheck %s --check-prefix=CPU
// RUN: zc-opt %s --zc-annotate-target="threads=2 features=avx512bw libraries=-onednn.convolution" | FileCheck %s --check-prefix=FEATURES
// RUN: zc-opt %s --zc-annotate-target="device=cuda libraries=all,cublaslt.relu-bits" | FileCheck %s --check-prefix=CUDA

// CPU: module attributes {sched.target = #sched.target<device = "cpu">}
// FEATURES: sched.target = #sched.target<device = "cpu", threads = 2, features = ["avx512bw"], libraries = "-onednn.convolution">
// CUDA: sched.target = #sched.target<device = "cuda", libraries = "all,cublaslt.relu-bits">
module {
}
