// RUN: zc-opt %s --split-input-file --zc-form-regions --zc-compact-table-gradients=min-bytes=1 | FileCheck %s
// RUN: zc-opt %s --split-input-file --zc-form-regions --zc-compact-table-gradients=min-bytes=2561 | FileCheck %s --check-prefix=SMALL
// SMALL-NOT: scatter_reduce

// Tests that an update and a norm look up the rows that are read, and that the
// update keeps writing over the parameter.
// CHECK-LABEL: func.func @update
// CHECK-SAME: (%[[W:.*]]: tensor<40x16xf32>, %[[IDS:.*]]: tensor<2x3xi64>, %[[U:.*]]: tensor<2x3x16xf32>)
// CHECK-DAG: %[[FLAT:.*]] = train.reshape %[[IDS]] : (tensor<2x3xi64>) -> tensor<6xi64>
// CHECK-DAG: %[[ROWS:.*]] = train.reshape %[[U]] : (tensor<2x3x16xf32>) -> tensor<6x16xf32>
// CHECK: %[[READS:.*]] = train.fused()
// CHECK: train.iota
// CHECK: %[[NUMBERS:.*]] = train.fused(%[[FLAT]], %[[READS]])
// CHECK: %[[NONE:.*]] = train.constant dense<6>
// CHECK: train.scatter_reduce "min" %[[NONE]], %{{.*}}, %{{.*}} {dim = 0 : i64}
// CHECK: %[[PLACES:.*]] = train.fused(%[[NUMBERS]], %[[FLAT]])
// CHECK: train.gather
// CHECK: %[[SUMS:.*]] = train.fused(%[[PLACES]], %[[ROWS]]) {{{.*}}gradients = array<i64: 0>}
// CHECK: train.scatter_add {{.*}} -> tensor<7x16xf32>
// CHECK-NOT: tensor<40x16xf32>
// CHECK: train.fused(%[[SUMS]], %[[NUMBERS]])
// CHECK: %[[GRAD:.*]] = train.gather %{{.*}} {dim = 0 : i64} : (tensor<7x16xf32>, tensor<40xi64>) -> tensor<40x16xf32>
// CHECK: train.reduce "sum_square" %[[GRAD]]
// CHECK: train.fused(%[[SUMS]], %[[W]], %[[NUMBERS]]) {shared_buffers = array<i64: 1, 0>}
// CHECK: train.gather
// CHECK: train.mul
// CHECK: train.sub
func.func @update(%w: tensor<40x16xf32>, %ids: tensor<2x3xi64>, %u: tensor<2x3x16xf32>) -> (tensor<40xf32>, tensor<40x16xf32>) {
  %zeros = train.constant dense<0.0> : tensor<40x16xf32>
  %rate = train.constant dense<0.1> : tensor<40x16xf32>
  %g = train.scatter_add %zeros, %ids, %u {dim = 0 : i64, train.gradients = array<i64: 0>}
      : (tensor<40x16xf32>, tensor<2x3xi64>, tensor<2x3x16xf32>) -> tensor<40x16xf32>
  %n = train.reduce "sum_square" %g {dims = array<i64: 1>} : (tensor<40x16xf32>) -> tensor<40xf32>
  %d = train.mul %g, %rate : (tensor<40x16xf32>, tensor<40x16xf32>) -> tensor<40x16xf32>
  %w1 = train.sub %w, %d : (tensor<40x16xf32>, tensor<40x16xf32>) -> tensor<40x16xf32>
  return %n, %w1 : tensor<40xf32>, tensor<40x16xf32>
}

// -----

// Tests that two tables that one region reads are both compacted.
// CHECK-LABEL: func.func @both
// CHECK-NOT: scatter_add {{.*}} -> tensor<40x16xf32>
// CHECK: train.gather {{.*}} -> tensor<40x16xf32>
// CHECK: train.gather {{.*}} -> tensor<40x16xf32>
// CHECK: train.add
func.func @both(%ids: tensor<6xi64>, %u: tensor<6x16xf32>, %v: tensor<6x16xf32>) -> tensor<40x16xf32> {
  %zeros = train.constant dense<0.0> : tensor<40x16xf32>
  %a = train.scatter_add %zeros, %ids, %u {dim = 0 : i64} : (tensor<40x16xf32>, tensor<6xi64>, tensor<6x16xf32>) -> tensor<40x16xf32>
  %b = train.scatter_add %zeros, %ids, %v {dim = 0 : i64} : (tensor<40x16xf32>, tensor<6xi64>, tensor<6x16xf32>) -> tensor<40x16xf32>
  %c = train.relu %a : (tensor<40x16xf32>) -> tensor<40x16xf32>
  %d = train.relu %b : (tensor<40x16xf32>) -> tensor<40x16xf32>
  %s = train.add %c, %d : (tensor<40x16xf32>, tensor<40x16xf32>) -> tensor<40x16xf32>
  return %s : tensor<40x16xf32>
}

