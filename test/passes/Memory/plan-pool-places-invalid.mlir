// RUN: not zc-opt %s --zc-plan-pool-places 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: not zc-opt %s --zc-plan-pools=encodings=half 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not zc-opt %s --zc-plan-pools=encodings=fp8,fp16,bf16 2>&1 | FileCheck %s --check-prefix=BOTH

// ALONE: error: nothing says how a step is planned from its max pools on
// NAME: error: expected a list, separated by commas, of none, bits, sparse[=DENSITY], fp8, bf16, fp16, found 'half'
// BOTH: error: expected one of bf16 and fp16, found 'fp8,fp16,bf16'

module {}
