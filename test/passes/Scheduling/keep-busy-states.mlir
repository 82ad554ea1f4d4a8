// RUN: zc-opt %s --zc-keep-busy-states --zc-offload -split-input-file | FileCheck %s
// RUN: zc-opt %s --zc-keep-busy-states --zc-join-launches -split-input-file | FileCheck %s --check-prefix=JOINED

// Parameters of 4 MB, whose copies take 0.1 ms on a GPU's link.

// Tests that a table which a step begins with stays on the device, and that this
// is said; a layer's parameter, wanted later, is copied.
// CHECK: module attributes {dist.notes = ["1 of 2 parameters to offload stays on the device (table; 4.00 MiB): steps or micro-batches begin with it, and a copy would come too late; a --memory-budget without room for it moves it, too"], sched.target = {{.*}}, train.staying = 4194304 : i64
// CHECK: train.state @table "parameter" : tensor<1048576xf32>
// CHECK-NOT: {offloaded}
// CHECK: train.state @layer "parameter" : tensor<1048576xf32> {offloaded}
// CHECK-LABEL: sched.program @step
// CHECK-NOT: fetch table
// CHECK: label = "fetch layer"
// CHECK-NOT: label =
module attributes {train.keeps_busy, sched.target = #sched.target<device = "cuda">} {
train.state @table "parameter" : tensor<1048576xf32>  {offloaded}
train.state @layer "parameter" : tensor<1048576xf32> {offloaded}
sched.kernel @add {
^bb0(%x: tensor<1048576xf32>, %y: tensor<1048576xf32>):
  %z = train.add %x, %y : (tensor<1048576xf32>, tensor<1048576xf32>) -> tensor<1048576xf32>
  train.yield %z : tensor<1048576xf32>
}
sched.program @step {
  %table = sched.state @table : memref<1048576xf32>
  %layer = sched.state @layer : memref<1048576xf32>
  %a = sched.alloc "activations" : memref<1048576xf32>
  sched.launch @add ins(%table, %table : memref<1048576xf32>, memref<1048576xf32>) outs(%a : memref<1048576xf32>) {bytes = 1.0e9 : f64}
  %b = sched.alloc "activations" : memref<1048576xf32>
  sched.launch @add ins(%a, %layer : memref<1048576xf32>, memref<1048576xf32>) outs(%b : memref<1048576xf32>) {bytes = 1.0e9 : f64}
  %c = sched.alloc "activations" : memref<1048576xf32>
  sched.launch @add ins(%b, %table : memref<1048576xf32>, memref<1048576xf32>) outs(%c : memref<1048576xf32>) {bytes = 1.0e9 : f64}
  sched.output "output" "f" %c : memref<1048576xf32>
}
}

// -----

// Tests that of three reads two share a buffer where what runs between them takes
// less time than the way back; the third, later than that, has it copied again.
// CHECK-LABEL: sched.program @apart
// CHECK-COUNT-2: label = "fetch layer"
// CHECK-NOT: label = "fetch layer"
module attributes {train.keeps_busy, sched.target = #sched.target<device = "cuda">} {
train.state @layer "parameter" : tensor<1048576xf32> {offloaded}
sched.kernel @add {
^bb0(%x: tensor<1048576xf32>, %y: tensor<1048576xf32>):
  %z = train.add %x, %y : (tensor<1048576xf32>, tensor<1048576xf32>) -> tensor<1048576xf32>
  train.yield %z : tensor<1048576xf32>
}
sched.program @apart {
  %layer = sched.state @layer : memref<1048576xf32>
  %x = sched.input "x" : memref<1048576xf32>
  %a = sched.alloc "activations" : memref<1048576xf32>
  sched.launch @add ins(%x, %layer : memref<1048576xf32>, memref<1048576xf32>) outs(%a : memref<1048576xf32>) {bytes = 1.0e6 : f64}
  %b = sched.alloc "activations" : memref<1048576xf32>
  sched.launch @add ins(%a, %a : memref<1048576xf32>, memref<1048576xf32>) outs(%b : memref<1048576xf32>) {bytes = 1.0e6 : f64}
  %c = sched.alloc "activations" : memref<1048576xf32>
  sched.launch @add ins(%b, %b : memref<1048576xf32>, memref<1048576xf32>) outs(%c : memref<1048576xf32>) {bytes = 1.0e6 : f64}
  %d = sched.alloc "activations" : memref<1048576xf32>
  sched.launch @add ins(%c, %layer : memref<1048576xf32>, memref<1048576xf32>) outs(%d : memref<1048576xf32>) {bytes = 1.0e6 : f64}
  %e = sched.alloc "activations" : memref<1048576xf32>
  sched.launch @add ins(%d, %d : memref<1048576xf32>, memref<1048576xf32>) outs(%e : memref<1048576xf32>) {bytes = 1.0e9 : f64}
  %f = sched.alloc "activations" : memref<1048576xf32>
  sched.launch @add ins(%e, %e : memref<1048576xf32>, memref<1048576xf32>) outs(%f : memref<1048576xf32>) {bytes = 1.0e9 : f64}
  %g = sched.alloc "activations" : memref<1048576xf32>
  sched.launch @add ins(%f, %layer : memref<1048576xf32>, memref<1048576xf32>) outs(%g : memref<1048576xf32>) {bytes = 1.0e6 : f64}
  sched.output "output" "f" %g : memref<1048576xf32>
}
}