// -----

// Tests what stays as it is: a gradient that goes out, that is read by columns, as
// another shape or at another place, that starts from a sum, of a table that is
// nearly all read, along another dim.
// CHECK-LABEL: func.func @out
// CHECK-NOT: scatter_reduce
func.func @out(%ids: tensor<6xi64>, %u: tensor<6x16xf32>) -> tensor<40x16xf32> {
  %zeros = train.constant dense<0.0> : tensor<40x16xf32>
  %g = train.scatter_add %zeros, %ids, %u {dim = 0 : i64} : (tensor<40x16xf32>, tensor<6xi64>, tensor<6x16xf32>) -> tensor<40x16xf32>
  return %g : tensor<40x16xf32>
}

// CHECK-LABEL: func.func @columns
// CHECK-NOT: scatter_reduce
func.func @columns(%ids: tensor<6xi64>, %u: tensor<6x16xf32>) -> (tensor<16xf32>, tensor<640xf32>, tensor<16x40xf32>) {
  %zeros = train.constant dense<0.0> : tensor<40x16xf32>
  %g = train.scatter_add %zeros, %ids, %u {dim = 0 : i64} : (tensor<40x16xf32>, tensor<6xi64>, tensor<6x16xf32>) -> tensor<40x16xf32>
  %n = train.reduce "sum" %g {dims = array<i64: 0>} : (tensor<40x16xf32>) -> tensor<16xf32>
  %h = train.scatter_add %zeros, %ids, %u {dim = 0 : i64} : (tensor<40x16xf32>, tensor<6xi64>, tensor<6x16xf32>) -> tensor<40x16xf32>
  %r = train.reshape %h : (tensor<40x16xf32>) -> tensor<640xf32>
  %e = train.exp %r : (tensor<640xf32>) -> tensor<640xf32>
  %k = train.scatter_add %zeros, %ids, %u {dim = 0 : i64} : (tensor<40x16xf32>, tensor<6xi64>, tensor<6x16xf32>) -> tensor<40x16xf32>
  %t = train.transpose %k {permutation = array<i64: 1, 0>} : (tensor<40x16xf32>) -> tensor<16x40xf32>
  %f = train.exp %t : (tensor<16x40xf32>) -> tensor<16x40xf32>
  return %n, %e, %f : tensor<16xf32>, tensor<640xf32>, tensor<16x40xf32>
}

// CHECK-LABEL: func.func @sums
// CHECK-NOT: scatter_reduce
func.func @sums(%sum: tensor<40x16xf32>, %ids: tensor<6xi64>, %u: tensor<6x16xf32>) -> tensor<40x16xf32> {
  %g = train.scatter_add %sum, %ids, %u {dim = 0 : i64} : (tensor<40x16xf32>, tensor<6xi64>, tensor<6x16xf32>) -> tensor<40x16xf32>
  %e = train.exp %g : (tensor<40x16xf32>) -> tensor<40x16xf32>
  return %e : tensor<40x16xf32>
}

// CHECK-LABEL: func.func @nearly_all
// CHECK-NOT: scatter_reduce
func.func @nearly_all(%ids: tensor<6xi64>, %u: tensor<6x16xf32>, %v: tensor<40x6xf32>) -> (tensor<27x16xf32>, tensor<40x40xf32>) {
  %zeros = train.constant dense<0.0> : tensor<27x16xf32>
  %g = train.scatter_add %zeros, %ids, %u {dim = 0 : i64} : (tensor<27x16xf32>, tensor<6xi64>, tensor<6x16xf32>) -> tensor<27x16xf32>
  %e = train.exp %g : (tensor<27x16xf32>) -> tensor<27x16xf32>
  %square = train.constant dense<0.0> : tensor<40x40xf32>
  %h = train.scatter_add %square, %ids, %v {dim = 1 : i64} : (tensor<40x40xf32>, tensor<6xi64>, tensor<40x6xf32>) -> tensor<40x40xf32>
  %f = train.exp %h : (tensor<40x40xf32>) -> tensor<40x40xf32>
  return %e, %f : tensor<27x16xf32>, tensor<40x40xf32>
}
