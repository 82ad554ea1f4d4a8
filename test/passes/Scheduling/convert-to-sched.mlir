// RUN: zc-opt %s --zc-convert-to-sched --split-input-file | FileCheck %s

// Tests that an update that may work in place writes to the state's own buffer.
// CHECK-LABEL: sched.program @step
// CHECK:       %[[W:.*]] = sched.state @w
// CHECK:       %[[G:.*]] = sched.input "g"
// CHECK:       %[[NEW:.*]] = sched.view %[[W]]
// CHECK:       sched.launch @kernel_0 ins(%[[W]], %[[G]] : {{.*}}) outs(%[[NEW]] :
// CHECK-NOT:   sched.copy
// CHECK:       sched.kernel @kernel_0 attributes {shared = array<i64: 0, 0>}
!t = tensor<16xf32>
train.state @w "parameter" : !t
func.func @step(%w: !t {train.state = @w}, %g: !t {train.input = "g"})
    -> (!t {train.state = @w}) {
  %new = train.fused(%w, %g) {shared_buffers = array<i64: 0, 0, 1, 0>} : (!t, !t) -> !t {
  ^bb0(%a: !t, %b: !t):
    %0 = train.sub %a, %b : (!t, !t) -> !t
    train.yield %0 : !t
  }
  return %new : !t
}

// -----

// Tests that an update that must not work in place goes through a temporary that is
// copied at the end.
// CHECK-LABEL: sched.program @step
// CHECK:       %[[W:.*]] = sched.state @w
// CHECK:       %[[TEMPORARY:.*]] = sched.alloc "activations"
// CHECK:       sched.launch @kernel_0 ins(%[[W]] : {{.*}}) outs(%[[TEMPORARY]] :
// CHECK:       %[[NEW:.*]] = sched.view %[[W]]
// CHECK:       sched.copy %[[TEMPORARY]] to %[[NEW]]
// CHECK:       sched.kernel @kernel_0 {
!t = tensor<4x4xf32>
train.state @w "parameter" : !t
func.func @step(%w: !t {train.state = @w}) -> (!t {train.state = @w}) {
  %new = train.fused(%w) : (!t) -> !t {
  ^bb0(%a: !t):
    %0 = train.transpose %a {permutation = array<i64: 1, 0>} : (!t) -> !t
    train.yield %0 : !t
  }
  return %new : !t
}

// -----

// Tests that an update before the last reader of the old value goes through a
// temporary too.
// CHECK-LABEL: sched.program @step
// CHECK:       %[[W:.*]] = sched.state @w
// CHECK:       %[[TEMPORARY:.*]] = sched.alloc
// CHECK:       sched.launch @kernel_0 ins(%[[W]] : {{.*}}) outs(%[[TEMPORARY]] :
// CHECK:       sched.launch @kernel_1 ins(%[[W]], %[[TEMPORARY]]
// CHECK:       sched.copy %[[TEMPORARY]]
// CHECK:       sched.output "output" "y"
!t = tensor<16xf32>
train.state @w "parameter" : !t
func.func @step(%w: !t {train.state = @w})
    -> (!t {train.state = @w}, !t {train.output = "y"}) {
  %new = train.fused(%w) {shared_buffers = array<i64: 0, 0>} : (!t) -> !t {
  ^bb0(%a: !t):
    %0 = train.neg %a : (!t) -> !t
    train.yield %0 : !t
  }
  %y = train.fused(%w, %new) : (!t, !t) -> !t {
  ^bb0(%a: !t, %b: !t):
    %0 = train.add %a, %b : (!t, !t) -> !t
    train.yield %0 : !t
  }
  return %new, %y : !t, !t
}

// -----

