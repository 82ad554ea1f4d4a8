// RUN: not zc-opt %s --zc-encode-kept=encodings=half 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not zc-opt %s --zc-encode-kept=encodings=bf16,fp16 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not zc-opt %s --zc-encode-kept=encodings=fp8,fp16,bf16 2>&1 | FileCheck %s --check-prefix=EIGHT
// RUN: not zc-opt %s --zc-encode-kept=encodings=bf16,bf16 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not zc-opt %s --zc-encode-kept=encodings=bf16=2 2>&1 | FileCheck %s --check-prefix=PARAMETER
// RUN: not zc-opt %s --zc-recompute="policy=layer encodings=half" 2>&1 | FileCheck %s --check-prefix=NAME

// NAME: error: expected a list, separated by commas, of none, bits, sparse[=DENSITY], fp8, bf16, fp16, found 'half'
// BOTH: error: expected one of bf16 and fp16, found 'bf16,fp16'
// EIGHT: error: expected one of bf16 and fp16, found 'fp8,fp16,bf16'
// TWICE: error: expected a list, separated by commas, of none, bits, sparse[=DENSITY], fp8, bf16, fp16, found 'bf16,bf16'
// PARAMETER: error: expected a list, separated by commas, of none, bits, sparse[=DENSITY], fp8, bf16, fp16, found 'bf16=2'

module {}
