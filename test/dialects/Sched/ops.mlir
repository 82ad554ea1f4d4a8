// RUN: zc-opt %s | zc-opt | FileCheck %s

// Tests that every op reads what it prints.
module attributes {sched.persistent_bytes = 64 : i64} {
  // CHECK: train.state @w "parameter" : tensor<4x4xf32>
  train.state @w "parameter" : tensor<4x4xf32> {offset = 0 : i64}

  // CHECK: sched.kernel @relu attributes {grid = 4 : i64, shared = array<i64: 0, 0>, symbol = "zc_relu"}
  sched.kernel @relu attributes {grid = 4 : i64, shared = array<i64: 0, 0>, symbol = "zc_relu"} {
  ^bb0(%a: tensor<4x4xf32>):
    %0 = train.relu %a : (tensor<4x4xf32>) -> tensor<4x4xf32>
    train.yield %0 : tensor<4x4xf32>
  }

  // CHECK: sched.program @eval attributes {transient_bytes = 320 : i64}
  sched.program @eval attributes {transient_bytes = 320 : i64} {
    // CHECK: %[[W:.*]] = sched.state @w : memref<4x4xf32>
    %w = sched.state @w : memref<4x4xf32>
    // CHECK: %[[X:.*]] = sched.input "x" {batch_dim = 0 : i64, offset = 0 : i64} : memref<4x4xf32>
    %x = sched.input "x" {batch_dim = 0 : i64, offset = 0 : i64} : memref<4x4xf32>
    // CHECK: sched.input "labels" {label, offset = 64 : i64, range = array<i64: 0, 4, -100>} : memref<4xi64>
    %labels = sched.input "labels" {label, offset = 64 : i64, range = array<i64: 0, 4, -100>} : memref<4xi64>
    // CHECK: sched.input "weights" {offset = 128 : i64, sample_weight} : memref<4xf32>
    %weights = sched.input "weights" {offset = 128 : i64, sample_weight} : memref<4xf32>
    // CHECK: %[[A:.*]] = sched.alloc "activations" {offset = 192 : i64} : memref<4x4xf32>
    %a = sched.alloc "activations" {offset = 192 : i64} : memref<4x4xf32>
    // CHECK: %[[WS:.*]] = sched.alloc "workspace" {offset = 256 : i64} : memref<64xui8>
    %ws = sched.alloc "workspace" {offset = 256 : i64} : memref<64xui8>
    // CHECK: sched.library_call "onednn.matmul" "train.matmul" {transpose_rhs} ins(%[[X]], %[[W]] : memref<4x4xf32>, memref<4x4xf32>) outs(%[[A]] : memref<4x4xf32>) workspace(%[[WS]] : memref<64xui8>) {flops = 1.280000e+02 : f64, label = "train.matmul fc"}
    sched.library_call "onednn.matmul" "train.matmul" {transpose_rhs}
        ins(%x, %w : memref<4x4xf32>, memref<4x4xf32>) outs(%a : memref<4x4xf32>)
        workspace(%ws : memref<64xui8>) {flops = 128.0 : f64, label = "train.matmul fc"}
    // CHECK: %[[B:.*]] = sched.view %[[A]] {memory_class = "gradients"} : memref<4x4xf32> to memref<4x4xf32>
    %b = sched.view %a {memory_class = "gradients"} : memref<4x4xf32> to memref<4x4xf32>
    // CHECK: sched.launch @relu ins(%[[A]] : memref<4x4xf32>) outs(%[[B]] : memref<4x4xf32>)
    sched.launch @relu ins(%a : memref<4x4xf32>) outs(%b : memref<4x4xf32>)
    // CHECK: %[[NEW:.*]] = sched.view %[[W]] : memref<4x4xf32> to memref<16xf32>
    %new = sched.view %w : memref<4x4xf32> to memref<16xf32>
    // CHECK: sched.copy %[[B]] to %[[NEW]] : memref<4x4xf32> to memref<16xf32>
    sched.copy %b to %new : memref<4x4xf32> to memref<16xf32>
    // CHECK: sched.output "output" "y" %[[B]] {batch_dim = 0 : i64} : memref<4x4xf32>
    sched.output "output" "y" %b {batch_dim = 0 : i64} : memref<4x4xf32>
  }

  // CHECK: sched.program @reduce
  sched.program @reduce {
    %x = sched.input "x" : memref<4xf32>
    %r = sched.alloc "gradients" : memref<4xf32>
    // CHECK: sched.collective "all_reduce" ["dp"] "gradients" %[[G:.*]] to %[[R:.*]] {async} : memref<4xf32> to memref<4xf32>
    sched.collective "all_reduce" ["dp"] "gradients" %x to %r {async} : memref<4xf32> to memref<4xf32>
    // CHECK: sched.wait %[[R]] : memref<4xf32>
    sched.wait %r : memref<4xf32>
    // CHECK: sched.collective "broadcast" ["dp"] "gradients" %[[R]] to %{{.*}} {root = 1 : i64} : memref<4xf32> to memref<4xf32>
    %b = sched.view %r : memref<4xf32> to memref<4xf32>
    sched.collective "broadcast" ["dp"] "gradients" %r to %b {root = 1 : i64} : memref<4xf32> to memref<4xf32>
  }
}