// Tests that a chain of elementwise ops takes one buffer, that an input is never
// overwritten, and that equal kernels with unequal sharing are two kernels.
// CHECK-LABEL: sched.program @eval
// CHECK:       %[[X:.*]] = sched.input "x" {batch_dim = 0 : i64}
// CHECK:       %[[A:.*]] = sched.alloc "activations"
// CHECK:       sched.launch @kernel_0 ins(%[[X]] : {{.*}}) outs(%[[A]] :
// CHECK:       %[[B:.*]] = sched.view %[[A]]
// CHECK:       sched.launch @kernel_1 ins(%[[A]] : {{.*}}) outs(%[[B]] :
// CHECK:       %[[C:.*]] = sched.view %[[B]]
// CHECK:       sched.launch @kernel_1 ins(%[[B]] : {{.*}}) outs(%[[C]] :
// CHECK:       sched.output "output" "y" %[[C]] {batch_dim = 0 : i64}
// CHECK:       sched.kernel @kernel_0 {
// CHECK:       sched.kernel @kernel_1 attributes {shared = array<i64: 0, 0>}
// CHECK-NOT:   sched.kernel
!t = tensor<16xf32>
func.func @eval(%x: !t {train.input = "x", train.batch_dim = 0 : i64})
    -> (!t {train.output = "y", train.batch_dim = 0 : i64}) {
  %0 = train.fused(%x) {shared_buffers = array<i64: 0, 0>} : (!t) -> !t {
  ^bb0(%a: !t):
    %r = train.relu %a : (!t) -> !t
    train.yield %r : !t
  }
  %1 = train.fused(%0) {shared_buffers = array<i64: 0, 0>} : (!t) -> !t {
  ^bb0(%a: !t):
    %r = train.relu %a : (!t) -> !t
    train.yield %r : !t
  }
  %2 = train.fused(%1) {shared_buffers = array<i64: 0, 0>} : (!t) -> !t {
  ^bb0(%a: !t):
    %r = train.relu %a : (!t) -> !t
    train.yield %r : !t
  }
  return %2 : !t
}

// -----

// Tests that an operand that is read later, or twice by the op where only one read
// allows it, keeps its buffer.
// CHECK-LABEL: sched.program @eval
// CHECK:       %[[A:.*]] = sched.alloc
// CHECK:       outs(%[[A]] :
// CHECK:       %[[B:.*]] = sched.alloc
// CHECK:       ins(%[[A]] : {{.*}}) outs(%[[B]] :
// CHECK:       %[[C:.*]] = sched.alloc
// CHECK:       ins(%[[A]], %[[A]], %[[B]] : {{.*}}) outs(%[[C]] :
!t = tensor<16xf32>
func.func @eval(%x: !t {train.input = "x"}) -> (!t {train.output = "y"}) {
  %0 = train.fused(%x) : (!t) -> !t {
  ^bb0(%a: !t):
    %r = train.exp %a : (!t) -> !t
    train.yield %r : !t
  }
  %1 = train.fused(%0) {shared_buffers = array<i64: 0, 0>} : (!t) -> !t {
  ^bb0(%a: !t):
    %r = train.tanh %a : (!t) -> !t
    train.yield %r : !t
  }
  %2 = train.fused(%0, %0, %1) {shared_buffers = array<i64: 0, 0>} : (!t, !t, !t) -> !t {
  ^bb0(%a: !t, %b: !t, %c: !t):
    %r = train.add %a, %b : (!t, !t) -> !t
    %s = train.add %r, %c : (!t, !t) -> !t
    train.yield %s : !t
  }
  return %2 : !t
}

// -----

// Tests that reshapes are views, and that a view that is read later keeps the
// buffer.
// CHECK-LABEL: sched.program @eval
// CHECK:       %[[X:.*]] = sched.input "x"
// CHECK:       %[[V:.*]] = sched.view %[[X]] : memref<16xf32> to memref<4x4xf32>
// CHECK:       %[[A:.*]] = sched.alloc
// CHECK:       ins(%[[V]] : {{.*}}) outs(%[[A]] :
// CHECK:       %[[W:.*]] = sched.view %[[A]] : memref<4x4xf32> to memref<16xf32>
// CHECK:       %[[B:.*]] = sched.alloc
// CHECK:       ins(%[[A]] : {{.*}}) outs(%[[B]] :
// CHECK:       sched.output "output" "y" %[[W]]
!t = tensor<4x4xf32>
func.func @eval(%x: tensor<16xf32> {train.input = "x"})
    -> (tensor<16xf32> {train.output = "y"}, !t {train.output = "z"}) {
  %v = train.reshape %x : (tensor<16xf32>) -> !t
  %0 = train.fused(%v) : (!t) -> !t {
  ^bb0(%a: !t):
    %r = train.exp %a : (!t) -> !t
    train.yield %r : !t
  }
  %w = train.reshape %0 : (!t) -> tensor<16xf32>
  %1 = train.fused(%0) {shared_buffers = array<i64: 0, 0>} : (!t) -> !t {
  ^bb0(%a: !t):
    %r = train.tanh %a : (!t) -> !t
    train.yield %r : !t
  }
  return %w, %1 : tensor<16xf32>, !t
}

