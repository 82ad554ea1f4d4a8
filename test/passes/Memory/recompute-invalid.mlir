// RUN: not zc-opt %s --zc-recompute=policy=every-other 2>&1 | FileCheck %s --check-prefix=POLICY
// RUN: not zc-opt %s --zc-recompute="policy=auto budget=4096" 2>&1 | FileCheck %s --check-prefix=STATE
// RUN: not zc-opt %s --zc-recompute="policy=auto budget=9000" 2>&1 | FileCheck %s --check-prefix=STEP
// RUN: not zc-opt %s --zc-recompute="policy=layer budget=9000" 2>&1 | FileCheck %s --check-prefix=BOTH

// RUN: not zc-opt %s --zc-recompute=offload=optimizer,weights 2>&1 | FileCheck %s --check-prefix=OFFLOAD

// OFFLOAD: error: cannot offload 'optimizer,weights'; expected auto, or optimizer, update, parameters, activations
// POLICY: error: no policy is called 'every-other'; expected auto, none, layer, sqrt, selective or full
// STATE: error: no plan fits into 4.00 KiB: the least is 12.00 KiB, 8.00 KiB too much; 8.00 KiB of it live from step to step, 4.00 KiB are values of one step; what would help: {{.*}}--offload parameters,activations; {{.*}}(--freeze)
// STEP: error: no plan fits into 8.79 KiB: the least is 12.00 KiB, 3.22 KiB too much; {{.*}} what would help: a smaller batch or more micro-batches (--accumulate K); --offload
// BOTH: error: no plan fits into 8.79 KiB: {{.*}} (--accumulate K); to leave the choice {{.*}} (no --recompute)

!t = tensor<1024xf32>

train.state @v "parameter" : !t
train.state @w "parameter" : !t

func.func @step(%v: !t {train.state = @v}, %w: !t {train.state = @w})
    -> (!t {train.metric = "loss"}, !t {train.state = @v}) {
  %loss = train.fused(%v, %w) : (!t, !t) -> !t {
  ^bb0(%x: !t, %y: !t):
    %r = train.mul %x, %y : (!t, !t) -> !t
    train.yield %r : !t
  }
  %new = train.fused(%v) {gradients = array<i64: 0>, shared_buffers = array<i64: 0, 0>} : (!t) -> !t {
  ^bb0(%x: !t):
    %r = train.neg %x : (!t) -> !t
    train.yield %r : !t
  }
  return %loss, %new : !t, !t
}
