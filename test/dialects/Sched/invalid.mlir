// RUN: zc-opt %s --split-input-file --verify-diagnostics

// kernel C1
// expected-error @+1 {{'sched.kernel' op input 0 is no tensor but 'f32'}}
sched.kernel @kernel_c1_scalar {
^bb0(%a: f32):
  train.yield
}

// -----

// kernel C1
// expected-error @+1 {{'sched.kernel' op must end in train.yield}}
sched.kernel @kernel_c1_terminator {
^bb0(%a: tensor<4xf32>):
  %0 = train.neg %a : (tensor<4xf32>) -> tensor<4xf32>
}

// -----

// kernel C2
// expected-error @+1 {{'sched.kernel' op shares input 1 with output 0, but has 1 inputs and 1 outputs}}
sched.kernel @kernel_c2_range attributes {shared = array<i64: 1, 0>} {
^bb0(%a: tensor<4xf32>):
  train.yield %a : tensor<4xf32>
}

// -----

// kernel C2
// expected-error @+1 {{'sched.kernel' op lists 3 numbers as shared pairs}}
sched.kernel @kernel_c2_pairs attributes {shared = array<i64: 0, 0, 0>} {
^bb0(%a: tensor<4xf32>):
  train.yield %a : tensor<4xf32>
}

// -----

// kernel C2
// expected-error @+1 {{'sched.kernel' op shares input 0 twice}}
sched.kernel @kernel_c2_twice attributes {shared = array<i64: 0, 0, 0, 1>} {
^bb0(%a: tensor<4xf32>):
  train.yield %a, %a : tensor<4xf32>, tensor<4xf32>
}

// -----

// kernel C2
// expected-error @+1 {{'sched.kernel' op shares input 0 of type 'tensor<4xf32>' with output 0 of type 'tensor<2xf32>'}}
sched.kernel @kernel_c2_sizes attributes {shared = array<i64: 0, 0>} {
^bb0(%a: tensor<4xf32>, %b: tensor<2xf32>):
  train.yield %b : tensor<2xf32>
}

// -----

// kernel C3
// expected-error @+1 {{'sched.kernel' op has a grid of 0}}
sched.kernel @kernel_c3_grid attributes {grid = 0 : i64} {
^bb0(%a: tensor<4xf32>):
  train.yield %a : tensor<4xf32>
}

// -----

sched.program @program_c1_foreign_op {
  // expected-error @+1 {{'train.constant' op is no part of a sched.program}}
  %0 = train.constant dense<0.0> : tensor<f32>
}

// -----

sched.program @program_c2_names {
  %0 = sched.input "x" : memref<4xf32>
  // expected-error @+1 {{'sched.input' op 'x' comes twice}}
  %1 = sched.input "x" : memref<4xf32>
}

// -----

// Outputs of different kinds may have one name.
sched.program @output_kinds {
  %0 = sched.input "x" : memref<4xf32>
  // expected-error @+1 {{attribute 'kind' failed to satisfy constraint: a kind of output, which is output, metric}}
  sched.output "foo" "y" %0 : memref<4xf32>
  sched.output "bar" "y" %0 : memref<4xf32>
}

// -----

// Names are verified before kinds.
sched.program @program_c2_names_of_unknown_kind {
  %0 = sched.input "x" : memref<4xf32>
  sched.output "foo" "y" %0 : memref<4xf32>
  // expected-error @+1 {{'sched.output' op 'y' comes twice}}
  sched.output "foo" "y" %0 : memref<4xf32>
}

// -----

sched.program @program_c2_outputs {
  %0 = sched.input "x" : memref<4xf32>
  sched.output "output" "y" %0 : memref<4xf32>
  // expected-error @+1 {{'sched.output' op 'y' comes twice}}
  sched.output "output" "y" %0 : memref<4xf32>
}

// -----

train.state @w "parameter" : tensor<4xf32>
sched.program @program_c2_states {
  %0 = sched.state @w : memref<4xf32>
  // expected-error @+1 {{'sched.state' op @w comes twice}}
  %1 = sched.state @w : memref<4xf32>
}