// -----

// Tests that a library call takes the region's operands in the op's own order, its
// attributes, and a workspace that is its own.
// CHECK-LABEL: sched.program @eval
// CHECK:       %[[B:.*]] = sched.state @b
// CHECK:       %[[A:.*]] = sched.input "a"
// CHECK:       %[[C:.*]] = sched.alloc "activations" : memref<4x5xf32>
// CHECK:       %[[WS:.*]] = sched.alloc "workspace" : memref<1000xui8>
// CHECK:       sched.library_call "onednn.matmul" "train.matmul" {transpose_rhs}
// CHECK-SAME:    ins(%[[A]], %[[B]] : memref<4x3xf32>, memref<5x3xf32>)
// CHECK-SAME:    outs(%[[C]] : memref<4x5xf32>)
// CHECK-SAME:    workspace(%[[WS]] : memref<1000xui8>)
// CHECK-SAME:    bytes = 1.880000e+02 : f64, flops = 1.200000e+02 : f64
// CHECK-NOT:   sched.kernel
train.state @b "parameter" : tensor<5x3xf32>
func.func @eval(%b: tensor<5x3xf32> {train.state = @b},
                %a: tensor<4x3xf32> {train.input = "a"})
    -> (tensor<4x5xf32> {train.output = "c"}) {
  %0 = train.fused(%b, %a) {library = "onednn.matmul", workspace_bytes = 1000 : i64}
      : (tensor<5x3xf32>, tensor<4x3xf32>) -> tensor<4x5xf32> {
  ^bb0(%q: tensor<5x3xf32>, %p: tensor<4x3xf32>):
    %r = train.matmul %p, %q {transpose_rhs} : (tensor<4x3xf32>, tensor<5x3xf32>) -> tensor<4x5xf32>
    train.yield %r : tensor<4x5xf32>
  }
  return %0 : tensor<4x5xf32>
}

// -----

// Tests memory classes: a gradient that takes over an activation's memory is a
// gradient from then on.
// CHECK-LABEL: sched.program @step
// CHECK:       %[[A:.*]] = sched.alloc "activations"
// CHECK:       %[[G:.*]] = sched.view %[[A]] {memory_class = "gradients"}
// CHECK:       outs(%[[G]] :
// CHECK:       %[[H:.*]] = sched.alloc "gradients"
// CHECK:       outs(%[[H]] :
!t = tensor<16xf32>
func.func @step(%x: !t {train.input = "x"})
    -> (!t {train.output = "y"}, !t {train.output = "z"}) {
  %0 = train.fused(%x) : (!t) -> !t {
  ^bb0(%a: !t):
    %r = train.exp %a : (!t) -> !t
    train.yield %r : !t
  }
  %1 = train.fused(%0) {shared_buffers = array<i64: 0, 0>, gradients = array<i64: 0>} : (!t) -> !t {
  ^bb0(%a: !t):
    %r = train.tanh %a : (!t) -> !t
    train.yield %r : !t
  }
  %2 = train.fused(%x) {gradients = array<i64: 0>} : (!t) -> !t {
  ^bb0(%a: !t):
    %r = train.tanh %a : (!t) -> !t
    train.yield %r : !t
  }
  return %1, %2 : !t, !t
}

// -----

