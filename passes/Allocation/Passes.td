//===- Passes.td - where every buffer lies --------------------------------===//
#ifndef ZC_PASSES_ALLOCATION_PASSES_TD
#define ZC_PASSES_ALLOCATION_PASSES_TD

include "mlir/Pass/PassBase.td"

def AssignOffsetsPass : Pass<"zc-assign-offsets", "::mlir::ModuleOp"> {
  let summary = "give every state, input and allocation its offset";
  let description = [{
    Requires `sched.program`s whose order is final. States follow one another in
    the persistent region, at the same offsets for all programs. In the transient
    region of a program, buffers whose live ranges do not meet may share bytes:
    inputs live from the start, outputs to the end, what an async collective uses
    until it has been waited for, all others from their first use to their last. Finding the smallest region is NP-hard; the best of a few
    fixed heuristics is taken. All offsets are multiples of 64.

    ```mlir
    sched.program @step {
      %x = sched.input "x" : memref<16xf32>
      %0 = sched.alloc "activations" : memref<16xf32>
      ...
    // becomes
    sched.program @step attributes {transient_bytes = 128 : i64} {
      %x = sched.input "x" {offset = 0 : i64} : memref<16xf32>
      %0 = sched.alloc "activations" {offset = 64 : i64} : memref<16xf32>
      ...
    ```

    `--zc-verify-offsets` proves the result.
  }];
  let statistics = [
    Statistic<"persistentBytes", "persistent-bytes",
              "Bytes of the persistent region">,
    Statistic<"transientBytes", "transient-bytes",
              "Bytes of the largest transient region">,
    Statistic<"excessBytes", "excess-bytes",
              "Transient bytes beyond what is live at once, all programs">
  ];
}

def VerifyOffsetsPass : Pass<"zc-verify-offsets", "::mlir::ModuleOp"> {
  let summary = "prove that no buffer is overwritten while it is needed";
  let description = [{
    The contract of Allocation, checked without a look at how it was reached:

    - every state, input and allocation has an aligned offset within its region
    - no two states share bytes
    - no two transient buffers that are live at once share bytes
    - every buffer is written before it is read, at most once, and never read
      after another view of its root has been written
    - what an async collective writes is read, and what it uses is overwritten,
      only behind a wait for it
  }];
}

#endif // ZC_PASSES_ALLOCATION_PASSES_TD