// -----

sched.program @state_c1_symbol {
  // expected-error @+1 {{'sched.state' op @w is no train.state}}
  %0 = sched.state @w : memref<4xf32>
}

// -----

train.state @w "parameter" : tensor<5xf32>
sched.program @state_c1_type {
  // expected-error @+1 {{'sched.state' op is 'memref<4xf32>' but @w is 'tensor<5xf32>'}}
  %0 = sched.state @w : memref<4xf32>
}

// -----

sched.program @input_c1_batch_dim {
  // expected-error @+1 {{'sched.input' op has no dim 1 for its batch_dim: 'memref<4xf32>'}}
  %0 = sched.input "x" {batch_dim = 1 : i64} : memref<4xf32>
}

// -----

sched.program @input_c2_range {
  // expected-error @+1 {{'sched.input' op has a range of 1 numbers; expected min, max[, ignored]}}
  %0 = sched.input "x" {range = array<i64: 0>} : memref<4xi32>
}

// -----

sched.program @input_c2_type {
  // expected-error @+1 {{'sched.input' op has a range but elements of type 'f32'}}
  %0 = sched.input "x" {range = array<i64: 0, 3>} : memref<4xf32>
}

// -----

sched.program @alloc_memory_class {
  // expected-error @+1 {{attribute 'memory_class' failed to satisfy constraint: a memory class, which is activations, gradients, communication, workspace, offloaded}}
  %0 = sched.alloc "heap" : memref<4xf32>
}

// -----

sched.program @alloc_c1_offload {
  // expected-error @+1 {{'sched.alloc' op is to be offloaded, and lies in the second memory space already}}
  %0 = sched.alloc "offloaded" {offload} : memref<4xf32>
}

// -----

sched.program @alloc_type {
  // expected-error @+1 {{result #0 must be contiguous memref of static shape}}
  %0 = sched.alloc "activations" : memref<?xf32>
}

// -----

sched.program @view_c1_elements {
  %0 = sched.input "x" : memref<4xf32>
  // expected-error @+1 {{'sched.view' op views 'memref<4xf32>', from element 0 on, as 'memref<5xf32>'}}
  %1 = sched.view %0 : memref<4xf32> to memref<5xf32>
}

// -----

sched.program @view_c1_part {
  %0 = sched.alloc "activations" : memref<32xf32>
  // expected-error @+1 {{'sched.view' op views 'memref<32xf32>', from element 16 on, as 'memref<17xf32>'}}
  %1 = sched.view %0 {offset = 16 : i64} : memref<32xf32> to memref<17xf32>
}

// -----

sched.program @view_c2_alignment {
  %0 = sched.alloc "activations" : memref<32xf32>
  // expected-error @+1 {{'sched.view' op begins at byte 32 of its root, which is no multiple of 64}}
  %1 = sched.view %0 {offset = 8 : i64} : memref<32xf32> to memref<4xf32>
}

// -----

sched.program @view_c2_written {
  %0 = sched.input "x" : memref<16xf32>
  %1 = sched.alloc "activations" : memref<32xf32>
  %2 = sched.view %1 {offset = 16 : i64} : memref<32xf32> to memref<16xf32>
  // expected-error @+1 {{'sched.copy' op writes a part of a buffer}}
  sched.copy %0 to %2 : memref<16xf32> to memref<16xf32>
}

// -----

sched.program @view_memory_class {
  %0 = sched.input "x" : memref<4xf32>
  // expected-error @+1 {{attribute 'memory_class' failed to satisfy constraint: a memory class}}
  %1 = sched.view %0 {memory_class = "heap"} : memref<4xf32> to memref<4xf32>
}

// -----

sched.program @output_kind {
  %0 = sched.input "x" : memref<4xf32>
  // expected-error @+1 {{attribute 'kind' failed to satisfy constraint: a kind of output, which is output, metric}}
  sched.output "loss" "y" %0 : memref<4xf32>
}

// -----

sched.program @output_c2_token_order {
  %0 = sched.input "x" : memref<4xf32>
  // expected-error @+1 {{'sched.output' op expected tokens in order "zigzag", found "backwards"}}
  sched.output "output" "y" %0 {token_order = "backwards"} : memref<4xf32>
}