// Tests that states that swap, or are returned as they were, keep their old values
// until they are read.
// CHECK-LABEL: sched.program @step
// CHECK:       %[[P:.*]] = sched.state @p
// CHECK:       %[[Q:.*]] = sched.state @q
// CHECK:       %[[OLDQ:.*]] = sched.alloc
// CHECK:       sched.copy %[[Q]] to %[[OLDQ]]
// CHECK:       %[[FROMQ:.*]] = sched.view %[[OLDQ]]
// CHECK:       %[[OLDP:.*]] = sched.alloc
// CHECK:       sched.copy %[[P]] to %[[OLDP]]
// CHECK:       %[[FROMP:.*]] = sched.view %[[OLDP]]
// CHECK:       %[[NEWP:.*]] = sched.view %[[P]]
// CHECK:       sched.copy %[[FROMQ]] to %[[NEWP]]
// CHECK:       %[[NEWQ:.*]] = sched.view %[[Q]]
// CHECK:       sched.copy %[[FROMP]] to %[[NEWQ]]
!t = tensor<16xf32>
train.state @p "parameter" : !t
train.state @q "parameter" : !t
train.state @r "statistic" : !t
func.func @step(%p: !t {train.state = @p}, %q: !t {train.state = @q},
                %r: !t {train.state = @r})
    -> (!t {train.state = @p}, !t {train.state = @q}, !t {train.state = @r}) {
  return %q, %p, %r : !t, !t, !t
}

// -----

// Tests that init writes states that it does not read, and that metrics are outputs.
// CHECK-LABEL: sched.program @init
// CHECK:       %[[S:.*]] = sched.state @step_number
// CHECK:       %[[V:.*]] = sched.view %[[S]]
// CHECK:       sched.launch @kernel_0 outs(%[[V]] : memref<f32>)
// CHECK-SAME:    label = "train.copy step_number"
// CHECK:       sched.output "metric" "n" %[[V]]
train.state @step_number "scalar" : tensor<f32>
func.func @init() -> (tensor<f32> {train.state = @step_number},
                      tensor<f32> {train.metric = "n"}) {
  %0 = train.fused() : () -> tensor<f32> {
    %c = train.constant dense<0.0> : tensor<f32>
    train.yield %c : tensor<f32>
  }
  return %0, %0 : tensor<f32>, tensor<f32>
}

// -----

// Tests that states of the second memory are each filled with the constant that
// they share, which others are copied.
// CHECK-LABEL: sched.program @init
// CHECK-DAG:   %[[FAR:.*]] = sched.state @far
// CHECK-DAG:   %[[NEAR:.*]] = sched.state @near
// CHECK:       sched.launch @kernel_0 outs(%[[FIRST:.*]] : memref<4xf32>)
// CHECK:       %[[PLACE:.*]] = sched.view %[[FAR]]
// CHECK-NEXT:  sched.launch @kernel_0 outs(%[[PLACE]] : memref<4xf32>)
// CHECK-SAME:    label = "fill far"
// CHECK:       %[[OTHER:.*]] = sched.view %[[NEAR]]
// CHECK-NEXT:  sched.copy %[[FIRST]] to %[[OTHER]]
train.state @first "optimizer" : tensor<4xf32> {offloaded}
train.state @far "optimizer" : tensor<4xf32> {offloaded}
train.state @near "optimizer" : tensor<4xf32>
func.func @init() -> (tensor<4xf32> {train.state = @first},
                      tensor<4xf32> {train.state = @far},
                      tensor<4xf32> {train.state = @near}) {
  %0 = train.fused() : () -> tensor<4xf32> {
    %c = train.constant dense<0.0> : tensor<4xf32>
    train.yield %c : tensor<4xf32>
  }
  return %0, %0, %0 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Tests that a library works in place on an operand that nobody needs later, and on
// a copy of one that is still read.
// CHECK-LABEL: sched.program @sums
// CHECK:       %[[A:.*]] = sched.input "a"
// CHECK:       %[[COPY:.*]] = sched.alloc "activations" : memref<4x4xf32>
// CHECK:       sched.copy %[[A]] to %[[COPY]]
// CHECK:       %[[S:.*]] = sched.view %[[COPY]]
// CHECK:       sched.library_call "onednn.matmul" "train.matmul_add" {} ins(%[[COPY]], %[[A]], %[[A]]
// CHECK-SAME:    outs(%[[S]] : memref<4x4xf32>)
// CHECK-SAME:    shared = array<i64: 0, 0>
// CHECK:       %[[T:.*]] = sched.view %[[S]]
// CHECK:       sched.library_call "onednn.matmul" "train.matmul_add" {} ins(%[[S]], %[[A]], %[[A]]
// CHECK-SAME:    outs(%[[T]] : memref<4x4xf32>)
func.func @sums(%a: tensor<4x4xf32> {train.input = "a"}) -> (tensor<4x4xf32> {train.output = "c"}) {
  %0 = train.fused(%a, %a, %a) {library = "onednn.matmul", shared_buffers = array<i64: 0, 0>}
      : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%s: tensor<4x4xf32>, %p: tensor<4x4xf32>, %q: tensor<4x4xf32>):
    %r = train.matmul_add %s, %p, %q : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    train.yield %r : tensor<4x4xf32>
  }
  %1 = train.fused(%0, %a, %a) {library = "onednn.matmul", shared_buffers = array<i64: 0, 0>}
      : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%s: tensor<4x4xf32>, %p: tensor<4x4xf32>, %q: tensor<4x4xf32>):
    %r = train.matmul_add %s, %p, %q : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    train.yield %r : tensor<4x4xf32>
  }
  return %1 : tensor<4x4xf32>
}