// -----

// Tests that a micro-batch's table stays, too, though no micro-batch ends with it.
// CHECK: train.state @table "parameter" : tensor<1048576xf32>
// CHECK-NOT: {offloaded}
// CHECK-LABEL: sched.program @micro
// CHECK-NOT: fetch
module attributes {train.keeps_busy, sched.target = #sched.target<device = "cuda">} {
train.state @table "parameter" : tensor<1048576xf32> {offloaded}
sched.kernel @add {
^bb0(%x: tensor<1048576xf32>, %y: tensor<1048576xf32>):
  %z = train.add %x, %y : (tensor<1048576xf32>, tensor<1048576xf32>) -> tensor<1048576xf32>
  train.yield %z : tensor<1048576xf32>
}
sched.program @micro {
  %table = sched.state @table : memref<1048576xf32>
  %a = sched.alloc "activations" : memref<1048576xf32>
  sched.launch @add ins(%table, %table : memref<1048576xf32>, memref<1048576xf32>) outs(%a : memref<1048576xf32>) {bytes = 1.0e9 : f64}
  %b = sched.alloc "activations" : memref<1048576xf32>
  sched.launch @add ins(%a, %a : memref<1048576xf32>, memref<1048576xf32>) outs(%b : memref<1048576xf32>) {bytes = 1.0e9 : f64}
  sched.output "output" "f" %b : memref<1048576xf32>
}
}

// -----

// Tests a role of a pipeline, whose forward and backward are programs of their own:
// what either begins with stays, though the other reads it later; what both read
// later is copied in both.
// CHECK: module attributes {dist.notes = ["2 of 3 parameters to offload stay on the device (first, last; 8.00 MiB): steps or micro-batches begin with them, and copies would come too late
// CHECK: train.state @first "parameter" : tensor<1048576xf32>
// CHECK-NOT: {offloaded}
// CHECK: train.state @middle "parameter" : tensor<1048576xf32> {offloaded}
// CHECK-NEXT: train.state @last "parameter" : tensor<1048576xf32>
// CHECK-NOT: {offloaded}
// CHECK-LABEL: sched.program @forward
// CHECK-NOT: fetch first
// CHECK: label = "fetch middle"
// CHECK-NOT: fetch last
// CHECK-LABEL: sched.program @backward
// CHECK-NOT: fetch last
// CHECK: label = "fetch middle"
// CHECK-NOT: fetch first
module attributes {train.keeps_busy, sched.target = #sched.target<device = "cuda">, train.role = 0 : i64} {
train.state @first "parameter" : tensor<1048576xf32> {offloaded}
train.state @middle "parameter" : tensor<1048576xf32> {offloaded}
train.state @last "parameter" : tensor<1048576xf32> {offloaded}
sched.kernel @add {
^bb0(%x: tensor<1048576xf32>, %y: tensor<1048576xf32>):
  %z = train.add %x, %y : (tensor<1048576xf32>, tensor<1048576xf32>) -> tensor<1048576xf32>
  train.yield %z : tensor<1048576xf32>
}
sched.program @forward {
  %first = sched.state @first : memref<1048576xf32>
  %middle = sched.state @middle : memref<1048576xf32>
  %last = sched.state @last : memref<1048576xf32>
  %a = sched.alloc "activations" : memref<1048576xf32>
  sched.launch @add ins(%first, %first : memref<1048576xf32>, memref<1048576xf32>) outs(%a : memref<1048576xf32>) {bytes = 1.0e9 : f64}
  %b = sched.alloc "activations" : memref<1048576xf32>
  sched.launch @add ins(%a, %middle : memref<1048576xf32>, memref<1048576xf32>) outs(%b : memref<1048576xf32>) {bytes = 1.0e9 : f64}
  %c = sched.alloc "activations" : memref<1048576xf32>
  sched.launch @add ins(%b, %last : memref<1048576xf32>, memref<1048576xf32>) outs(%c : memref<1048576xf32>) {bytes = 1.0e9 : f64}
  sched.output "output" "f" %c : memref<1048576xf32>
}
sched.program @backward {
  %first = sched.state @first : memref<1048576xf32>
  %middle = sched.state @middle : memref<1048576xf32>
  %last = sched.state @last : memref<1048576xf32>
  %a = sched.alloc "activations" : memref<1048576xf32>
  sched.launch @add ins(%last, %last : memref<1048576xf32>, memref<1048576xf32>) outs(%a : memref<1048576xf32>) {bytes = 1.0e9 : f64}
  %b = sched.alloc "activations" : memref<1048576xf32>
  sched.launch @add ins(%a, %middle : memref<1048576xf32>, memref<1048576xf32>) outs(%b : memref<1048576xf32>) {bytes = 1.0e9 : f64}
  %c = sched.alloc "activations" : memref<1048576xf32>
  sched.launch @add ins(%b, %first : memref<1048576xf32>, memref<1048576xf32>) outs(%c : memref<1048576xf32>) {bytes = 1.0e9 : f64}
  sched.output "output" "g" %c : memref<1048576xf32>
}
}

