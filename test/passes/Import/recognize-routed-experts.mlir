// RUN: zc-opt %s --zc-recognize-experts | FileCheck %s
// Tests einsums of GShard's, by masks [tokens, experts, places].

// A mask of ones, weighed by the probability of the chosen.
// CHECK-LABEL: func.func @chosen
// CHECK-NOT: train.matmul %{{.*}} : (tensor<4x6xf32>, tensor<6x5xf32>)
// CHECK: train.grouped_matmul %{{.*}} {experts = 3 : i64, room_capacity = 2 : i64, room_groups = 1 : i64} : (tensor<4x6xf32>, tensor<3x6x5xf32>
// CHECK-NOT: train.matmul %{{.*}} : (tensor<4x6xf32>, tensor<6x5xf32>)
// CHECK: return
func.func @chosen(%x: tensor<4x6xf32>, %l: tensor<4x3xf32>, %w: tensor<3x6x5xf32>) -> tensor<4x5xf32> {
  %three = train.constant dense<3> : tensor<4x3xi64>
  %one = train.constant dense<1.0> : tensor<4x3xf32>
  %most = train.constant dense<2.0> : tensor<4x3xf32>
  %ids = train.constant dense<[0, 1, 2]> : tensor<3xi64>
  %places = train.constant dense<[0.0, 1.0]> : tensor<2xf32>
  // The best expert of a softmax.
  %p = train.softmax %l {dim = 1 : i64} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %b = train.reduce "max" %p {dims = array<i64: 1>} : (tensor<4x3xf32>) -> tensor<4xf32>
  %bs = train.broadcast %b {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<4x3xf32>
  %is = train.compare "eq" %p, %bs : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
  %n = train.broadcast %ids {dims = array<i64: 1>} : (tensor<3xi64>) -> tensor<4x3xi64>
  %at = train.select %is, %n, %three : (tensor<4x3xi1>, tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi64>
  %c = train.reduce "min" %at {dims = array<i64: 1>} : (tensor<4x3xi64>) -> tensor<4xi64>
  // The chosen expert, and how many tokens chose it before.
  %cs = train.broadcast %c {dims = array<i64: 0>} : (tensor<4xi64>) -> tensor<4x3xi64>
  %eq = train.compare "eq" %cs, %n : (tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi1>
  %m = train.convert %eq : (tensor<4x3xi1>) -> tensor<4x3xf32>
  %s1 = train.slice %m {offsets = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<4x3xf32>) -> tensor<3x3xf32>
  %p1 = train.pad %s1 {low = array<i64: 1, 0>, interior = array<i64: 0, 0>} : (tensor<3x3xf32>) -> tensor<4x3xf32>
  %a1 = train.add %m, %p1 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %s2 = train.slice %a1 {offsets = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<4x3xf32>) -> tensor<2x3xf32>
  %p2 = train.pad %s2 {low = array<i64: 2, 0>, interior = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<4x3xf32>
  %sum = train.add %a1, %p2 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %before = train.sub %sum, %one : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  // The place of those that find room.
  %lt = train.compare "lt" %before, %most : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
  %fits = train.convert %lt : (tensor<4x3xi1>) -> tensor<4x3xf32>
  %kept = train.mul %m, %fits : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %bb = train.broadcast %before {dims = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<4x3x2xf32>
  %pb = train.broadcast %places {dims = array<i64: 2>} : (tensor<2xf32>) -> tensor<4x3x2xf32>
  %here = train.compare "eq" %bb, %pb : (tensor<4x3x2xf32>, tensor<4x3x2xf32>) -> tensor<4x3x2xi1>
  %h = train.convert %here : (tensor<4x3x2xi1>) -> tensor<4x3x2xf32>
  %kb = train.broadcast %kept {dims = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<4x3x2xf32>
  %d = train.mul %h, %kb : (tensor<4x3x2xf32>, tensor<4x3x2xf32>) -> tensor<4x3x2xf32>
  %wb = train.broadcast %p {dims = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<4x3x2xf32>
  %k = train.mul %d, %wb : (tensor<4x3x2xf32>, tensor<4x3x2xf32>) -> tensor<4x3x2xf32>
  // There, multiplied, and back.
  %df = train.reshape %d : (tensor<4x3x2xf32>) -> tensor<4x6xf32>
  %r = train.matmul %df, %x {transpose_lhs} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<6x6xf32>
  %re = train.reshape %r : (tensor<6x6xf32>) -> tensor<3x2x6xf32>
  %y = train.matmul %re, %w : (tensor<3x2x6xf32>, tensor<3x6x5xf32>) -> tensor<3x2x5xf32>
  %yf = train.reshape %y : (tensor<3x2x5xf32>) -> tensor<6x5xf32>
  %kf = train.reshape %k : (tensor<4x3x2xf32>) -> tensor<4x6xf32>
  %o = train.matmul %kf, %yf : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
  return %o : tensor<4x5xf32>
}

// Where weights are above 0: probabilities are.
// CHECK-LABEL: func.func @positive
// CHECK-NOT: train.matmul %{{.*}} : (tensor<4x6xf32>, tensor<6x5xf32>)
// CHECK: train.grouped_matmul %{{.*}} {experts = 3 : i64, room_capacity = 2 : i64, room_groups = 1 : i64} : (tensor<4x6xf32>, tensor<3x6x5xf32>
// CHECK-NOT: train.matmul %{{.*}} : (tensor<4x6xf32>, tensor<6x5xf32>)
// CHECK: return
func.func @positive(%x: tensor<4x6xf32>, %l: tensor<4x3xf32>, %w: tensor<3x6x5xf32>) -> tensor<4x5xf32> {
  %three = train.constant dense<3> : tensor<4x3xi64>
  %one = train.constant dense<1.0> : tensor<4x3xf32>
  %most = train.constant dense<2.0> : tensor<4x3xf32>
  %ids = train.constant dense<[0, 1, 2]> : tensor<3xi64>
  %places = train.constant dense<[0.0, 1.0]> : tensor<2xf32>
  // The best expert of a softmax.
  %p = train.softmax %l {dim = 1 : i64} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %b = train.reduce "max" %p {dims = array<i64: 1>} : (tensor<4x3xf32>) -> tensor<4xf32>
  %bs = train.broadcast %b {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<4x3xf32>
  %is = train.compare "eq" %p, %bs : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
  %n = train.broadcast %ids {dims = array<i64: 1>} : (tensor<3xi64>) -> tensor<4x3xi64>
  %at = train.select %is, %n, %three : (tensor<4x3xi1>, tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi64>
  %c = train.reduce "min" %at {dims = array<i64: 1>} : (tensor<4x3xi64>) -> tensor<4xi64>
  // The chosen expert, and how many tokens chose it before.
  %cs = train.broadcast %c {dims = array<i64: 0>} : (tensor<4xi64>) -> tensor<4x3xi64>
  %eq = train.compare "eq" %cs, %n : (tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi1>
  %m = train.convert %eq : (tensor<4x3xi1>) -> tensor<4x3xf32>
  %s1 = train.slice %m {offsets = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<4x3xf32>) -> tensor<3x3xf32>
  %p1 = train.pad %s1 {low = array<i64: 1, 0>, interior = array<i64: 0, 0>} : (tensor<3x3xf32>) -> tensor<4x3xf32>
  %a1 = train.add %m, %p1 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %s2 = train.slice %a1 {offsets = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<4x3xf32>) -> tensor<2x3xf32>
  %p2 = train.pad %s2 {low = array<i64: 2, 0>, interior = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<4x3xf32>
  %sum = train.add %a1, %p2 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %before = train.sub %sum, %one : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  // The place of those that find room.
  %lt = train.compare "lt" %before, %most : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
  %fits = train.convert %lt : (tensor<4x3xi1>) -> tensor<4x3xf32>
  %kept = train.mul %m, %fits : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %bb = train.broadcast %before {dims = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<4x3x2xf32>
  %pb = train.broadcast %places {dims = array<i64: 2>} : (tensor<2xf32>) -> tensor<4x3x2xf32>
  %here = train.compare "eq" %bb, %pb : (tensor<4x3x2xf32>, tensor<4x3x2xf32>) -> tensor<4x3x2xi1>
  %h = train.convert %here : (tensor<4x3x2xi1>) -> tensor<4x3x2xf32>
  %kb = train.broadcast %kept {dims = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<4x3x2xf32>
  %d = train.mul %h, %kb : (tensor<4x3x2xf32>, tensor<4x3x2xf32>) -> tensor<4x3x2xf32>
  %wb = train.broadcast %p {dims = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<4x3x2xf32>
  %k = train.mul %d, %wb : (tensor<4x3x2xf32>, tensor<4x3x2xf32>) -> tensor<4x3x2xf32>
  %zero = train.constant dense<0.0> : tensor<4x3x2xf32>
  %gt = train.compare "gt" %k, %zero : (tensor<4x3x2xf32>, tensor<4x3x2xf32>) -> tensor<4x3x2xi1>
  %g = train.convert %gt : (tensor<4x3x2xi1>) -> tensor<4x3x2xf32>
  // There, multiplied, and back.
  %df = train.reshape %g : (tensor<4x3x2xf32>) -> tensor<4x6xf32>
  %r = train.matmul %df, %x {transpose_lhs} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<6x6xf32>
  %re = train.reshape %r : (tensor<6x6xf32>) -> tensor<3x2x6xf32>
  %y = train.matmul %re, %w : (tensor<3x2x6xf32>, tensor<3x6x5xf32>) -> tensor<3x2x5xf32>
  %yf = train.reshape %y : (tensor<3x2x5xf32>) -> tensor<6x5xf32>
  %kf = train.reshape %k : (tensor<4x3x2xf32>) -> tensor<4x6xf32>
  %o = train.matmul %kf, %yf : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
  return %o : tensor<4x5xf32>
}

// No match: weights below 0 bring no row there.
// CHECK-LABEL: func.func @any_sign
// CHECK-NOT: train.grouped_matmul
// CHECK: return
func.func @any_sign(%x: tensor<4x6xf32>, %l: tensor<4x3xf32>, %w: tensor<3x6x5xf32>) -> tensor<4x5xf32> {
  %three = train.constant dense<3> : tensor<4x3xi64>
  %one = train.constant dense<1.0> : tensor<4x3xf32>
  %most = train.constant dense<2.0> : tensor<4x3xf32>
  %ids = train.constant dense<[0, 1, 2]> : tensor<3xi64>
  %places = train.constant dense<[0.0, 1.0]> : tensor<2xf32>
  // The best expert of a softmax.
  %p = train.softmax %l {dim = 1 : i64} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %b = train.reduce "max" %p {dims = array<i64: 1>} : (tensor<4x3xf32>) -> tensor<4xf32>
  %bs = train.broadcast %b {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<4x3xf32>
  %is = train.compare "eq" %p, %bs : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
  %n = train.broadcast %ids {dims = array<i64: 1>} : (tensor<3xi64>) -> tensor<4x3xi64>
  %at = train.select %is, %n, %three : (tensor<4x3xi1>, tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi64>
  %c = train.reduce "min" %at {dims = array<i64: 1>} : (tensor<4x3xi64>) -> tensor<4xi64>
  // The chosen expert, and how many tokens chose it before.
  %cs = train.broadcast %c {dims = array<i64: 0>} : (tensor<4xi64>) -> tensor<4x3xi64>
  %eq = train.compare "eq" %cs, %n : (tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi1>
  %m = train.convert %eq : (tensor<4x3xi1>) -> tensor<4x3xf32>
  %s1 = train.slice %m {offsets = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<4x3xf32>) -> tensor<3x3xf32>
  %p1 = train.pad %s1 {low = array<i64: 1, 0>, interior = array<i64: 0, 0>} : (tensor<3x3xf32>) -> tensor<4x3xf32>
  %a1 = train.add %m, %p1 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %s2 = train.slice %a1 {offsets = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<4x3xf32>) -> tensor<2x3xf32>
  %p2 = train.pad %s2 {low = array<i64: 2, 0>, interior = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<4x3xf32>
  %sum = train.add %a1, %p2 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %before = train.sub %sum, %one : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  // The place of those that find room.
  %lt = train.compare "lt" %before, %most : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
  %fits = train.convert %lt : (tensor<4x3xi1>) -> tensor<4x3xf32>
  %kept = train.mul %m, %fits : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %bb = train.broadcast %before {dims = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<4x3x2xf32>
  %pb = train.broadcast %places {dims = array<i64: 2>} : (tensor<2xf32>) -> tensor<4x3x2xf32>
  %here = train.compare "eq" %bb, %pb : (tensor<4x3x2xf32>, tensor<4x3x2xf32>) -> tensor<4x3x2xi1>
  %h = train.convert %here : (tensor<4x3x2xi1>) -> tensor<4x3x2xf32>
  %kb = train.broadcast %kept {dims = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<4x3x2xf32>
  %d = train.mul %h, %kb : (tensor<4x3x2xf32>, tensor<4x3x2xf32>) -> tensor<4x3x2xf32>
  %wb = train.broadcast %l {dims = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<4x3x2xf32>
  %k = train.mul %d, %wb : (tensor<4x3x2xf32>, tensor<4x3x2xf32>) -> tensor<4x3x2xf32>
  %zero = train.constant dense<0.0> : tensor<4x3x2xf32>
  %gt = train.compare "gt" %k, %zero : (tensor<4x3x2xf32>, tensor<4x3x2xf32>) -> tensor<4x3x2xi1>
  %g = train.convert %gt : (tensor<4x3x2xi1>) -> tensor<4x3x2xf32>
  // There, multiplied, and back.
  %df = train.reshape %g : (tensor<4x3x2xf32>) -> tensor<4x6xf32>
  %r = train.matmul %df, %x {transpose_lhs} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<6x6xf32>
  %re = train.reshape %r : (tensor<6x6xf32>) -> tensor<3x2x6xf32>
  %y = train.matmul %re, %w : (tensor<3x2x6xf32>, tensor<3x6x5xf32>) -> tensor<3x2x5xf32>
  %yf = train.reshape %y : (tensor<3x2x5xf32>) -> tensor<6x5xf32>
  %kf = train.reshape %k : (tensor<4x3x2xf32>) -> tensor<4x6xf32>
  %o = train.matmul %kf, %yf : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
  return %o : tensor<4x5xf32>
}

// No match: the limit is not the room's.
// CHECK-LABEL: func.func @other_limit
// CHECK-NOT: train.grouped_matmul
// CHECK: return
func.func @other_limit(%x: tensor<4x6xf32>, %l: tensor<4x3xf32>, %w: tensor<3x6x5xf32>) -> tensor<4x5xf32> {
  %three = train.constant dense<3> : tensor<4x3xi64>
  %one = train.constant dense<1.0> : tensor<4x3xf32>
  %most = train.constant dense<1.0> : tensor<4x3xf32>
  %ids = train.constant dense<[0, 1, 2]> : tensor<3xi64>
  %places = train.constant dense<[0.0, 1.0]> : tensor<2xf32>
  // The best expert of a softmax.
  %p = train.softmax %l {dim = 1 : i64} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %b = train.reduce "max" %p {dims = array<i64: 1>} : (tensor<4x3xf32>) -> tensor<4xf32>
  %bs = train.broadcast %b {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<4x3xf32>
  %is = train.compare "eq" %p, %bs : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
  %n = train.broadcast %ids {dims = array<i64: 1>} : (tensor<3xi64>) -> tensor<4x3xi64>
  %at = train.select %is, %n, %three : (tensor<4x3xi1>, tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi64>
  %c = train.reduce "min" %at {dims = array<i64: 1>} : (tensor<4x3xi64>) -> tensor<4xi64>
  // The chosen expert, and how many tokens chose it before.
  %cs = train.broadcast %c {dims = array<i64: 0>} : (tensor<4xi64>) -> tensor<4x3xi64>
  %eq = train.compare "eq" %cs, %n : (tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi1>
  %m = train.convert %eq : (tensor<4x3xi1>) -> tensor<4x3xf32>
  %s1 = train.slice %m {offsets = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<4x3xf32>) -> tensor<3x3xf32>
  %p1 = train.pad %s1 {low = array<i64: 1, 0>, interior = array<i64: 0, 0>} : (tensor<3x3xf32>) -> tensor<4x3xf32>
  %a1 = train.add %m, %p1 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %s2 = train.slice %a1 {offsets = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<4x3xf32>) -> tensor<2x3xf32>
  %p2 = train.pad %s2 {low = array<i64: 2, 0>, interior = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<4x3xf32>
  %sum = train.add %a1, %p2 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %before = train.sub %sum, %one : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  // The place of those that find room.
  %lt = train.compare "lt" %before, %most : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
  %fits = train.convert %lt : (tensor<4x3xi1>) -> tensor<4x3xf32>
  %kept = train.mul %m, %fits : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %bb = train.broadcast %before {dims = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<4x3x2xf32>
  %pb = train.broadcast %places {dims = array<i64: 2>} : (tensor<2xf32>) -> tensor<4x3x2xf32>
  %here = train.compare "eq" %bb, %pb : (tensor<4x3x2xf32>, tensor<4x3x2xf32>) -> tensor<4x3x2xi1>
  %h = train.convert %here : (tensor<4x3x2xi1>) -> tensor<4x3x2xf32>
  %kb = train.broadcast %kept {dims = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<4x3x2xf32>
  %d = train.mul %h, %kb : (tensor<4x3x2xf32>, tensor<4x3x2xf32>) -> tensor<4x3x2xf32>
  %wb = train.broadcast %p {dims = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<4x3x2xf32>
  %k = train.mul %d, %wb : (tensor<4x3x2xf32>, tensor<4x3x2xf32>) -> tensor<4x3x2xf32>
  // There, multiplied, and back.
  %df = train.reshape %d : (tensor<4x3x2xf32>) -> tensor<4x6xf32>
  %r = train.matmul %df, %x {transpose_lhs} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<6x6xf32>
  %re = train.reshape %r : (tensor<6x6xf32>) -> tensor<3x2x6xf32>
  %y = train.matmul %re, %w : (tensor<3x2x6xf32>, tensor<3x6x5xf32>) -> tensor<3x2x5xf32>
  %yf = train.reshape %y : (tensor<3x2x5xf32>) -> tensor<6x5xf32>
  %kf = train.reshape %k : (tensor<4x3x2xf32>) -> tensor<4x6xf32>
  %o = train.matmul %kf, %yf : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
  return %o : tensor<4x5xf32>
}

// No match: places count others than those before.
// CHECK-LABEL: func.func @other_sum
// CHECK-NOT: train.grouped_matmul
// CHECK: return
func.func @other_sum(%x: tensor<4x6xf32>, %l: tensor<4x3xf32>, %w: tensor<3x6x5xf32>) -> tensor<4x5xf32> {
  %three = train.constant dense<3> : tensor<4x3xi64>
  %one = train.constant dense<1.0> : tensor<4x3xf32>
  %most = train.constant dense<2.0> : tensor<4x3xf32>
  %ids = train.constant dense<[0, 1, 2]> : tensor<3xi64>
  %places = train.constant dense<[0.0, 1.0]> : tensor<2xf32>
  // The best expert of a softmax.
  %p = train.softmax %l {dim = 1 : i64} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %b = train.reduce "max" %p {dims = array<i64: 1>} : (tensor<4x3xf32>) -> tensor<4xf32>
  %bs = train.broadcast %b {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<4x3xf32>
  %is = train.compare "eq" %p, %bs : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
  %n = train.broadcast %ids {dims = array<i64: 1>} : (tensor<3xi64>) -> tensor<4x3xi64>
  %at = train.select %is, %n, %three : (tensor<4x3xi1>, tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi64>
  %c = train.reduce "min" %at {dims = array<i64: 1>} : (tensor<4x3xi64>) -> tensor<4xi64>
  // The chosen expert, and how many tokens chose it before.
  %cs = train.broadcast %c {dims = array<i64: 0>} : (tensor<4xi64>) -> tensor<4x3xi64>
  %eq = train.compare "eq" %cs, %n : (tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi1>
  %m = train.convert %eq : (tensor<4x3xi1>) -> tensor<4x3xf32>
  %s1 = train.slice %m {offsets = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<4x3xf32>) -> tensor<2x3xf32>
  %p1 = train.pad %s1 {low = array<i64: 2, 0>, interior = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<4x3xf32>
  %a1 = train.add %m, %p1 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %s2 = train.slice %a1 {offsets = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<4x3xf32>) -> tensor<2x3xf32>
  %p2 = train.pad %s2 {low = array<i64: 2, 0>, interior = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<4x3xf32>
  %sum = train.add %a1, %p2 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %before = train.sub %sum, %one : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  // The place of those that find room.
  %lt = train.compare "lt" %before, %most : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
  %fits = train.convert %lt : (tensor<4x3xi1>) -> tensor<4x3xf32>
  %kept = train.mul %m, %fits : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %bb = train.broadcast %before {dims = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<4x3x2xf32>
  %pb = train.broadcast %places {dims = array<i64: 2>} : (tensor<2xf32>) -> tensor<4x3x2xf32>
  %here = train.compare "eq" %bb, %pb : (tensor<4x3x2xf32>, tensor<4x3x2xf32>) -> tensor<4x3x2xi1>
  %h = train.convert %here : (tensor<4x3x2xi1>) -> tensor<4x3x2xf32>
  %kb = train.broadcast %kept {dims = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<4x3x2xf32>
  %d = train.mul %h, %kb : (tensor<4x3x2xf32>, tensor<4x3x2xf32>) -> tensor<4x3x2xf32>
  %wb = train.broadcast %p {dims = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<4x3x2xf32>
  %k = train.mul %d, %wb : (tensor<4x3x2xf32>, tensor<4x3x2xf32>) -> tensor<4x3x2xf32>
  // There, multiplied, and back.
  %df = train.reshape %d : (tensor<4x3x2xf32>) -> tensor<4x6xf32>
  %r = train.matmul %df, %x {transpose_lhs} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<6x6xf32>
  %re = train.reshape %r : (tensor<6x6xf32>) -> tensor<3x2x6xf32>
  %y = train.matmul %re, %w : (tensor<3x2x6xf32>, tensor<3x6x5xf32>) -> tensor<3x2x5xf32>
  %yf = train.reshape %y : (tensor<3x2x5xf32>) -> tensor<6x5xf32>
  %kf = train.reshape %k : (tensor<4x3x2xf32>) -> tensor<4x6xf32>
  %o = train.matmul %kf, %yf : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
  return %o : tensor<4x5xf32>
}

// No match: rows are weighed on their way there, too.
// CHECK-LABEL: func.func @weighed
// CHECK-NOT: train.grouped_matmul
// CHECK: return
func.func @weighed(%x: tensor<4x6xf32>, %l: tensor<4x3xf32>, %w: tensor<3x6x5xf32>) -> tensor<4x5xf32> {
  %three = train.constant dense<3> : tensor<4x3xi64>
  %one = train.constant dense<1.0> : tensor<4x3xf32>
  %most = train.constant dense<2.0> : tensor<4x3xf32>
  %ids = train.constant dense<[0, 1, 2]> : tensor<3xi64>
  %places = train.constant dense<[0.0, 1.0]> : tensor<2xf32>
  // The best expert of a softmax.
  %p = train.softmax %l {dim = 1 : i64} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %b = train.reduce "max" %p {dims = array<i64: 1>} : (tensor<4x3xf32>) -> tensor<4xf32>
  %bs = train.broadcast %b {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<4x3xf32>
  %is = train.compare "eq" %p, %bs : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
  %n = train.broadcast %ids {dims = array<i64: 1>} : (tensor<3xi64>) -> tensor<4x3xi64>
  %at = train.select %is, %n, %three : (tensor<4x3xi1>, tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi64>
  %c = train.reduce "min" %at {dims = array<i64: 1>} : (tensor<4x3xi64>) -> tensor<4xi64>
  // The chosen expert, and how many tokens chose it before.
  %cs = train.broadcast %c {dims = array<i64: 0>} : (tensor<4xi64>) -> tensor<4x3xi64>
  %eq = train.compare "eq" %cs, %n : (tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi1>
  %m = train.convert %eq : (tensor<4x3xi1>) -> tensor<4x3xf32>
  %s1 = train.slice %m {offsets = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<4x3xf32>) -> tensor<3x3xf32>
  %p1 = train.pad %s1 {low = array<i64: 1, 0>, interior = array<i64: 0, 0>} : (tensor<3x3xf32>) -> tensor<4x3xf32>
  %a1 = train.add %m, %p1 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %s2 = train.slice %a1 {offsets = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<4x3xf32>) -> tensor<2x3xf32>
  %p2 = train.pad %s2 {low = array<i64: 2, 0>, interior = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<4x3xf32>
  %sum = train.add %a1, %p2 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %before = train.sub %sum, %one : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  // The place of those that find room.
  %lt = train.compare "lt" %before, %most : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
  %fits = train.convert %lt : (tensor<4x3xi1>) -> tensor<4x3xf32>
  %kept = train.mul %m, %fits : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %bb = train.broadcast %before {dims = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<4x3x2xf32>
  %pb = train.broadcast %places {dims = array<i64: 2>} : (tensor<2xf32>) -> tensor<4x3x2xf32>
  %here = train.compare "eq" %bb, %pb : (tensor<4x3x2xf32>, tensor<4x3x2xf32>) -> tensor<4x3x2xi1>
  %h = train.convert %here : (tensor<4x3x2xi1>) -> tensor<4x3x2xf32>
  %kb = train.broadcast %kept {dims = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<4x3x2xf32>
  %d = train.mul %h, %kb : (tensor<4x3x2xf32>, tensor<4x3x2xf32>) -> tensor<4x3x2xf32>
  %wb = train.broadcast %p {dims = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<4x3x2xf32>
  %k = train.mul %d, %wb : (tensor<4x3x2xf32>, tensor<4x3x2xf32>) -> tensor<4x3x2xf32>
  // There, multiplied, and back.
  %df = train.reshape %k : (tensor<4x3x2xf32>) -> tensor<4x6xf32>
  %r = train.matmul %df, %x {transpose_lhs} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<6x6xf32>
  %re = train.reshape %r : (tensor<6x6xf32>) -> tensor<3x2x6xf32>
  %y = train.matmul %re, %w : (tensor<3x2x6xf32>, tensor<3x6x5xf32>) -> tensor<3x2x5xf32>
  %yf = train.reshape %y : (tensor<3x2x5xf32>) -> tensor<6x5xf32>
  %kf = train.reshape %k : (tensor<4x3x2xf32>) -> tensor<4x6xf32>
  %o = train.matmul %kf, %yf : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
  return %o : tensor<4x5xf32>
}