// -----

// Tests that a product's epilogue is part of the call, with its operands behind
// the two matrices and its results behind the product.
// CHECK-LABEL: sched.program @epilogue
// CHECK:       %[[A:.*]] = sched.input "a"
// CHECK:       %[[B:.*]] = sched.input "b"
// CHECK:       sched.library_call "cublaslt.matmul" "train.matmul" {train.epilogue = {activation = "gelu", auxiliary, bias}, transpose_rhs}
// CHECK-SAME:    ins(%[[A]], %[[A]], %[[B]] : memref<8x8xf32>, memref<8x8xf32>, memref<8xf32>)
// CHECK-SAME:    outs(%{{.*}}, %{{.*}} : memref<8x8xf32>, memref<8x8xf32>)
func.func @epilogue(%a: tensor<8x8xf32> {train.input = "a"}, %b: tensor<8xf32> {train.input = "b"})
    -> (tensor<8x8xf32> {train.output = "c"}, tensor<8x8xf32> {train.output = "d"}) {
  %0:2 = train.fused(%a, %a, %b) {joined = {epilogue = {activation = "gelu", auxiliary, bias}}, library = "cublaslt.matmul"}
      : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  ^bb0(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>, %z: tensor<8xf32>):
    %p = train.matmul %x, %y {transpose_rhs} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %v = train.broadcast %z {dims = array<i64: 1>} : (tensor<8xf32>) -> tensor<8x8xf32>
    %s = train.add %p, %v : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %g = train.gelu %s {tanh} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    train.yield %g, %s : tensor<8x8xf32>, tensor<8x8xf32>
  }
  return %0#0, %0#1 : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// Tests that a part of a state is a view of its buffer, and that the state's new
// value is written over the old one only behind who reads the part.
// CHECK-LABEL: sched.program @step
// CHECK:       %[[W:.*]] = sched.state @w : memref<32xf32>
// CHECK:       %[[PART:.*]] = sched.view %[[W]] {offset = 16 : i64} : memref<32xf32> to memref<16xf32>
// CHECK:       sched.launch @kernel_0 ins(%[[PART]] :
// CHECK:       %[[NEW:.*]] = sched.view %[[W]] : memref<32xf32> to memref<32xf32>
// CHECK:       sched.launch @kernel_1 ins(%[[W]] : {{.*}}) outs(%[[NEW]] :
// CHECK-NOT:   sched.copy
// CHECK:       sched.output "output" "y"
!t = tensor<32xf32>
!p = tensor<16xf32>
train.state @w "parameter" : !t
func.func @step(%w: !t {train.state = @w}) -> (!t {train.state = @w}, !p {train.output = "y"}) {
  %part = train.slice %w {offsets = array<i64: 16>, strides = array<i64: 1>} : (!t) -> !p
  %y = train.fused(%part) {shared_buffers = array<i64: 0, 0>} : (!p) -> !p {
  ^bb0(%a: !p):
    %0 = train.exp %a : (!p) -> !p
    train.yield %0 : !p
  }
  %new = train.fused(%w) {shared_buffers = array<i64: 0, 0>} : (!t) -> !t {
  ^bb0(%a: !t):
    %0 = train.neg %a : (!t) -> !t
    train.yield %0 : !t
  }
  return %new, %y : !t, !p
}

// -----

