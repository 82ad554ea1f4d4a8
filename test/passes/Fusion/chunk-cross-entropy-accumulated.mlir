// Tests the logits of a micro-batch: the weight's gradient is added to that of
// the micro-batches before, chunk by chunk.
// RUN: zc-opt %s --zc-chunk-cross-entropy=min-bytes=1 | FileCheck %s
// RUN: zc-interpret %s --program micro --random 1 > %t.whole
// RUN: zc-opt %s --zc-chunk-cross-entropy=min-bytes=1 -o %t.mlir
// RUN: zc-interpret %t.mlir --program micro --random 1 > %t.chunks
// RUN: grep -q "result1: f" %t.whole
// RUN: diff %t.whole %t.chunks
// CHECK-LABEL: func.func @micro
// CHECK-SAME: %[[OLD:[^ ]*]]: tensor<4x6xf64> {train.input = "sum"}
// CHECK-NOT: 256x6x
// CHECK: %[[HALF:.*]] = train.matmul_add %[[OLD]], {{.*}} {transpose_lhs} : (tensor<4x6xf64>, tensor<128x4xf64>, tensor<128x6xf64>)
// CHECK: %[[SUM:.*]] = train.matmul_add %[[HALF]], {{.*}} {train.gradients = array<i64: 0>, transpose_lhs}
// CHECK: return {{.*}}, %[[SUM]]
func.func @micro(%x: tensor<256x4xf64> {train.input = "x"}, %w: tensor<4x6xf64> {train.input = "w"},
                 %s: tensor<256xf64> {train.input = "s"}, %sum: tensor<4x6xf64> {train.input = "sum"},
                 %t: tensor<256xi64> {train.input = "t", train.range = array<i64: 0, 6>})
    -> (tensor<256xf64>, tensor<4x6xf64>) {
  %1 = train.matmul %x, %w : (tensor<256x4xf64>, tensor<4x6xf64>) -> tensor<256x6xf64>
  %loss, %lse = train.softmax_cross_entropy %1, %t {ignore_index = -100 : i64}
      : (tensor<256x6xf64>, tensor<256xi64>) -> (tensor<256xf64>, tensor<256xf64>)
  %2 = train.softmax_cross_entropy_grad %1, %t, %lse, %s {ignore_index = -100 : i64}
      : (tensor<256x6xf64>, tensor<256xi64>, tensor<256xf64>, tensor<256xf64>) -> tensor<256x6xf64>
  %3 = train.matmul_add %sum, %x, %2 {train.gradients = array<i64: 0>, transpose_lhs}
      : (tensor<4x6xf64>, tensor<256x4xf64>, tensor<256x6xf64>) -> tensor<4x6xf64>
  return %loss, %3 : tensor<256xf64>, tensor<4x6xf64>
}
