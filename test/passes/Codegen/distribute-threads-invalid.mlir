// RUN: zc-opt %s --zc-annotate-target=device=cuda --zc-lower-kernels --zc-distribute-threads --verify-diagnostics

// Tests that a kernel whose temporaries no GPU's team can share is refused.
// expected-error @+1 {{needs 80400 bytes of shared memory on a GPU, which has 49152 for a team of threads}}
sched.kernel @attention {
^bb0(%q: tensor<1x16x1x4xf32>, %k: tensor<1x20000x1x4xf32>):
  %0:2 = train.attention %q, %k, %k {scale = 1.0 : f64} : (tensor<1x16x1x4xf32>, tensor<1x20000x1x4xf32>, tensor<1x20000x1x4xf32>) -> (tensor<1x16x1x4xf32>, tensor<1x1x16xf32>)
  train.yield %0#0, %0#1 : tensor<1x16x1x4xf32>, tensor<1x1x16xf32>
}