// Tests that a part of a value does not make the whole stay for what could take
// the part's place, and that a returned part of an old value is saved.
// CHECK-LABEL: sched.program @step
// CHECK:       %[[W:.*]] = sched.state @w : memref<32xf32>
// CHECK:       %[[SAVED:.*]] = sched.alloc "activations" : memref<32xf32>
// CHECK:       sched.copy %[[W]] to %[[SAVED]]
// CHECK:       %[[OLD:.*]] = sched.view %[[SAVED]] {offset = 16 : i64} : memref<32xf32> to memref<16xf32>
// CHECK:       %[[X:.*]] = sched.alloc "activations" : memref<32xf32>
// CHECK:       %[[Y:.*]] = sched.alloc "activations" : memref<16xf32>
// CHECK:       sched.launch @kernel_1 ins(%{{.*}} : memref<16xf32>) outs(%[[Y]] :
// CHECK:       sched.output "output" "old" %[[OLD]]
!t = tensor<32xf32>
!p = tensor<16xf32>
train.state @w "parameter" : !t
func.func @step(%w: !t {train.state = @w})
    -> (!t {train.state = @w}, !p {train.output = "old"}, !p {train.output = "y"}) {
  %old = train.slice %w {offsets = array<i64: 16>, strides = array<i64: 1>} : (!t) -> !p
  %x = train.fused(%w) : (!t) -> !t {
  ^bb0(%a: !t):
    %0 = train.exp %a : (!t) -> !t
    train.yield %0 : !t
  }
  %part = train.slice %x {offsets = array<i64: 0>, strides = array<i64: 1>} : (!t) -> !p
  %y = train.fused(%part) {shared_buffers = array<i64: 0, 0>} : (!p) -> !p {
  ^bb0(%a: !p):
    %0 = train.neg %a : (!p) -> !p
    train.yield %0 : !p
  }
  %new = train.fused(%w) {shared_buffers = array<i64: 0, 0>} : (!t) -> !t {
  ^bb0(%a: !t):
    %0 = train.neg %a : (!t) -> !t
    train.yield %0 : !t
  }
  return %new, %old, %y : !t, !p, !p
}

// -----

// Tests that a state's new value that is added to it in two turns needs no memory
// beside the state, and that the first sum has its own where it is read later.
!t = tensor<4x4xf32>
// CHECK-LABEL: sched.program @twice
// CHECK-NOT:     sched.alloc
// CHECK:         sched.launch
// CHECK-NOT:     sched.alloc
// CHECK:         sched.launch
// CHECK-NOT:     sched.alloc
// CHECK-LABEL: sched.program @read_later
// CHECK:         sched.alloc {{.*}}memref<4x4xf32>
// CHECK:         sched.launch
train.state @w "parameter" : !t
func.func @twice(%w: !t {train.state = @w}, %g: !t {train.input = "g"}) -> (!t {train.state = @w}) {
  %0 = train.fused(%w, %g) {shared_buffers = array<i64: 0, 0>} : (!t, !t) -> !t {
  ^bb0(%a: !t, %b: !t):
    %1 = train.matmul_add %a, %b, %b : (!t, !t, !t) -> !t
    train.yield %1 : !t
  }
  %new = train.fused(%0, %g) {shared_buffers = array<i64: 0, 0>} : (!t, !t) -> !t {
  ^bb0(%a: !t, %b: !t):
    %1 = train.matmul_add %a, %b, %b : (!t, !t, !t) -> !t
    train.yield %1 : !t
  }
  return %new : !t
}
func.func @read_later(%w: !t {train.state = @w}, %g: !t {train.input = "g"})
    -> (!t {train.state = @w}, !t {train.output = "y"}) {
  %0 = train.fused(%w, %g) {shared_buffers = array<i64: 0, 0>} : (!t, !t) -> !t {
  ^bb0(%a: !t, %b: !t):
    %1 = train.matmul_add %a, %b, %b : (!t, !t, !t) -> !t
    train.yield %1 : !t
  }
  %new = train.fused(%0, %g) {shared_buffers = array<i64: 0, 0>} : (!t, !t) -> !t {
  ^bb0(%a: !t, %b: !t):
    %1 = train.matmul_add %a, %b, %b : (!t, !t, !t) -> !t
    train.yield %1 : !t
  }
  %y = train.fused(%0) : (!t) -> !t {
  ^bb0(%a: !t):
    %1 = train.neg %a : (!t) -> !t
    train.yield %1 : !t
  }
  return %new, %y : !t, !t
}