// -----

// Tests that of a stage's programs where gradients of parameters are apart, and of
// several stages of a role, each is looked at.
// CHECK: module attributes {dist.notes = ["2 of 2 parameters to offload stay
// CHECK-LABEL: sched.program @forward.1
// CHECK-NOT: fetch
// CHECK-LABEL: sched.program @weight_gradients.0
// CHECK-NOT: fetch
module attributes {train.keeps_busy, sched.target = #sched.target<device = "cuda">, train.role = 0 : i64} {
train.state @table "parameter" : tensor<1048576xf32> {offloaded}
train.state @other "parameter" : tensor<1048576xf32> {offloaded}
sched.kernel @add {
^bb0(%x: tensor<1048576xf32>, %y: tensor<1048576xf32>):
  %z = train.add %x, %y : (tensor<1048576xf32>, tensor<1048576xf32>) -> tensor<1048576xf32>
  train.yield %z : tensor<1048576xf32>
}
sched.program @forward.1 {
  %table = sched.state @table : memref<1048576xf32>
  %a = sched.alloc "activations" : memref<1048576xf32>
  sched.launch @add ins(%table, %table : memref<1048576xf32>, memref<1048576xf32>) outs(%a : memref<1048576xf32>) {bytes = 1.0e9 : f64}
  sched.output "output" "f" %a : memref<1048576xf32>
}
sched.program @weight_gradients.0 {
  %other = sched.state @other : memref<1048576xf32>
  %a = sched.alloc "activations" : memref<1048576xf32>
  sched.launch @add ins(%other, %other : memref<1048576xf32>, memref<1048576xf32>) outs(%a : memref<1048576xf32>) {bytes = 1.0e9 : f64}
  sched.output "output" "g" %a : memref<1048576xf32>
}
}

// -----