// -----

sched.program @output_c1_batch_dim {
  %0 = sched.input "x" : memref<4xf32>
  // expected-error @+1 {{'sched.output' op has no dim 2 for its batch_dim: 'memref<4xf32>'}}
  sched.output "output" "y" %0 {batch_dim = 2 : i64} : memref<4xf32>
}

// -----

sched.kernel @k attributes {host} {
^bb0(%a: tensor<4xf32>):
  train.yield %a : tensor<4xf32>
}
sched.program @launch_c3_kernel {
  %0 = sched.alloc "offloaded" : memref<4xf32>
  %1 = sched.alloc "offloaded" : memref<4xf32>
  // expected-error @+1 {{'sched.launch' op runs on the device, for which @k is not}}
  sched.launch @k ins(%0 : memref<4xf32>) outs(%1 : memref<4xf32>)
}

// -----

sched.kernel @k attributes {host} {
^bb0(%a: tensor<4xf32>):
  train.yield %a : tensor<4xf32>
}
sched.program @launch_c3_place {
  %0 = sched.alloc "offloaded" : memref<4xf32>
  %1 = sched.alloc "activations" : memref<4xf32>
  // expected-error @+1 {{'sched.launch' op runs on the host, but operand 1 is in the device's memory}}
  sched.launch @k ins(%0 : memref<4xf32>) outs(%1 : memref<4xf32>) {host}
}

// -----

sched.program @launch_c1_symbol {
  %0 = sched.input "x" : memref<4xf32>
  // expected-error @+1 {{'sched.launch' op @k is no sched.kernel}}
  sched.launch @k ins(%0 : memref<4xf32>)
}

// -----

sched.kernel @k {
^bb0(%a: tensor<4xf32>):
  train.yield %a : tensor<4xf32>
}
sched.program @launch_c1_count {
  %0 = sched.input "x" : memref<4xf32>
  // expected-error @+1 {{'sched.launch' op has 0 outputs but @k takes 1}}
  sched.launch @k ins(%0 : memref<4xf32>)
}

// -----

sched.kernel @k {
^bb0(%a: tensor<4xf32>):
  train.yield %a : tensor<4xf32>
}
sched.program @launch_c1_type {
  %0 = sched.input "x" : memref<5xf32>
  %1 = sched.alloc "activations" : memref<4xf32>
  // expected-error @+1 {{'sched.launch' op input 0 is 'memref<5xf32>' but @k takes 'tensor<4xf32>'}}
  sched.launch @k ins(%0 : memref<5xf32>) outs(%1 : memref<4xf32>)
}

// -----

sched.kernel @k {
^bb0(%a: tensor<4xf32>):
  train.yield %a : tensor<4xf32>
}
sched.program @launch_c2_not_shared {
  %0 = sched.input "x" : memref<4xf32>
  %1 = sched.view %0 : memref<4xf32> to memref<4xf32>
  // expected-error @+1 {{'sched.launch' op input 0 and output 0 are the same memory, which @k does not allow}}
  sched.launch @k ins(%0 : memref<4xf32>) outs(%1 : memref<4xf32>)
}

// -----

sched.kernel @k attributes {shared = array<i64: 0, 0>} {
^bb0(%a: tensor<4xf32>):
  train.yield %a : tensor<4xf32>
}
sched.program @launch_c2_shared {
  %0 = sched.input "x" : memref<4xf32>
  %1 = sched.alloc "activations" : memref<4xf32>
  // expected-error @+1 {{'sched.launch' op input 0 and output 0 must be the same memory for @k}}
  sched.launch @k ins(%0 : memref<4xf32>) outs(%1 : memref<4xf32>)
}

// -----

sched.kernel @k {
^bb0(%a: tensor<4xf32>):
  train.yield %a, %a : tensor<4xf32>, tensor<4xf32>
}
sched.program @launch_c2_outputs {
  %0 = sched.input "x" : memref<4xf32>
  %1 = sched.alloc "activations" : memref<4xf32>
  // expected-error @+1 {{'sched.launch' op outputs 0 and 1 are the same memory}}
  sched.launch @k ins(%0 : memref<4xf32>) outs(%1, %1 : memref<4xf32>, memref<4xf32>)
}