// Tests that of weights of 16 bits the copy that the forward begins with stays; the
// float32 weights, which an update alone reads, leave though it begins with them,
// and so does a copy that only @apply begins with.
// CHECK: module attributes {dist.notes = ["1 of 2 parameters to offload stays on the device (table.bf16; 2.00 MiB)
// CHECK: train.state @table "parameter" : tensor<1048576xf32> {offloaded}
// CHECK: train.state @table.bf16 "copy" : tensor<1048576xbf16> {parameter = "table"}
// CHECK: train.state @late.bf16 "copy" : tensor<1048576xbf16> {offloaded, parameter = "late"}
// CHECK-LABEL: sched.program @micro
// CHECK-NOT: fetch
// CHECK-LABEL: sched.program @apply
// CHECK-DAG: label = "fetch table"
// CHECK-DAG: label = "fetch late.bf16"
// CHECK-NOT: fetch table.bf16
module attributes {train.keeps_busy, sched.target = #sched.target<device = "cuda">} {
train.state @table "parameter" : tensor<1048576xf32> {offloaded}
train.state @table.bf16 "copy" : tensor<1048576xbf16> {offloaded, parameter = "table"}
train.state @late.bf16 "copy" : tensor<1048576xbf16> {offloaded, parameter = "late"}
sched.kernel @twice {
^bb0(%x: tensor<1048576xbf16>):
  %z = train.add %x, %x : (tensor<1048576xbf16>, tensor<1048576xbf16>) -> tensor<1048576xbf16>
  train.yield %z : tensor<1048576xbf16>
}
sched.kernel @round {
^bb0(%x: tensor<1048576xf32>, %y: tensor<1048576xbf16>):
  %z = train.convert %x : (tensor<1048576xf32>) -> tensor<1048576xbf16>
  %s = train.add %z, %y : (tensor<1048576xbf16>, tensor<1048576xbf16>) -> tensor<1048576xbf16>
  train.yield %s : tensor<1048576xbf16>
}
sched.program @micro {
  %table = sched.state @table.bf16 : memref<1048576xbf16>
  %a = sched.alloc "activations" : memref<1048576xbf16>
  sched.launch @twice ins(%table : memref<1048576xbf16>) outs(%a : memref<1048576xbf16>) {bytes = 1.0e9 : f64}
  sched.output "output" "f" %a : memref<1048576xbf16>
}
sched.program @apply {
  %table = sched.state @table : memref<1048576xf32>
  %late = sched.state @late.bf16 : memref<1048576xbf16>
  %copy = sched.state @table.bf16 : memref<1048576xbf16>
  %copy1 = sched.view %copy : memref<1048576xbf16> to memref<1048576xbf16>
  sched.launch @round ins(%table, %late : memref<1048576xf32>, memref<1048576xbf16>) outs(%copy1 : memref<1048576xbf16>) {bytes = 1.0e9 : f64}
}
}

// -----

// Tests that on a module without the mark, as a plan for a budget may be, nothing
// stays.
// CHECK: module attributes {sched.target = {{.*}}, train.waiting = array<f64: {{[^>]*}}>}
// CHECK: train.state @table "parameter" : tensor<1048576xf32> {offloaded}
// CHECK-LABEL: sched.program @step
// CHECK: label = "fetch table"
module attributes {sched.target = #sched.target<device = "cuda">} {
train.state @table "parameter" : tensor<1048576xf32> {offloaded}
sched.kernel @add {
^bb0(%x: tensor<1048576xf32>, %y: tensor<1048576xf32>):
  %z = train.add %x, %y : (tensor<1048576xf32>, tensor<1048576xf32>) -> tensor<1048576xf32>
  train.yield %z : tensor<1048576xf32>
}
sched.program @step {
  %table = sched.state @table : memref<1048576xf32>
  %a = sched.alloc "activations" : memref<1048576xf32>
  sched.launch @add ins(%table, %table : memref<1048576xf32>, memref<1048576xf32>) outs(%a : memref<1048576xf32>) {bytes = 1.0e9 : f64}
  sched.output "output" "f" %a : memref<1048576xf32>
}
}

// -----

// Tests parameters that a step writes. It reads both 0.15 ms after its begin,
// which is time for a copy there, 0.105 ms, and not for one away besides: the one
// that it writes at its end stays, the one that it writes 1 ms before is copied. A moment that a step both begins and ends with leaves: that is
// what it was asked for.
// CHECK: module attributes {dist.notes = ["1 of 2 parameters to offload stays on the device (late; 4.00 MiB)
// CHECK: train.state @late "parameter" : tensor<1048576xf32>
// CHECK-NOT: {offloaded}
// CHECK: train.state @early "parameter" : tensor<1048576xf32> {offloaded}
// CHECK: train.state @moment "optimizer" : tensor<1048576xf32> {offloaded}
// CHECK-LABEL: sched.program @step
// CHECK-NOT: late"
// CHECK-DAG: label = "fetch moment"
// CHECK-DAG: label = "fetch early"
// CHECK-DAG: label = "store early"
// CHECK-DAG: label = "store moment"
// CHECK-NOT: late"
// CHECK: sched.output
module attributes {train.keeps_busy, sched.target = #sched.target<device = "cuda", machine = #sched.machine<name = "g", rates = [#sched.rate<work = "kernel", type = "f32", flops = 1.0e15>], bytes = 1.0e12, copy = 4.0e10, copy_seconds = 1.0e-5, host = 5.0e10, launch = 0.0, links = [#sched.link<ranks = 4, seconds = 1.0e-6, bytes = 1.0e9>], ways = ["ring"], axes = ["dp"], sizes = [4]>>} {
train.state @late "parameter" : tensor<1048576xf32> {offloaded}
train.state @early "parameter" : tensor<1048576xf32> {offloaded}
train.state @moment "optimizer" : tensor<1048576xf32> {offloaded}
sched.kernel @add {
^bb0(%x: tensor<1048576xf32>, %y: tensor<1048576xf32>):
  %z = train.add %x, %y : (tensor<1048576xf32>, tensor<1048576xf32>) -> tensor<1048576xf32>
  train.yield %z : tensor<1048576xf32>
}
sched.program @step {
  %late = sched.state @late : memref<1048576xf32>
  %early = sched.state @early : memref<1048576xf32>
  %moment = sched.state @moment : memref<1048576xf32>
  %a = sched.alloc "activations" : memref<1048576xf32>
  sched.launch @add ins(%moment, %moment : memref<1048576xf32>, memref<1048576xf32>) outs(%a : memref<1048576xf32>) {bytes = 1.5e8 : f64}
  %b = sched.alloc "activations" : memref<1048576xf32>
  sched.launch @add ins(%a, %late : memref<1048576xf32>, memref<1048576xf32>) outs(%b : memref<1048576xf32>) {bytes = 1.0e6 : f64}
  %early1 = sched.view %early : memref<1048576xf32> to memref<1048576xf32>
  %e = sched.alloc "activations" : memref<1048576xf32>
  sched.launch @add ins(%b, %early : memref<1048576xf32>, memref<1048576xf32>) outs(%e : memref<1048576xf32>) {bytes = 1.0e6 : f64}
  sched.launch @add ins(%b, %e : memref<1048576xf32>, memref<1048576xf32>) outs(%early1 : memref<1048576xf32>) {bytes = 1.0e6 : f64}
  %c = sched.alloc "activations" : memref<1048576xf32>
  sched.launch @add ins(%b, %b : memref<1048576xf32>, memref<1048576xf32>) outs(%c : memref<1048576xf32>) {bytes = 1.0e9 : f64}
  %late1 = sched.view %late : memref<1048576xf32> to memref<1048576xf32>
  sched.launch @add ins(%c, %c : memref<1048576xf32>, memref<1048576xf32>) outs(%late1 : memref<1048576xf32>) {bytes = 1.0e6 : f64}
  %moment1 = sched.view %moment : memref<1048576xf32> to memref<1048576xf32>
  sched.launch @add ins(%c, %c : memref<1048576xf32>, memref<1048576xf32>) outs(%moment1 : memref<1048576xf32>) {bytes = 1.0e6 : f64}
  sched.output "output" "f" %c : memref<1048576xf32>
}
}

// -----

// Tests that launches which touch parameters that stay are joined, of those that
// touch what is copied none.
// JOINED: train.state @far
// JOINED: sched.launch @square ins(%[[FAR:[0-9]+]] :
// JOINED: sched.launch @square ins(%[[FAR]] :
// JOINED: sched.launch @joined_0 ins(%{{.*}}, %{{.*}} :
module attributes {train.keeps_busy, sched.target = #sched.target<device = "cuda">} {
train.state @near "parameter" : tensor<2048xf32> {offloaded}
train.state @far "optimizer" : tensor<2048xf32> {offloaded}
sched.kernel @square {
^bb0(%x: tensor<2048xf32>):
  %y = train.mul %x, %x : (tensor<2048xf32>, tensor<2048xf32>) -> tensor<2048xf32>
  train.yield %y : tensor<2048xf32>
}
sched.program @step {
  %near = sched.state @near : memref<2048xf32>
  %far = sched.state @far : memref<2048xf32>
  %a = sched.alloc "activations" : memref<2048xf32>
  sched.launch @square ins(%near : memref<2048xf32>) outs(%a : memref<2048xf32>) {bytes = 1.0e4 : f64}
  %b = sched.alloc "activations" : memref<2048xf32>
  sched.launch @square ins(%near : memref<2048xf32>) outs(%b : memref<2048xf32>) {bytes = 1.0e4 : f64}
  %c = sched.alloc "activations" : memref<2048xf32>
  sched.launch @square ins(%far : memref<2048xf32>) outs(%c : memref<2048xf32>) {bytes = 1.0e4 : f64}
  %d = sched.alloc "activations" : memref<2048xf32>
  sched.launch @square ins(%far : memref<2048xf32>) outs(%d : memref<2048xf32>) {bytes = 1.0e4 : f64}
  sched.output "output" "a" %a : memref<2048xf32>
  sched.output "output" "b" %b : memref<2048xf32>
  sched.output "output" "c" %c : memref<2048xf32>
  sched.output "output" "d" %d : memref<2048xf32>
}
}