// -----

sched.program @library_call_c1_in_place {
  %0 = sched.alloc "activations" : memref<4x4xf32>
  // expected-error @+1 {{'sched.library_call' op output 0 is the same memory as another operand}}
  sched.library_call "onednn.matmul" "train.matmul" {}
      ins(%0, %0 : memref<4x4xf32>, memref<4x4xf32>) outs(%0 : memref<4x4xf32>)
}

// -----

sched.program @library_call_c1_not_shared {
  %0 = sched.alloc "activations" : memref<4x4xf32>
  %1 = sched.alloc "activations" : memref<4x4xf32>
  // expected-error @+1 {{'sched.library_call' op input 0 and output 0 must be the same memory}}
  sched.library_call "onednn.matmul" "train.matmul_add" {}
      ins(%0, %0, %0 : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>) outs(%1 : memref<4x4xf32>)
      {shared = array<i64: 0, 0>}
}

// -----

sched.program @library_call_c2_workspace {
  %0 = sched.alloc "activations" : memref<4x4xf32>
  %1 = sched.alloc "activations" : memref<4x4xf32>
  %2 = sched.alloc "workspace" : memref<4xf32>
  // expected-error @+1 {{'sched.library_call' op has a workspace of type 'memref<4xf32>'; expected bytes}}
  sched.library_call "onednn.matmul" "train.matmul" {}
      ins(%0, %0 : memref<4x4xf32>, memref<4x4xf32>) outs(%1 : memref<4x4xf32>)
      workspace(%2 : memref<4xf32>)
}

// -----

sched.program @copy_c1_elements {
  %0 = sched.input "x" : memref<4xf32>
  %1 = sched.alloc "activations" : memref<4xi32>
  // expected-error @+1 {{'sched.copy' op copies 'memref<4xf32>' to 'memref<4xi32>'}}
  sched.copy %0 to %1 : memref<4xf32> to memref<4xi32>
}

// -----

sched.program @copy_c1_itself {
  %0 = sched.alloc "activations" : memref<4xf32>
  %1 = sched.view %0 : memref<4xf32> to memref<4xf32>
  // expected-error @+1 {{'sched.copy' op copies a buffer to itself}}
  sched.copy %0 to %1 : memref<4xf32> to memref<4xf32>
}

// -----

module {
  sched.program @step {
    %x = sched.input "x" : memref<4xf32>
    %r = sched.alloc "gradients" : memref<4xf32>
    sched.collective "all_reduce" ["dp"] "gradients" %x to %r : memref<4xf32> to memref<4xf32>
    // expected-error @+1 {{'sched.wait' op waits for no async instruction that is under way}}
    sched.wait %r : memref<4xf32>
  }
}

// -----

module {
  sched.program @gather {
    %x = sched.input "x" : memref<4xf32>
    %r = sched.alloc "communication" : memref<6xf32>
    // expected-error @+1 {{makes 'memref<6xf32>' of 'memref<4xf32>'}}
    sched.collective "gather" ["dp"] "activations" %x to %r : memref<4xf32> to memref<6xf32>
  }
}

// -----

module {
  sched.program @reduce {
    %x = sched.alloc "gradients" : memref<4xf32>
    %r = sched.view %x : memref<4xf32> to memref<4xf32>
    // expected-error @+1 {{writes over its source}}
    sched.collective "reduce" ["dp"] "gradients" %x to %r {root = 1 : i64} : memref<4xf32> to memref<4xf32>
  }
}

// -----

sched.program @step {
  %x = sched.alloc "communication" : memref<4xf32>
  // expected-error @+1 {{attribute 'kind' failed to satisfy constraint: a kind of collective, which is all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, reduce, gather, scatter, send_receive}}
  sched.collective "role_sum" ["dp"] "gradients" %x to %x : memref<4xf32> to memref<4xf32>
}
